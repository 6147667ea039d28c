#include "runtime/monitor/visible.h"

#include "runtime/interpose/allocator.h"
#include "runtime/monitor/unwind.h"
#include "runtime/monitor_abi.h"
#include "runtime/platform/modules.h"
#include "runtime/platform/spinlock.h"

// The runtime's interposers are put together by interpose.h.
extern "C" __attribute__((visibility("hidden"), weak)) const char __start_deadheat_text[];
extern "C" __attribute__((visibility("hidden"), weak)) const char __stop_deadheat_text[];

namespace deadheat::monitor {
namespace {

// --- What was decided before. Code comes and goes with shared libraries, rarely; an address that meant one
// thing and
//     later another would have to be both a function's beginning and of another kind.
struct Decided {
  uintptr_t key;  // address * 2 + visible
};
constexpr unsigned kDecided = 4096;
Decided functions[kDecided];
Decided known_functions[kDecided];
Decided returns[kDecided];

template <class Decide>
bool decided(Decided* table, uintptr_t address, Decide decide) {
  Decided& entry = table[(address * 0x9E3779B97F4A7C15ull) >> 52];
  uintptr_t const key = __atomic_load_n(&entry.key, __ATOMIC_RELAXED);
  if (key >> 1 == address) return (key & 1) != 0;
  bool const visible = decide(address);
  __atomic_store_n(&entry.key, address << 1 | (visible ? 1 : 0), __ATOMIC_RELAXED);
  return visible;
}

bool is_runtime(uintptr_t address) {
  return address >= reinterpret_cast<uintptr_t>(__start_deadheat_text) &&
         address < reinterpret_cast<uintptr_t>(__stop_deadheat_text);
}

bool starts_with(const char* text, const char* prefix) {
  while (*prefix != '\0' && *text == *prefix) ++text, ++prefix;
  return *prefix == '\0';
}

bool is_known_library(const char* path) {
  const char* name = path;
  for (const char* p = path; *p != '\0'; ++p) {
    if (*p == '/') name = p + 1;
  }
  static const char* const known[] = {"libc.so",  "libc-2",     "libm.so",    "libm-2",     "libpthread",
                                      "libdl.so", "librt.so",   "ld-linux",   "libstdc++.", "libgcc_s",
                                      "libc++.",  "libc++abi.", "linux-vdso", "libresolv."};
  for (const char* k : known) {
    if (starts_with(name, k)) return true;
  }
  return false;
}

bool has_mark(uintptr_t function) {
  // Before generated code there may be nothing at all. A function of ours at the beginning of a page is
  // taken for a stranger: monitors end that could go on.
  struct __attribute__((packed, may_alias)) Word {
    uint64_t value;
  };
  return (function & 4095) >= 8 &&
         reinterpret_cast<const Word*>(function - 8)->value == DEADHEAT_FUNCTION_MARK;
}

bool is_in_known_library(uintptr_t address) {
  static platform::Spinlock lock;
  platform::SpinGuard const guard(lock);
  const platform::Module* module = platform::module_at(address);
  if (module == nullptr) {
    platform::read_modules();
    module = platform::module_at(address);
  }
  return module != nullptr && is_known_library(module->path);
}

}  // namespace

bool is_interposer(uintptr_t address) { return is_runtime(address); }

bool is_visible_function(uintptr_t function) {
  return decided(functions, function, [](uintptr_t at) { return has_mark(at) || is_runtime(at); });
}

// Among them are those that free; of a program's own allocator we do not hear what it frees.
bool is_visible_or_library(uintptr_t function) {
  return decided(known_functions, function, [](uintptr_t at) {
    return has_mark(at) || ((is_runtime(at) || is_in_known_library(at)) && interpose::hears_of_frees());
  });
}

bool is_visible_return(uintptr_t return_address) {
  return decided(returns, return_address, [](uintptr_t at) {
    uintptr_t const function = function_around(at - 1);
    return function != 0 && has_mark(function);
  });
}

}  // namespace deadheat::monitor
