// deadheat-cc, deadheat-c++: clang with the plugin and the runtime. One program, two names.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "instrument/wrapper/command_line.h"

namespace {

using deadheat::Result;
using namespace deadheat::instrument::wrapper;

constexpr int kWrongUsage = 2;

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool file_exists(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

bool read_file(const std::string& path, std::string& contents) {
  FILE* file = std::fopen(path.c_str(), "re");
  if (!file) return false;
  char buffer[1 << 16];
  while (std::feof(file) == 0 && std::ferror(file) == 0)
    contents.append(buffer, std::fread(buffer, 1, sizeof buffer, file));
  const bool complete = std::ferror(file) == 0;
  std::fclose(file);
  return complete;
}

// A file in memory, which the compiler and the linker inherit: nothing needs to be removed afterwards.
std::string lend_file(const std::string& contents) {
  const int file = memfd_create("deadheat-runtime", 0);
  if (file < 0) return "";
  for (size_t done = 0; done < contents.size();) {
    const ssize_t written = write(file, contents.data() + done, contents.size() - done);
    if (written <= 0) {
      close(file);
      return "";
    }
    done += static_cast<size_t>(written);
  }
  return "/proc/self/fd/" + std::to_string(file);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_executable(const std::string& path) {
  struct stat status;
  return access(path.c_str(), X_OK) == 0 && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// The compiler the plugin was built for: DEADHEAT_CLANG, or clang-19 of this build, of PATH, of LLVM's own
// folder.
std::string find_clang() {
  if (std::string chosen = variable("DEADHEAT_CLANG"); !chosen.empty()) {
    if (chosen.find('/') != std::string::npos) return is_executable(chosen) ? chosen : "";
    return chosen;  // execvp looks along PATH
  }
  if (is_executable(DEADHEAT_CONFIGURED_CLANG)) return DEADHEAT_CONFIGURED_CLANG;
  std::string path = variable("PATH");
  for (size_t start = 0; start <= path.size();) {
    const size_t colon = std::min(path.find(':', start), path.size());
    const std::string candidate = path.substr(start, colon - start) + "/clang-19";
    if (is_executable(candidate)) return candidate;
    start = colon + 1;
  }
  return is_executable("/usr/lib/llvm-19/bin/clang") ? "/usr/lib/llvm-19/bin/clang" : "";
}

// The folder of the plugin and the runtimes, beside this program: bin/../lib/deadheat.
std::string find_library_folder() {
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return "";
  self[length] = '\0';
  return folder_of(folder_of(self)) + "/lib/deadheat";
}

int fail(const std::string& program, const std::string& message) {
  std::fprintf(stderr, "%s: %s\n", program.c_str(), message.c_str());
  return kWrongUsage;
}

int compile(const std::vector<std::string>& words) {
  Environment environment;
  environment.program = base_name(words.empty() ? "deadheat-cc" : words[0]);
  environment.clang = find_clang();
  environment.library_folder = find_library_folder();
  environment.mode_variable = variable("DEADHEAT_MODE");
  environment.file_exists = file_exists;
  environment.read_file = read_file;
  environment.lend_file = lend_file;
  environment.library_path = variable("LIBRARY_PATH");
  if (environment.clang.empty()) {
    const std::string chosen = variable("DEADHEAT_CLANG");
    return fail(environment.program,
                chosen.empty() ? "clang-19 not found in PATH; install it or set DEADHEAT_CLANG"
                               : "DEADHEAT_CLANG=" + chosen + ": expected an executable, found none");
  }

  Result<Command> command = make_command(environment, {words.begin() + (words.empty() ? 0 : 1), words.end()});
  if (!command.ok()) return fail(environment.program, command.error().message);
  if (!command->plugin_options.empty()) setenv("DEADHEAT_PLUGIN_OPTIONS", command->plugin_options.c_str(), 1);
  std::vector<char*> arguments;
  for (std::string& argument : command->arguments) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execvp(environment.clang.c_str(), arguments.data());
  return fail(environment.program, environment.clang + ": cannot be run: " + std::strerror(errno));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return compile({argv, argv + argc});
  } catch (const std::exception& fault) {  // no memory
    std::fprintf(stderr, "deadheat-cc: %s\n", fault.what());
    return kWrongUsage;
  }
}
