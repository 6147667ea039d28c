#include "replay/timeline.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "recording/names.h"
#include "replay/live/history.h"
#include "replay/program.h"
#include "replay/sites.h"
#include "replay/world.h"

namespace deadheat::replay {

namespace {

// --- Messages: one packet each

enum class Kind : std::uint64_t {
  // To a process of the replay.
  kGo,      // present: until `number`; checkpoint: let a child do it
  kMemory,  // `number`: address, `size`
  kThreads,
  // From one.
  kCheckpoint,  // with its socket; `number` is next
  kPresent,     // with its socket: the checkpoint's child
  kArrived,     // `number` is next; `size` regions were replayed
  kEnded,       // the recording is over
  kFailed,      // text
  kText,
};

struct Message {
  Kind kind = Kind::kFailed;
  std::uint64_t number = 0;
  std::uint64_t size = 0;
  std::uint64_t distance = 0;  // kGo: between checkpoints, 0: none; the next one is at `size`
  std::uint64_t alive = 0;     // kGo: checkpoints that there are
  std::uint64_t printed = 0;   // kGo: bits
  std::string text;
};

struct Head {
  Kind kind;
  std::uint64_t number, size, distance, alive, printed;
};

bool send(int socket, const Message& message, int descriptor = -1) {
  Head head{message.kind, message.number, message.size, message.distance, message.alive, message.printed};
  iovec parts[2] = {{&head, sizeof head}, {const_cast<char*>(message.text.data()), message.text.size()}};
  msghdr packet{};
  packet.msg_iov = parts;
  packet.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    packet.msg_control = control;
    packet.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&packet);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  ssize_t count;
  do {
    count = sendmsg(socket, &packet, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  return count >= 0;
}

bool receive(int socket, Message& message, int* descriptor = nullptr) {
  static char buffer[128 << 10];
  Head head{};
  iovec parts[2] = {{&head, sizeof head}, {buffer, sizeof buffer}};
  msghdr packet{};
  packet.msg_iov = parts;
  packet.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  packet.msg_control = control;
  packet.msg_controllen = sizeof control;
  ssize_t count;
  do {
    count = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < static_cast<ssize_t>(sizeof head)) return false;
  message = {head.kind,
             head.number,
             head.size,
             head.distance,
             head.alive,
             head.printed,
             std::string(buffer, static_cast<std::size_t>(count) - sizeof head)};
  if (descriptor != nullptr) *descriptor = -1;
  if (const cmsghdr* const header = CMSG_FIRSTHDR(&packet);
      header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int received;
    std::memcpy(&received, CMSG_DATA(header), sizeof received);
    if (descriptor != nullptr)
      *descriptor = received;
    else
      close(received);
  }
  return true;
}

// --- A process of the replay

class Worker {
 public:
  Worker(const recording::Reader& recording, int socket) : recording_(recording), socket_(socket) {}

  [[noreturn]] void run() {
    signal(SIGCHLD, SIG_IGN);
    signal(SIGINT, SIG_IGN);  // the user's business
    Result<std::unique_ptr<World>> world = World::open(recording_, Variant::kLive);
    if (!world) fail(world.error().message);
    world_ = world->get();
    if (Status status = world_->program().prepare_all(); !status) fail(status.error().message);
    live::History history(*world_);
    history_ = &history;
    Printer printer(world_->program(), Printed{true, true, true}, [](std::string_view line) {
      std::fwrite(line.data(), 1, line.size(), stdout);
      std::fputc('\n', stdout);
    });
    Filter filter(*this, printer);
    world_->add(filter);
    RunOptions options;
    options.pause = [this](std::uint64_t next) { return pause(next); };
    pause(0);
    Result<Summary> summary = world_->run(options);
    if (!summary) fail(summary.error().message);
    if (summary->divergence)
      fail(fmt::format("the replay diverged in thread {}, region {}: {}", summary->divergence->thread.value(),
                       summary->divergence->region, summary->divergence->what));
    is_over_ = true;
    arrive(world_->next_number());
    for (;;) serve();
  }

 private:
  // Only what is asked for just now is printed.
  class Filter final : public Observer {
   public:
    Filter(Worker& worker, Printer& printer) : worker_(worker), printer_(printer) {}
    void on_thread_begin(ThreadId thread) override {
      if (worker_.printed_ != 0) printer_.on_thread_begin(thread);
    }
    void on_thread_end(ThreadId thread, const recording::End& end) override {
      if (worker_.printed_ != 0) printer_.on_thread_end(thread, end);
    }
    void on_access(const Access& access) override {
      if ((worker_.printed_ & 1) != 0)
        printer_.on_access(access);
      else
        printer_.count(access);
    }
    void on_library_access(ThreadId thread, SiteId site, const recording::LibraryAccess& access) override {
      if ((worker_.printed_ & 1) != 0) printer_.on_library_access(thread, site, access);
    }
    void on_sequencer(ThreadId thread, SiteId site, const recording::Sequencer& sequencer) override {
      ++worker_.regions_;
      if ((worker_.printed_ & 4) != 0) printer_.on_sequencer(thread, site, sequencer);
    }
    void on_callback(ThreadId thread, const recording::Callback& callback) override {
      if ((worker_.printed_ & 2) != 0) printer_.on_callback(thread, callback);
    }
    void on_enter(ThreadId thread, FunctionId function, SiteId site) override {
      if ((worker_.printed_ & 2) != 0) printer_.on_enter(thread, function, site);
    }
    void on_invisible_call(ThreadId thread, Address target, SiteId site) override {
      if ((worker_.printed_ & 2) != 0) printer_.on_invisible_call(thread, target, site);
    }
    bool wants_calls() const override { return (worker_.printed_ & 2) != 0; }

   private:
    Worker& worker_;
    Printer& printer_;
  };

  [[noreturn]] void fail(const std::string& what) {
    std::fflush(stdout);
    send(socket_, {Kind::kFailed, 0, 0, 0, 0, 0, what});
    _exit(1);
  }

  // Before synchronisation `next`, nobody running. Says where to come here again.
  std::uint64_t pause(std::uint64_t next) {
    if (next != 0 && distance_ != 0 && next >= next_checkpoint_) {
      // The other side thins them out by the same rule.
      if (++alive_ > Timeline::kCheckpoints) {
        alive_ = (alive_ + 1) / 2;
        distance_ *= 2;
      }
      next_checkpoint_ = next + distance_;
      leave_checkpoint(next);
    }
    if (!has_target_) leave_checkpoint(next);  // the start
    while (!has_target_ || next > target_) {
      if (has_target_) arrive(next);
      has_target_ = false;
      while (!has_target_) serve();
    }
    return distance_ == 0 ? target_ + 1 : std::min(target_ + 1, next_checkpoint_);
  }

  void arrive(std::uint64_t next) {
    std::fflush(stdout);
    send(socket_, {is_over_ ? Kind::kEnded : Kind::kArrived, next, regions_, 0, 0, 0, {}});
    regions_ = 0;
  }

  // Forks. The parent goes on; the child waits, and whoever it forks goes on in its place.
  void leave_checkpoint(std::uint64_t next) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) {
      close(ends[0]);
      close(ends[1]);
      return;
    }
    if (child != 0) {
      close(ends[1]);
      send(socket_, {Kind::kCheckpoint, next, 0, 0, 0, 0, {}}, ends[0]);
      close(ends[0]);
      return;
    }
    close(ends[0]);
    close(socket_);
    socket_ = ends[1];
    wait_as_checkpoint();
  }

