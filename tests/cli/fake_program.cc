// Speaks to `deadheat run` as the runtime does, without any instrumentation: a raw log with real addresses of
// itself. So the tests of the command line and of the symbolizer need neither the compiler plugin nor the
// runtime.
//
//   fake_program [what ...]   race: one race on a global     heap: one on a heap block    twice: the race,
//   from two callers
//                             exit=N, signal=N, print=TEXT, cut (no end line), damage (a broken line), echo
//                             (stdin to stdout) sleep (until a signal comes), spawn (itself, as a child, with
//                             what follows)
#include <link.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

int balance = 3;

namespace {

std::FILE* raw;

std::string log_path() {
  const char* options = getenv("DEADHEAT_OPTIONS");
  const char* log = options == nullptr ? nullptr : std::strstr(options, "log=");
  if (log == nullptr) return {};
  std::string path = log + 4;
  return path.substr(0, path.find_first_of(" :")) + "." + std::to_string(getpid());
}

int one_module(dl_phdr_info* info, std::size_t, void* count) {
  std::uint64_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type == PT_LOAD) {
      std::uint64_t segment_end = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
      if (segment_end > end) end = segment_end;
    }
  }
  char self[4096] = {};
  if (info->dlpi_name[0] == '\0' && readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
  std::fprintf(raw, "{\"t\":\"module\",\"id\":%d,\"path\":\"%s\",\"base\":\"0x%lx\",\"end\":\"0x%lx\"}\n",
               (*static_cast<int*>(count))++, self[0] != '\0' ? self : info->dlpi_name,
               static_cast<unsigned long>(info->dlpi_addr),
               static_cast<unsigned long>(info->dlpi_addr + end));
  return 0;
}

using Pcs = std::vector<const void*>;

std::string stack_json(const Pcs& pcs) {
  std::string text = "[";
  for (const void* pc : pcs) {
    char word[32];
    std::snprintf(word, sizeof word, "%s\"%p\"", text.size() > 1 ? "," : "", pc);
    text += word;
  }
  return text + "]";
}

__attribute__((noinline)) const void* here() { return __builtin_return_address(0); }

__attribute__((noinline)) Pcs deposit(int amount, const void* caller) {
  balance += amount;
  return {here(), caller};  // RACE
}

__attribute__((noinline)) Pcs audit(const void* caller) {
  return {here(), caller};  // RACE
}

__attribute__((noinline)) Pcs make_thread() { return {here()}; }

void race(const char* variable, bool from_elsewhere) {
  Pcs write = from_elsewhere ? deposit(1, here()) : deposit(2, here());
  std::fprintf(
      raw,
      "{\"t\":\"race\",\"detector\":\"fasttrack\",\"addr\":\"%p\",\"var\":%s,\"accesses\":["
      "{\"thread\":1,\"op\":\"write\",\"size\":4,\"addr\":\"%p\",\"stack\":%s,\"value\":\"0x4\","
      "\"before\":\"0x3\",\"locks\":[{\"addr\":\"%p\",\"shared\":false,\"stack\":%s}]},"
      "{\"thread\":2,\"op\":\"read\",\"size\":4,\"addr\":\"%p\",\"stack\":%s,\"locks\":[]}],\"why\":\"\"}\n",
      static_cast<void*>(&balance), variable, static_cast<void*>(&balance), stack_json(write).c_str(),
      static_cast<void*>(&raw), stack_json(make_thread()).c_str(), static_cast<void*>(&balance),
      stack_json(audit(here())).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  std::string path = log_path();
  raw = std::fopen(path.empty() ? "/dev/null" : path.c_str(), "a");
  if (raw == nullptr) return 1;
  std::fprintf(raw,
               "{\"t\":\"start\",\"pid\":%d,\"version\":\"0.1.0\",\"mode\":\"watch\",\"argv\":[\"%s\"],"
               "\"deadheat\":1}\n",
               getpid(), argv[0]);
  int modules = 0;
  dl_iterate_phdr(one_module, &modules);
  for (int id : {1, 2}) {
    std::fprintf(raw, "{\"t\":\"thread\",\"id\":%d,\"parent\":0,\"name\":\"%s\",\"stack\":%s,\"os\":%d}\n",
                 id, id == 1 ? "payer" : "", stack_json(make_thread()).c_str(), 1000 + id);
  }
  int exit_code = 0;
  bool with_end = true;
  for (int i = 1; i < argc; i++) {
    std::string what = argv[i];
    if (what == "race") race("{\"kind\":\"global\"}", false);
    if (what == "twice") race("{\"kind\":\"global\"}", true);
    if (what == "heap") {
      race(("{\"kind\":\"heap\",\"addr\":\"0x1000\",\"size\":40,\"thread\":0,\"stack\":" +
            stack_json(make_thread()) + "}")
               .c_str(),
           false);
    }
    if (what.starts_with("exit=")) exit_code = std::atoi(what.c_str() + 5);
    if (what.starts_with("print=")) std::puts(what.c_str() + 6);
    if (what == "damage") std::fputs("{\"t\":\"race\",\"accesses\":7}\nnot json\n", raw);
    if (what == "cut") with_end = false;
    if (what == "echo") {
      for (int c = std::getchar(); c != EOF; c = std::getchar()) std::putchar(c);
    }
    if (what == "spawn") {
      std::fflush(raw);
      if (fork() == 0) execv("/proc/self/exe", argv + i);
      wait(nullptr);
      break;
    }
    std::fflush(raw);
    if (what.starts_with("signal=")) raise(std::atoi(what.c_str() + 7));
    if (what == "sleep") {
      std::puts("sleeping");
      std::fflush(stdout);
      pause();
    }
  }
  if (with_end)
    std::fprintf(raw, "{\"t\":\"end\",\"exit\":%d,\"statistics\":{\"accesses\":100,\"lane\":\"watch\"}}\n",
                 exit_code);
  if (with_end) std::fprintf(raw, "{\"t\":\"race\",");  // what a kill leaves: ignored
  std::fclose(raw);
  return exit_code;
}
