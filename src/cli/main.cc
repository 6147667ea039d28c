// deadheat: find the command, give it its words, return its exit code. Everything else is in one cmd_*.cc a
// command.
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <string_view>
#include <system_error>

#include "cli/command.h"
#include "cli/signals.h"

namespace deadheat::cli {

void complain(const std::string& text) { fmt::print(stderr, "deadheat: {}\n", text); }

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_run_command());
  commands.push_back(make_check_command());
  commands.push_back(make_analyze_command());
  commands.push_back(make_replay_command());
  commands.push_back(make_trace_command());
  commands.push_back(make_recording_command());
  commands.push_back(make_report_raw_command());
  commands.push_back(make_record_writer_command());
  commands.push_back(make_version_command());
  commands.push_back(make_help_command());
  return commands;
}

std::string help_of(Command& command) {
  CLI::App app(command.summary());
  app.set_help_flag("-h,--help", "show this help");
  command.add_options(app);
  std::string text = fmt::format("deadheat {}: {}\n\nusage: deadheat {}\n", command.name(), command.summary(),
                                 command.usage());
  // CLI11's own text starts with description and usage: ours say it better, so only its options are kept.
  bool has_parts = !app.get_subcommands(nullptr).empty();
  std::string options = app.help("", has_parts ? CLI::AppFormatMode::All : CLI::AppFormatMode::Normal);
  if (std::size_t at = options.find("Options:"); at != std::string::npos) {
    text += "\noptions:" + options.substr(at + 8);
  }
  while (text.ends_with("\n\n")) text.pop_back();
  if (!command.examples().empty()) text += fmt::format("\nexamples:\n{}", command.examples());
  return text;
}

namespace {

int usage_error(const Command& command, const std::string& what) {
  complain(fmt::format("{}: {}", command.name(), what));
  fmt::print(stderr, "usage: deadheat {}\nsee also: deadheat help {}\n", command.usage(), command.name());
  return kExitUsage;
}

// A variable of a script that is not set must not look like "no report wanted".
std::string has_a_name(const std::string& file) {
  return file.empty() ? "expected the name of a file, found nothing" : "";
}

int run_command(Command& command, std::vector<std::string> words) {
  CLI::App app(command.summary());
  app.set_help_flag("-h,--help", "show this help");
  command.add_options(app);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_type_name() == "FILE") option->check(has_a_name);
  }
  if (command.runs_program()) app.prefix_command();

  // What follows `--` is not ours to read. A program may also be named without it; then its first word ends
  // our options.
  std::vector<std::string> rest;
  bool had_dashes = false;
  if (auto dashes = std::find(words.begin(), words.end(), "--"); dashes != words.end()) {
    had_dashes = true;
    rest.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  const std::string first = words.empty() ? std::string() : words.front();
  try {
    std::reverse(words.begin(), words.end());
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", help_of(command));
    return kExitClean;
  } catch (const CLI::ParseError& error) {
    std::string what = error.what();
    // A sentence starts in lower case with us; a name ("INPUT is required") stays what it is.
    auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (what.size() > 1 && is_upper(what[0]) && !is_upper(what[1]))
      what[0] = static_cast<char>(what[0] - 'A' + 'a');
    if (!app.get_subcommands(nullptr).empty() && app.get_subcommands().empty() && !first.empty() &&
        !first.starts_with("-")) {
      what = fmt::format("expected one of its subcommands, found \"{}\"", first);
    }
    return usage_error(command, what);
  }
  if (command.runs_program()) {
    std::vector<std::string> before = app.remaining();
    if (!before.empty() && before[0].starts_with("-")) {
      return usage_error(command, fmt::format("unknown option {}", before[0]));
    }
    if (!before.empty() && had_dashes) before.push_back("--");  // it was the program's own
    rest.insert(rest.begin(), before.begin(), before.end());
  }
  return command.run(rest);
}

int dispatch(std::vector<std::string> words) {
  if (words.empty()) {
    fmt::print(stderr, "deadheat: no command given; see: deadheat help\n");
    return kExitUsage;
  }
  std::string name = words.front();
  words.erase(words.begin());
  if (name == "-h" || name == "--help") name = "help";
  if (name == "-V" || name == "--version") name = "version";
  for (auto& command : all_commands()) {
    if (command->name() == name) return run_command(*command, std::move(words));
  }
  complain(fmt::format("unknown command \"{}\"; see: deadheat help", name));
  return kExitUsage;
}

// What was printed cannot be delivered, because of `error` (0: unknown): the exit code. A reader that has
// seen enough (`| head`) is no failure to talk about; the code is what a shell says of a program that SIGPIPE
// ends.
int undelivered(int error) {
  if (error == EPIPE) return 128 + SIGPIPE;
  complain(fmt::format("standard output: cannot write{}",
                       error == 0 ? "" : fmt::format(": {}", std::strerror(error))));
  return kExitUsage;
}

int flush_output() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  return flushed && std::ferror(stdout) == 0 ? kExitClean : undelivered(errno);
}

// Reading debug information takes more stack than a program under test may be limited to (`ulimit -s`). A
// thread's can be as large as needed.
class LargeStack {
 public:
  static bool is_needed() {
    rlimit limit{};
    return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kEnough;
  }
  // False: there is no memory for it.
  static bool run(std::function<void()> body) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kEnough);
    pthread_t thread{};
    const auto enter = [](void* what) -> void* {
      (*static_cast<std::function<void()>*>(what))();
      return nullptr;
    };
    const bool runs = pthread_create(&thread, &attributes, enter, &body) == 0;
    pthread_attr_destroy(&attributes);
    return runs && pthread_join(thread, nullptr) == 0;
  }

 private:
  static constexpr std::size_t kEnough = 8u << 20;
};

int guarded(const std::vector<std::string>& words) {
  try {
    start_signal_handling();
    const int code = dispatch(words);
    // Output that cannot be delivered is a failure, not a success with nothing to show.
    return code == 0 ? flush_output() : code;
  } catch (const std::system_error& fault) {
    // fmt throws when standard output takes no more; everything else returns its errors.
    if (std::ferror(stdout) != 0) return undelivered(fault.code().value());
    complain(fmt::format("internal fault: {}", fault.what()));
    return kExitFault;
  } catch (const std::exception& fault) {
    complain(fmt::format("internal fault: {}", fault.what()));
    return kExitFault;
  }
}

}  // namespace
}  // namespace deadheat::cli

int main(int argc, char** argv) {
  // A standard stream that is closed must not become the number of the next file we open. The program gets it
  // closed again: close-on-exec.
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR | O_CLOEXEC);
  }
  using namespace deadheat::cli;
  const std::vector<std::string> words(argv + 1, argv + argc);
  int code = kExitFault;
  if (!LargeStack::is_needed() || !LargeStack::run([&] { code = guarded(words); })) code = guarded(words);
  return code;
}