  void wait_as_checkpoint() {
    for (;;) {
      Message message;
      if (!receive(socket_, message)) _exit(0);
      if (message.kind != Kind::kGo) continue;
      int ends[2];
      if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        send(socket_, {Kind::kFailed, 0, 0, 0, 0, 0, std::string("no socket: ") + std::strerror(errno)});
        continue;
      }
      const pid_t child = fork();
      if (child == 0) {
        close(ends[0]);
        close(socket_);
        socket_ = ends[1];
        world_->after_fork();
        regions_ = 0;
        take(message);
        return;
      }
      close(ends[1]);
      if (child < 0)
        send(socket_, {Kind::kFailed, 0, 0, 0, 0, 0, std::string("no process: ") + std::strerror(errno)});
      else
        send(socket_, {Kind::kPresent, 0, 0, 0, 0, 0, {}}, ends[0]);
      close(ends[0]);
    }
  }

  void take(const Message& message) {
    target_ = message.number;
    has_target_ = true;
    distance_ = message.distance;
    next_checkpoint_ = message.size;
    alive_ = message.alive;
    printed_ = message.printed;
    for (const auto& [id, thread] : world_->threads())
      if (thread->hot() != nullptr) thread->hot()->wants_calls = (printed_ & 2) != 0 ? 1 : 0;
  }

