// The program writes into shared memory (the arena) and never to the disk; a thread of ours takes it from
// there. The program inherits the arena at a high descriptor number, so that the numbers it gets for its own
// files are the same as ever.
#include "cli/recording_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>

#include "cli/command.h"
#include "cli/signals.h"
#include "recording/description.h"
#include "recording/drain.h"
#include "recording/folder.h"
#include "report/prose.h"

namespace deadheat::cli {
namespace {

namespace fs = std::filesystem;
using recording::Drain;

constexpr int kLowestDescriptor = 700;

// A copy of the descriptor where the program will not meet it.
int high_descriptor(int descriptor) {
  struct rlimit limit{};
  int lowest = kLowestDescriptor;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= kLowestDescriptor) {
    lowest = static_cast<int>(limit.rlim_cur) - 1;
  }
  return fcntl(descriptor, F_DUPFD_CLOEXEC, lowest);
}

// Blanks and colons separate options; a folder that has some is reached through a link that has none.
class PlainName {
 public:
  explicit PlainName(const std::string& folder) : name_(folder) {
    if (folder.find_first_of(": \t\n") == std::string::npos) return;
    link_.emplace();
    std::error_code error;
    if (!link_->path().empty()) fs::create_directory_symlink(folder, link_->path() + "/out", error);
    name_ = link_->path() + "/out";
    if (link_->path().empty()) {
      error_ = link_->error();
    } else if (error) {
      error_ = fmt::format("{}: cannot be created: {}", name_, error.message());
    }
  }
  const std::string& name() const { return name_; }
  const std::string& error() const { return error_; }

 private:
  std::optional<TemporaryFolder> link_;
  std::string name_;
  std::string error_;
};

// A limit on file sizes is an error to handle, not a reason to die. Of the calling thread only: a program
// that is started must not inherit it.
void block_file_size_signal() {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &only, nullptr);
}

// Drains in a thread of its own until told to stop.
class DrainThread {
 public:
  DrainThread(recording::Arena& arena, Drain& drain)
      : arena_(arena), thread_([this, &drain] {
          block_file_size_signal();
          while (!over_.load()) {
            drain.look();
            drain.rest();
          }
        }) {}
  void stop() {
    over_.store(true);
    arena_.wake_writer();
    thread_.join();
  }

 private:
  std::atomic<bool> over_{false};
  recording::Arena& arena_;
  std::thread thread_;
};

double children_cpu_seconds() {
  struct rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// What became of the recorded process, which may be the program or something that it started.
recording::Fate fate_of(const ProgramEnd& end, int recorded_pid, double cpu_seconds) {
  recording::Fate fate;
  if (recorded_pid != end.pid) {
    fate.still_runs = recorded_pid > 1 && kill(recorded_pid, 0) == 0;
    return fate;
  }
  fate.is_known = true;
  fate.exit_code = end.code;
  fate.signal = end.signal;
  fate.cpu_seconds = cpu_seconds;
  return fate;
}

std::string plural(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void say(const std::string& out, const recording::Ending& ending) {
  // Of a recording that was stopped, some numbers were drawn and never came to the log.
  const bool is_whole = ending.reason == recording::StopReason::kProgramEnded;
  fmt::print(stderr, "deadheat: recorded {}{}, {} of log in {}\n", plural(ending.threads, "thread"),
             is_whole ? ", " + plural(ending.sequencers, "sequencer") : std::string(),
             human_bytes(ending.log_bytes), out);
  if (ending.reason == recording::StopReason::kLimit) {
    fmt::print(stderr, "deadheat: the limit was reached: what the program did after that is not recorded\n");
  } else if (ending.reason == recording::StopReason::kWriterGone) {
    fmt::print(stderr,
               "deadheat: the recorded process still runs: what it does from now on is not recorded\n");
  }
  if (ending.unrecorded_threads > 0) {
    fmt::print(stderr, "deadheat: {} could not be recorded\n", plural(ending.unrecorded_threads, "thread"));
  }
}

report::Report report_of(const ProgramStart& program, const ProgramEnd& end, const recording::Ending& ending,
                         const std::string& out, const std::string& again) {
  report::Report report;
  report.mode = "record";
  report.program.command = program.words;
  report.program.exit = end.code;
  report.program.again = again;
  report.incomplete = ending.reason != recording::StopReason::kProgramEnded;
  report.statistics["recording"] = out;
  report.statistics["threads"] = std::to_string(ending.threads);
  report.statistics["unrecorded_threads"] = std::to_string(ending.unrecorded_threads);
  report.statistics["sequencers"] = std::to_string(ending.sequencers);
  report.statistics["raw_bytes"] = std::to_string(ending.raw_bytes);
  report.statistics["log_bytes"] = std::to_string(ending.log_bytes);
  report.statistics["wall_seconds"] = fmt::format("{:.6f}", ending.wall_seconds);
  report.statistics["cpu_seconds"] = fmt::format("{:.6f}", ending.cpu_seconds);
  report.statistics["stopped"] = fmt::format("\"{}\"", recording::to_string(ending.reason));
  return report;
}

int fail(const std::string& what) {
  complain(what);
  return kExitUsage;
}

}  // namespace

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  double number = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* larger : {"kB", "MB", "GB", "TB"}) {
    number /= 1000;
    unit = larger;
    if (number < 999.95) break;
  }
  return fmt::format("{:.1f} {}", number, unit);
}

