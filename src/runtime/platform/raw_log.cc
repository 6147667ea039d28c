#include "runtime/platform/raw_log.h"

#include <sys/stat.h>

#include "runtime/platform/modules.h"
#include "runtime/platform/options.h"
#include "runtime/platform/reporter.h"
#include "runtime/platform/syscalls.h"

extern "C" __attribute__((weak)) const char* __tsan_default_suppressions();

namespace deadheat::platform {
namespace {

unsigned modules_written;
const char* suppressions;

Reporter reporter;
const char* lane_name = "";
int log_fd = -1;
bool opened;

// Which file is behind a descriptor; nothing behind one that is closed.
struct FileId {
  uint64_t device = 0;
  uint64_t number = 0;
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the kernel has filled them
  friend bool operator==(const FileId&, const FileId&) = default;
};
FileId log_file;

FileId file_behind(int fd) {
  struct stat about;
  if (failed(syscall6(SYS_fstat, fd, reinterpret_cast<long>(&about)))) return {};
  return {about.st_dev, about.st_ino};
}

long kept_away(long fd) {
  // Not the program's descriptor: kept away from the low numbers it may count on, and closed on exec.
  long const high = syscall6(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900);
  if (failed(high)) return fd;
  sys_close(static_cast<int>(fd));
  return high;
}

// The folder of the log, held open, so that a process whose root has changed can have a log as well: the
// children of a daemon. The program may have closed it, or have something else in its place.
int folder_fd = -1;
FileId folder_file;

const char* hold_folder(const char* log) {
  const char* name = log;
  for (const char* p = log; *p != '\0'; ++p)
    if (*p == '/') name = p + 1;
  if (folder_fd >= 0 && file_behind(folder_fd) == folder_file) return name;
  Text folder;
  for (const char* p = log; p != name; ++p) folder.append_char(*p);
  if (name == log) folder.append_char('.');
  long const fd = sys_open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (failed(fd)) return nullptr;
  FileId const found = file_behind(static_cast<int>(fd));
  if (folder_file == FileId{} || folder_file == found) {
    folder_fd = static_cast<int>(kept_away(fd));
    folder_file = found;
    return name;
  }
  sys_close(static_cast<int>(fd));  // another one has that name now
  return nullptr;
}

long open_log_file(Text& path, int flags) {
  path.append("%s.%d", options().log, sys_getpid());
  flags |= O_WRONLY | O_APPEND | O_CLOEXEC;
  long fd = -ENOENT;
  if (const char* const name = hold_folder(options().log)) {
    Text in_folder;
    in_folder.append("%s.%d", name, sys_getpid());
    fd = syscall6(SYS_openat, folder_fd, reinterpret_cast<long>(in_folder.c_str()), flags, 0600);
  } else {
    fd = sys_open(path.c_str(), flags, 0600);
  }
  return failed(fd) ? fd : kept_away(fd);
}
bool failed_to_write;

void write_start_line() {
  Text line;
  line.append("{\"t\":\"start\",\"deadheat\":1,\"pid\":%d,\"version\":\"%s\",\"mode\":\"%s\",\"argv\":[",
              sys_getpid(), DEADHEAT_VERSION, lane_name);
  // The program's arguments, as the kernel has them: argv itself may have been changed by now.
  long const fd = sys_open("/proc/thread-self/cmdline", O_RDONLY | O_CLOEXEC, 0);
  if (!failed(fd)) {
    char text[4096];
    long const size = sys_read(static_cast<int>(fd), text, sizeof text - 1);
    sys_close(static_cast<int>(fd));
    for (long at = 0; at < size;) {
      text[size] = '\0';
      if (at != 0) line.append_char(',');
      line.append_json_string(text + at);
      while (at < size && text[at] != '\0') ++at;
      ++at;
    }
  }
  line.append("]");
  if (suppressions != nullptr) {
    line.append(",\"suppressions\":");
    line.append_json_string(suppressions);
  }
  line.append("}\n");
  line.write_to(log_fd);
}

void open_log() {
  opened = true;
  const Options& chosen = options();
  if (chosen.log != nullptr) {
    Text path;
    long const fd = open_log_file(path, O_CREAT);
    if (failed(fd)) {
      warn("cannot write findings to %s (error %ld); the program runs on unwatched", path.c_str(), -fd);
      return;
    }
    log_fd = static_cast<int>(fd);
  } else if (start_reporter(chosen.tool, &reporter)) {
    reporter.pipe = static_cast<int>(kept_away(reporter.pipe));
    reporter.done = static_cast<int>(kept_away(reporter.done));
    log_fd = reporter.pipe;
  } else {
    warn(
        "the deadheat program cannot be reached (not installed, or the program has changed its root or its "
        "user); findings follow unsymbolised (deadheat run, or DEADHEAT_OPTIONS=tool=PATH)");
    log_fd = 2;
  }
  log_file = file_behind(log_fd);
  write_start_line();
}

bool is_still_ours() { return log_fd == 2 || file_behind(log_fd) == log_file; }

// Programs close descriptors that they did not open (daemons, before they exec) and may have put a file of
// their own in place of the log since, which is not to be written to.
void find_log_again() {
  log_fd = -1;
  if (options().log != nullptr) {
    Text path;
    long const fd = open_log_file(path, 0);
    if (!failed(fd) && file_behind(static_cast<int>(fd)) == log_file) {
      log_fd = static_cast<int>(fd);
      return;
    }
    if (!failed(fd)) sys_close(static_cast<int>(fd));
  } else {
    reporter = {};
  }
  warn("the program has closed the descriptor that findings are written to: further ones are lost");
}

}  // namespace

void raw_log_is_of(const char* lane) { lane_name = lane; }
void raw_log_ask_for_suppressions() {
  if (__tsan_default_suppressions != nullptr) suppressions = __tsan_default_suppressions();
}

void raw_write_modules() {
  unsigned const count = read_modules();
  for (; modules_written < count; ++modules_written) {
    const Module& m = module_number(modules_written);
    Text line;
    line.append("{\"t\":\"module\",\"id\":%u,\"path\":", modules_written);
    line.append_json_string(m.path);
    line.append(",\"base\":\"0x%lx\",\"begin\":\"0x%lx\",\"end\":\"0x%lx\"}\n", m.base, m.begin, m.end);
    raw_write(line);
  }
}

bool raw_has_modules() { return modules_written != 0; }

void raw_write(Text& line) {
  if (!opened) open_log();
  if (log_fd >= 0 && !is_still_ours()) find_log_again();
  if (log_fd < 0) return;
  if (!line.write_to(log_fd) && !failed_to_write) {
    failed_to_write = true;
    warn("cannot write findings any more (disk full, or the reader is gone)");
  }
}

bool raw_log_finish() {
  bool told = true;
  if (log_fd >= 0 && !is_still_ours()) log_fd = -1;
  if (log_fd >= 0 && reporter.pipe >= 0) {
    told = finish_reporter(&reporter);
  } else if (log_fd > 2) {
    sys_close(log_fd);
  }
  log_fd = -1;
  return told;
}

void raw_log_fork_child() {
  // The child has a log of its own, opened when it has something to say.
  modules_written = 0;
  modules_fork_child();
  if (log_fd >= 0 && !is_still_ours()) {
    reporter = {};
  } else if (reporter.pipe >= 0) {
    sys_close(reporter.pipe);
    sys_close(reporter.done);
    reporter = {};
  } else if (log_fd > 2) {
    sys_close(log_fd);
  }
  log_fd = -1;
  opened = false;
}

}  // namespace deadheat::platform