  void serve() {
    Message message;
    if (!receive(socket_, message)) _exit(0);
    switch (message.kind) {
      case Kind::kGo:
        if (is_over_)
          arrive(world_->next_number());
        else
          take(message);
        return;
      case Kind::kMemory:
        send(socket_, {Kind::kText, 0, 0, 0, 0, 0, memory(message.number, message.size)});
        return;
      case Kind::kThreads:
        send(socket_, {Kind::kText, 0, 0, 0, 0, 0, threads()});
        return;
      default:
        return;
    }
  }

  std::string memory(std::uint64_t address, std::uint64_t size) const {
    const MemoryImage& image = history_->memory.image();
    std::string text;
    for (std::uint64_t line = 0; line < size; line += 16) {
      std::string bytes, letters;
      for (std::uint64_t i = line; i < size && i < line + 16; ++i) {
        const auto byte = image.read(Address(address + i), 1);
        bytes += byte ? fmt::format(" {:02x}", *byte) : " ??";
        letters.push_back(byte && *byte >= 32 && *byte < 127 ? static_cast<char>(*byte) : '.');
      }
      text += fmt::format("{:#x}{:<48}  {}\n", address + line, bytes, letters);
    }
    return text;
  }

  std::string threads() const {
    std::string text;
    for (const auto& [id, thread] : world_->threads()) {
      text += fmt::format("thread {}: ", id.value());
      switch (thread->outcome()) {
        case Outcome::kNotStarted:
          text += "not there yet\n";
          continue;
        case Outcome::kRunning: {
          const recording::Sequencer& next = thread->next_sequencer();
          text += fmt::format("{} regions; next #{} {}", thread->regions() - 1, next.number.value(),
                              recording::to_string(next.kind));
          if (next.object.value() != 0) text += fmt::format(" {:#x}", next.object.value());
          const SiteId site =
              thread->call_site().value() != 0 ? thread->call_site() : SiteId(thread->hot()->site);
          if (site.value() != 0) text += "  " + place_of(world_->program(), site).text();
          text += "\n";
          continue;
        }
        default:
          text += fmt::format("{} regions; ended: {}\n", thread->regions(),
                              recording::to_string(thread->end().kind));
      }
    }
    return text;
  }

  const recording::Reader& recording_;
  int socket_;
  World* world_ = nullptr;
  live::History* history_ = nullptr;
  bool has_target_ = false;
  bool is_over_ = false;
  std::uint64_t target_ = 0;
  std::uint64_t distance_ = 0;
  std::uint64_t next_checkpoint_ = 0;
  std::uint64_t alive_ = 0;
  std::uint64_t printed_ = 0;
  std::uint64_t regions_ = 0;
};

std::uint64_t bits_of(const Printed& printed) {
  return (printed.accesses ? 1u : 0u) | (printed.calls ? 2u : 0u) | (printed.synchronisation ? 4u : 0u);
}

}  // namespace

Result<std::unique_ptr<Timeline>> Timeline::open(const recording::Reader& recording, const Options& options) {
  std::unique_ptr<Timeline> timeline(new Timeline(recording, options));
  if (Status status = timeline->start(); !status) return status.error();
  return timeline;
}