void RecordOptions::add_options(CLI::App& app) {
  app.add_option("--out", out_, "record: the folder to make for the recording")->type_name("DIR");
  app.add_option("--limit", limit_,
                 "record: stop recording, not the program, when the log has SIZE bytes (100M, 4G)")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false));
  app.add_flag("--force", force_, "record: replace a recording that is there");
}

bool RecordOptions::prepare(const std::string& mode) const {
  if (mode == "record") {
    if (!out_.empty()) return true;
    complain("--mode record: no folder given for the recording; add --out DIR");
    return false;
  }
  const char* given = !out_.empty() ? "--out" : limit_ != 0 ? "--limit" : force_ ? "--force" : nullptr;
  if (given == nullptr) return true;
  complain(fmt::format("{}: only a recording has it; add --mode record", given));
  return false;
}

int record_program(const ProgramStart& program, const RecordOptions& options, Reporting& reporting,
                   const std::string& again) {
  std::error_code error;
  const std::string out = fs::absolute(options.out(), error).lexically_normal().string();
  if (error) return fail(fmt::format("{}: {}", options.out(), error.message()));
  auto arena = recording::Arena::create();
  if (!arena) return fail(arena.error().message);

  recording::DrainOptions drain_options;
  drain_options.folder = out;
  drain_options.limit = options.limit();
  drain_options.description.deadheat = DEADHEAT_VERSION;
  drain_options.description.command = program.words;
  drain_options.description.folder = fs::current_path(error).string();
  drain_options.description.start_time = recording::utc_now();
  const bool existed = fs::exists(out, error);
  if (Status made = create_folder(out, drain_options.description, {.replace = options.force()}); !made) {
    return fail(made.error().message);
  }
  // Nothing is left of a recording of nothing.
  auto give_up = [&](const std::string& what) {
    (void)recording::remove_recording(out);
    if (!existed) fs::remove(out, error);
    return fail(what);
  };
  auto drain = Drain::start(**arena, drain_options);
  if (!drain) return give_up(drain.error().message);
  PlainName plain(out);
  if (!plain.error().empty()) return give_up(plain.error());

  ProgramStart start = program;
  start.inherited = high_descriptor((*arena)->descriptor());
  if (start.inherited < 0)
    return give_up(fmt::format("no descriptor for the program: {}", std::strerror(errno)));
  const char* users = getenv("DEADHEAT_OPTIONS");
  start.environment.emplace_back(
      "DEADHEAT_OPTIONS",
      fmt::format("{}{}record={} arena={}", users == nullptr ? "" : users,
                  users == nullptr || *users == '\0' ? "" : " ", plain.name(), start.inherited));
  const double cpu_before = children_cpu_seconds();
  DrainThread thread(**arena, **drain);
  auto end = run_program(start);
  thread.stop();
  close(start.inherited);
  block_file_size_signal();
  if (!end) return give_up(end.error().message);
  if (!(*drain)->attached()) {
    return give_up(fmt::format(
        "{}: nothing was recorded: it is not instrumented for recording and started nothing that is ({}); "
        "build with deadheat-cc or deadheat-c++ and --deadheat-mode=record",
        program.words[0],
        end->signal != 0 ? fmt::format("ended by signal {}", end->signal)
                         : fmt::format("exit code {}", end->code)));
  }
  const auto recorded_pid = static_cast<int>(recording::load_acquire((*arena)->header().pid));
  Status finished = (*drain)->finish(fate_of(*end, recorded_pid, children_cpu_seconds() - cpu_before));
  const recording::Ending& ending = (*drain)->ending();
  if (!(*drain)->problem().empty()) {
    complain(fmt::format("{}: recording stopped there; what was written is valid", (*drain)->problem()));
  } else if (!finished) {
    complain(finished.error().message);
  }
  if (!reporting.quiet()) say(options.out(), ending);
  return reporting.write_files(report_of(program, *end, ending, out, again), end->code);
}

}  // namespace deadheat::cli
