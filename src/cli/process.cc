#include "cli/process.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "cli/signals.h"

namespace deadheat::cli {
namespace {

// Only calls that are safe between fork and exec in a process with threads.
[[noreturn]] void become(const ProgramStart& start, char* const* words, int error_pipe) {
  restore_signals_in_child();
  if (start.errors_to_null) {
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0) dup2(null, STDERR_FILENO);
  }
  if (start.inherited >= 0) fcntl(start.inherited, F_SETFD, 0);
  execvp(start.file.c_str(), words);
  int error = errno;
  // If this fails too, the parent sees an empty pipe and the exit code.
  [[maybe_unused]] ssize_t written = write(error_pipe, &error, sizeof error);
  _exit(127);
}

}  // namespace

Result<ProgramEnd> run_program(const ProgramStart& start) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0)
    return Error{fmt::format("no pipe can be made: {}", std::strerror(errno))};
  std::vector<char*> words;
  for (const std::string& word : start.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::vector<std::pair<std::string, std::pair<bool, std::string>>> before;
  for (const auto& [name, value] : start.environment) {
    const char* old = getenv(name.c_str());
    before.push_back({name, {old != nullptr, old == nullptr ? "" : old}});
    setenv(name.c_str(), value.c_str(), 1);
  }
  pid_t pid = fork_program();
  if (pid == 0) become(start, words.data(), pipe_ends[1]);
  int fork_error = errno;
  for (const auto& [name, old] : before) {
    if (old.first) {
      setenv(name.c_str(), old.second.c_str(), 1);
    } else {
      unsetenv(name.c_str());
    }
  }
  close(pipe_ends[1]);
  if (pid < 0) {
    close(pipe_ends[0]);
    return Error{fmt::format("{}: cannot be started: {}", start.file, std::strerror(fork_error))};
  }
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(pipe_ends[0], &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  close(pipe_ends[0]);

  int status = 0;
  // Not reaped yet while it is still the one that gets our signals: the number cannot be somebody else's.
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  forget_program();
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (got == sizeof error)
    return Error{fmt::format("{}: cannot be started: {}", start.file, std::strerror(error))};
  ProgramEnd end;
  end.pid = pid;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return end;
}

std::string own_folder() {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return {};
  std::string_view text(path, static_cast<std::size_t>(length));
  return std::string(text.substr(0, text.rfind('/')));
}

std::string find_in_path(const std::string& file) {
  if (file.find('/') != std::string::npos) return file;
  const char* variable = getenv("PATH");
  std::string_view path = variable == nullptr ? "/usr/bin:/bin" : variable;
  while (true) {
    std::size_t colon = path.find(':');
    std::string folder(path.substr(0, colon));
    std::string candidate = (folder.empty() ? "." : folder) + "/" + file;
    struct stat status{};
    if (stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    if (colon == std::string_view::npos) return {};
    path.remove_prefix(colon + 1);
  }
}

namespace {

// Calls `look` with the bytes of an ELF file.
template <class Look>
auto with_elf_bytes(const std::string& path, Look look) -> decltype(look(std::string_view())) {
  decltype(look(std::string_view())) result{};
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return result;
  struct stat status{};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_size > static_cast<off_t>(sizeof(Elf64_Ehdr))) {
    auto size = static_cast<std::size_t>(status.st_size);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (memory != MAP_FAILED) {
      std::string_view bytes(static_cast<const char*>(memory), size);
      if (bytes.starts_with(ELFMAG)) result = look(bytes);
      munmap(memory, size);
    }
  }
  close(fd);
  return result;
}

}  // namespace

// In both, names of sections and symbols are plain text in the file; looking for the text needs no table to
// be intact.

bool is_instrumented(const std::string& path) {
  return with_elf_bytes(path, [](std::string_view bytes) {
    return bytes.find(".note.deadheat") != std::string_view::npos ||
           bytes.find("__dh_") != std::string_view::npos;
  });
}

std::string mode_of(const std::string& path) {
  // Sizes of name and description, the type, the name; then the version and the mode (docs/hooks.md).
  using namespace std::string_view_literals;
  constexpr std::string_view kHead = "\x09\0\0\0\x10\0\0\0\x01\0\0\0Deadheat\0\0\0\0"sv;
  constexpr std::size_t kMode = 12;
  return with_elf_bytes(path, [&](std::string_view bytes) {
    std::size_t at = bytes.find(kHead);
    if (at == std::string_view::npos || bytes.size() - at < kHead.size() + 4 + kMode) return std::string();
    std::string_view mode = bytes.substr(at + kHead.size() + 4, kMode);
    return std::string(mode.substr(0, mode.find('\0')));
  });
}

}  // namespace deadheat::cli
