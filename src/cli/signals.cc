#include "cli/signals.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

namespace deadheat::cli {
namespace {

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int kPassedOn[] = {SIGUSR1, SIGUSR2};

struct State {
  std::mutex mutex;
  std::set<std::string> folders;
  std::set<std::string> files;
  pid_t program = 0;
  bool flag_wanted = false;
  bool outliving = false;
  std::atomic<bool> interrupted{false};
  std::chrono::steady_clock::time_point last_interrupt;
  sigset_t handled{};
  sigset_t original_mask{};
  struct sigaction original_pipe{};
};

// Never destroyed: the signal thread may outlive main's statics.
State& state() {
  static State* state = new State;
  return *state;
}

void remove_folder(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void handle(const siginfo_t& info) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  int number = info.si_signo;
  if (s.program > 0) {
    // si_code <= 0: sent by a process. Otherwise the terminal sent it, to the program as well.
    if (info.si_code <= 0) kill(s.program, number);
    return;
  }
  if (s.outliving) return;
  if (s.flag_wanted && number == SIGINT) {
    // timeout(1), and a terminal's shell, may send one Ctrl-C twice: to us and to our process group.
    auto now = std::chrono::steady_clock::now();
    if (now - s.last_interrupt < std::chrono::seconds(1)) return;
    s.last_interrupt = now;
    if (!s.interrupted.exchange(true)) return;
  }
  bool is_ending = false;
  for (int ending : kEnding) is_ending |= ending == number;
  if (!is_ending) return;
  for (const std::string& folder : s.folders) remove_folder(folder);
  for (const std::string& file : s.files) unlink(file.c_str());
  signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(number);
  _exit(128 + number);
}

}  // namespace

void start_signal_handling() {
  State& s = state();
  sigemptyset(&s.handled);
  auto add = [&](int number) {
    struct sigaction current{};
    if (sigaction(number, nullptr, &current) == 0 && current.sa_handler != SIG_IGN)
      sigaddset(&s.handled, number);
  };
  for (int number : kEnding) add(number);
  for (int number : kPassedOn) add(number);
  // A reader that went away is an error to report, not a reason to die with a folder left behind.
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &s.original_pipe);
  signal(SIGCHLD, SIG_DFL);
  pthread_sigmask(SIG_BLOCK, &s.handled, &s.original_mask);
  std::thread([] {
    siginfo_t info;
    while (true) {
      if (sigwaitinfo(&state().handled, &info) > 0) handle(info);
    }
  }).detach();
}

void restore_signals_in_child() {
  sigaction(SIGPIPE, &state().original_pipe, nullptr);
  sigprocmask(SIG_SETMASK, &state().original_mask, nullptr);
}

pid_t fork_program() {
  // A signal that arrives now waits until we know whom to give it to.
  std::lock_guard lock(state().mutex);
  pid_t pid = fork();
  if (pid > 0) state().program = pid;
  return pid;
}

void forget_program() {
  std::lock_guard lock(state().mutex);
  state().program = 0;
}

void outlive_signals() {
  std::lock_guard lock(state().mutex);
  state().outliving = true;
}

const std::atomic<bool>& interrupt_flag() {
  std::lock_guard lock(state().mutex);
  state().flag_wanted = true;
  return state().interrupted;
}

void forget_interrupt() { state().interrupted = false; }

TemporaryFolder::TemporaryFolder() {
  const char* parent = getenv("TMPDIR");
  std::string base = parent == nullptr || *parent == '\0' ? "/tmp" : parent;
  // The runtime is told the folder in DEADHEAT_OPTIONS, where these characters separate options.
  if (base.find_first_of(": \t\n") != std::string::npos || base[0] != '/') base = "/tmp";
  std::string path = base + "/deadheat-XXXXXX";
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (mkdtemp(path.data()) == nullptr) {
    error_ = fmt::format("{}: no temporary folder can be made: {}", base, std::strerror(errno));
    return;
  }
  path_ = path;
  s.folders.insert(path_);
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  remove_folder(path_);
  std::lock_guard lock(state().mutex);
  state().folders.erase(path_);
}

void remove_file_on_signal(const std::string& path) {
  std::lock_guard lock(state().mutex);
  state().files.insert(path);
}

void forget_file(const std::string& path) {
  std::lock_guard lock(state().mutex);
  state().files.erase(path);
}

}  // namespace deadheat::cli