Timeline::~Timeline() {
  if (present_ >= 0) close(present_);
  for (const auto& [number, socket] : checkpoints_) close(socket);
  // The first process is our own child; it ends when its socket is gone.
}

Status Timeline::start() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Error{std::string("replay: no socket: ") + std::strerror(errno)};
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return Error{std::string("replay: no process: ") + std::strerror(errno)};
  if (child == 0) {
    close(ends[0]);
    // A second fork: nobody has to wait for it.
    if (fork() != 0) _exit(0);
    Worker(recording_, ends[1]).run();
  }
  close(ends[1]);
  waitpid(child, nullptr, 0);
  present_ = ends[0];
  // It starts by leaving a checkpoint.
  Message message;
  int socket = -1;
  if (!receive(present_, message, &socket)) return Error{"replay: its process is gone"};
  if (message.kind == Kind::kFailed) return Error{message.text};
  checkpoints_[0] = socket;
  here_.is_at_start = true;
  return Nothing{};
}

Result<Timeline::Arrival> Timeline::go(std::uint64_t number) {
  Message message;
  message.kind = Kind::kGo;
  message.number = number;
  message.distance = options_.has_checkpoints ? distance_ : 0;
  message.size = checkpoints_.rbegin()->first + distance_;
  message.alive = checkpoints_.size();
  message.printed = bits_of(printed_);
  Arrival arrival;
  if (!here_.is_at_start && number < here_.number) {
    // The last one that has not done too much. Its number is next, so it must not be beyond.
    auto nearest = checkpoints_.upper_bound(number + 1);
    --nearest;
    arrival.was_back = true;
    message.printed = 0;
    arrival.from = nearest->first;
    if (!send(nearest->second, message)) return Error{"replay: a checkpoint is gone"};
    Message answer;
    int socket = -1;
    if (!receive(nearest->second, answer, &socket)) return Error{"replay: a checkpoint is gone"};
    if (answer.kind == Kind::kFailed) return Error{"replay: " + answer.text};
    close(present_);
    present_ = socket;
  } else {
    if (!send(present_, message)) return Error{"replay: its process is gone"};
  }
  if (Status status = listen(arrival); !status) return status.error();
  here_ = arrival;
  return arrival;
}

Status Timeline::listen(Arrival& arrival) {
  for (;;) {
    Message message;
    int socket = -1;
    if (!receive(present_, message, &socket)) return Error{"replay: its process is gone"};
    switch (message.kind) {
      case Kind::kCheckpoint:
        if (const auto [at, is_new] = checkpoints_.emplace(message.number, socket); !is_new) close(socket);
        if (checkpoints_.size() > kCheckpoints) thin();
        continue;
      case Kind::kArrived:
      case Kind::kEnded:
        arrival.is_at_end = message.kind == Kind::kEnded;
        arrival.is_at_start = message.number == 0;
        arrival.number = message.number == 0 ? 0 : message.number - 1;
        arrival.regions = message.size;
        return Nothing{};
      case Kind::kFailed:
        return Error{message.text};
      default:
        continue;
    }
  }
}

// Every second one goes; the start stays.
void Timeline::thin() {
  bool goes = false;
  for (auto at = checkpoints_.begin(); at != checkpoints_.end(); goes = !goes) {
    if (goes && at->first != 0) {
      close(at->second);
      at = checkpoints_.erase(at);
    } else {
      ++at;
    }
  }
  distance_ *= 2;
}

Result<std::string> Timeline::memory(std::uint64_t address, std::uint64_t size) {
  Message message;
  message.kind = Kind::kMemory;
  message.number = address;
  message.size = std::min<std::uint64_t>(size, 4096);
  if (!send(present_, message) || !receive(present_, message)) return Error{"replay: its process is gone"};
  return message.text;
}

Result<std::string> Timeline::threads() {
  Message message;
  message.kind = Kind::kThreads;
  if (!send(present_, message) || !receive(present_, message)) return Error{"replay: its process is gone"};
  return message.text;
}

}  // namespace deadheat::replay
