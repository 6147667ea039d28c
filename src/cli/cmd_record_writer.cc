// deadheat record-writer: write the recording of a program that is simply run. Its runtime starts this
// process and shares its arena with it; it ends when the program is gone and everything is written.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "cli/command.h"
#include "cli/signals.h"
#include "recording/drain.h"
#include "recording/folder.h"

namespace deadheat::cli {
namespace {

namespace fs = std::filesystem;

bool parse_number(std::string_view text, int& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out >= 0;
}

std::vector<std::string> command_of(int pid) {
  std::ifstream in(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return words;
}

class RecordWriterCommand : public Command {
 public:
  std::string name() const override { return "record-writer"; }
  std::string summary() const override { return "write the recording of a program that runs"; }
  std::string usage() const override { return "record-writer --arena-of PID:FD DIR"; }
  std::string examples() const override { return {}; }
  bool hidden() const override { return true; }

  void add_options(CLI::App& app) override {
    app.add_option("--arena-of", arena_of_, "the program, and our own or its descriptor of the arena")
        ->type_name("PID:FD")
        ->required();
    app.add_option("--limit", limit_, "stop recording when the log has SIZE bytes")
        ->type_name("SIZE")
        ->transform(CLI::AsSizeValue(false));
    app.add_option("DIR", folder_, "the folder of the recording")->required();
  }

  int run(const std::vector<std::string>&) override {
    outlive_signals();
    signal(SIGXFSZ, SIG_IGN);
    const std::size_t colon = arena_of_.find(':');
    int pid = 0, fd = 0;
    if (colon == std::string::npos || !parse_number(std::string_view(arena_of_).substr(0, colon), pid) ||
        !parse_number(std::string_view(arena_of_).substr(colon + 1), fd) || pid == 0) {
      return fail(fmt::format("--arena-of: expected PID:FD, found {}", arena_of_));
    }
    // Opened before anything else: once we hold it, the number cannot become another process's.
    const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    auto arena = attach(pid, fd);
    if (!arena) return fail(arena.error().message);
    recording::DrainOptions options;
    options.folder = folder_;
    options.limit = limit_;
    options.description.deadheat = DEADHEAT_VERSION;
    options.description.command = command_of(pid);
    std::error_code ignored;
    options.description.folder = fs::read_symlink(fmt::format("/proc/{}/cwd", pid), ignored).string();
    options.description.start_time = recording::utc_now();
    options.description.pid = pid;
    if (Status made = recording::create_folder(folder_, options.description, {.may_have_modules = true});
        !made) {
      return refuse(**arena, made.error().message);
    }
    auto drain = recording::Drain::start(**arena, options);
    if (!drain) return refuse(**arena, drain.error().message);
    bool told = false;
    while (is_alive(process, pid)) {
      (*drain)->look();
      told = told || tell(**drain);
      (*drain)->rest();
    }
    Status finished = (*drain)->finish({});
    if (!told && !tell(**drain) && !finished) complain(finished.error().message);
    return finished.ok() && (*drain)->problem().empty() ? kExitClean : kExitUsage;
  }

 private:
  static int fail(const std::string& what) {
    complain(what);
    return kExitUsage;
  }

  // The program does not wait for somebody who will not come.
  static int refuse(recording::Arena& arena, const std::string& what) {
    __atomic_store_n(&arena.header().stop, static_cast<std::uint32_t>(kDhStopDisk), __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&arena.header().writer_beat, 1, __ATOMIC_SEQ_CST);
    return fail(what + ": the program is not recorded");
  }

  static bool tell(const recording::Drain& drain) {
    if (drain.problem().empty()) return false;
    complain(fmt::format("{}: recording stopped there; what was written is valid", drain.problem()));
    return true;
  }

  // Our own descriptor if it is an arena: it cannot go away with the program.
  static Result<std::unique_ptr<recording::Arena>> attach(int pid, int fd) {
    const int ours = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (ours >= 0) {
      auto arena = recording::Arena::attach(ours);
      if (arena.ok()) return arena;
    }
    const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
    const int theirs = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (theirs < 0) return Error{fmt::format("{}: cannot be opened: {}", path, std::strerror(errno))};
    return recording::Arena::attach(theirs);
  }

  // A process that has ended and waits for its parent counts as gone.
  static bool is_alive(int process, int pid) {
    if (process < 0) return kill(pid, 0) == 0 || errno == EPERM;
    pollfd ready{process, POLLIN, 0};
    return poll(&ready, 1, 0) == 0;
  }

  std::string arena_of_;
  std::string folder_;
  std::uint64_t limit_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_record_writer_command() { return std::make_unique<RecordWriterCommand>(); }

}  // namespace deadheat::cli
