#include "replay/live/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace deadheat::replay::live {

namespace {

void write_all(int descriptor, const std::string& bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t count = ::write(descriptor, bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    at += static_cast<std::size_t>(count);
  }
}

// Only the pipe is left. Files of our own (a module's IR, cached code) are opened for reading when needed.
int keep_only(int pipe, bool keeps_files) {
  if (keeps_files) return pipe;
  constexpr int kPipe = 3;
  if (pipe != kPipe) {
    dup2(pipe, kPipe);
    close(pipe);
  }
  const int nothing = open("/dev/null", O_RDWR);
  for (int i = 0; i < 3; ++i) dup2(nothing, i);
  close_range(kPipe + 1, ~0u, 0);
  return kPipe;
}

}  // namespace

Result<ChildAnswer> run_child(
    const ChildLimits& limits,
    const std::function<void(const std::function<void(const std::string&)>& tell)>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error{std::string("live world: no pipe: ") + std::strerror(errno)};
  const pid_t parent = getpid();
  // What our own streams hold back must not be written twice.
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return Error{std::string("live world: no process: ") + std::strerror(errno)};
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    prctl(PR_SET_DUMPABLE, 0);
    const auto seconds = static_cast<rlim_t>(limits.seconds) + 1;
    const rlimit processor{seconds, seconds + 1};
    setrlimit(RLIMIT_CPU, &processor);
    const rlimit no_files{0, 0};
    setrlimit(RLIMIT_FSIZE, &no_files);  // of any file: nothing can be written but to the pipe
    signal(SIGXFSZ, SIG_IGN);
    const int pipe = keep_only(ends[1], limits.keeps_files);
    work([pipe](const std::string& bytes) {
      write_all(pipe, bytes);
      _exit(0);
    });
    _exit(1);
  }
  close(ends[1]);
  ChildAnswer answer;
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(limits.seconds);
  bool is_late = false;
  char buffer[65536];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now())
            .count();
    if (left <= 0) {
      is_late = true;
      break;
    }
    pollfd waiting{ends[0], POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<long>(left, 1000)));
    if (ready < 0 && errno != EINTR) break;
    if (ready <= 0) continue;
    const ssize_t count = read(ends[0], buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    answer.bytes.append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  if (is_late) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (is_late)
    answer.end = ChildEnd::kTimedOut;
  else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    answer.end = ChildEnd::kAnswered;
  else
    answer.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return answer;
}

}  // namespace deadheat::replay::live
