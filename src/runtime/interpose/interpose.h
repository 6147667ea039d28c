// How a library call is interposed: written once, built twice.
//
//   INTERPOSE(int, pthread_mutex_lock, pthread_mutex_t* mutex) {
//     ...
//     int const result = REAL(pthread_mutex_lock)(mutex);
//     ...
//   }
//
// Dynamic build: the executable itself defines `pthread_mutex_lock`, weakly, so that a program with a
// function of that name of its own keeps it. The symbol is exported (LANE.dynlist), so shared libraries call
// it too. The real one is what comes next in the search order: dlsym(RTLD_NEXT), all of them looked up before
// the first constructor of the program (section deadheat_reals), or at the first call if that is earlier.
//
// Static build: -Wl,--wrap. The function is `__wrap_pthread_mutex_lock`, the real one
// `__real_pthread_mutex_lock`; the flags for the linker (LANE.wrap) are made from the names found in the
// objects. The linker redirects libc's own calls as well, so families that libc uses on its inner data are
// left out there (src/runtime/CMakeLists.txt).
//
// Names are given to the assembler, not to C++, so that libc's declarations (noexcept, nonnull, inline)
// cannot disagree.
//
// Interposers lie together, in a section of their own, so that a lane can tell a call of one from a call of
// code that tells nothing.
//
// What every interposer keeps: errno as the real call left it; no allocation with the program's allocator; no
// lock of the program; callable before any constructor has run.
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/lane.h"

#pragma clang section text = "deadheat_text"

// The caller of the function this stands in.
#define CALLER DEADHEAT_CALLER_PC

namespace deadheat::interpose {

// Looks `name` up in what is loaded after the executable. Null if nobody has it. Keeps errno.
void* find_real(const char* name, const char* version);
[[noreturn]] void no_such_function(const char* name);

// One real function. The layout is the same for all, so that section deadheat_reals is an array.
template <class Function>
struct Real {
  const char* name;
  const char* version;  // null: the default one
  Function* function;

  // Null if this program has no such function.
  Function* find() {
    Function* found = __atomic_load_n(&function, __ATOMIC_RELAXED);
    if (__builtin_expect(found == nullptr, 0)) {
      found = reinterpret_cast<Function*>(find_real(name, version));
      __atomic_store_n(&function, found, __ATOMIC_RELAXED);
    }
    return found;
  }
  Function* get() {
    Function* const known = __atomic_load_n(&function, __ATOMIC_RELAXED);
    if (__builtin_expect(known != nullptr, 1)) return known;
    Function* const found = find();
    if (found == nullptr) no_such_function(name);
    return found;
  }
};

#ifdef DEADHEAT_LANE_MONITOR
// Where such a function jumps to, and where its real one will be found: section deadheat_jumps is an array.
struct Jump {
  void (*target)();
  Real<void()>* real;
};
#endif

// Are two names one function? Asked at run time: which definition of a weak name a program ended up with, the
// compiler must not decide.
template <class Function>
bool same(Function* a, Function* b) {
  __asm__("" : "+r"(a));
  return a == b;
}

// Every thread's view of the interposers themselves.
//
// A signal handler of the program must not run while this thread is in one of our own critical sections: it
// may call the very function it interrupted. While `depth` is nonzero, handlers wait (signals.cc).
struct ThreadState {
  uint32_t depth;
  uint32_t tid;       // cached gettid(); 0: not asked for yet
  bool robust;        // has held a robust mutex
  bool finish_armed;  // thread_finishing() will be called
};
extern __thread ThreadState thread_state __attribute__((visibility("hidden"), tls_model("local-exec")));

uint32_t current_tid();

class CriticalSection {
 public:
  CriticalSection() {
    ++thread_state.depth;
    __asm__ volatile("" ::: "memory");
  }
  ~CriticalSection() {
    __asm__ volatile("" ::: "memory");
    if (--thread_state.depth == 0 && __builtin_expect(lane::signals_pending != 0, 0)) leave_slowly();
  }
  CriticalSection(const CriticalSection&) = delete;
  CriticalSection& operator=(const CriticalSection&) = delete;

 private:
  static void leave_slowly();
};

}  // namespace deadheat::interpose

#define DH_EXPORTED extern "C" __attribute__((weak, visibility("default"), used, noinline))
#define DH_STRING2(x) #x
#define DH_STRING(x) DH_STRING2(x)

#ifdef DEADHEAT_INTERPOSE_STATIC

#define DECLARE_REAL_VERSION(result, name, version, ...) \
  extern "C" result real_##name(__VA_ARGS__) __asm__("__real_" #name)
#define REAL(name) (&real_##name)
// Statically linked, what is referred to is there.
#define REAL_IF_ANY(name) (&real_##name)
#define INTERPOSE_VERSION(result, name, version, ...)                         \
  DECLARE_REAL_VERSION(result, name, version, __VA_ARGS__);                   \
  DH_EXPORTED result interposed_##name(__VA_ARGS__) __asm__("__wrap_" #name); \
  result interposed_##name(__VA_ARGS__)
// An interposer that does the whole job itself.
#define REPLACE(result, name, ...)                                            \
  DH_EXPORTED result interposed_##name(__VA_ARGS__) __asm__("__wrap_" #name); \
  result interposed_##name(__VA_ARGS__)

#else

#define DECLARE_REAL_VERSION(result, name, version, ...)                                            \
  namespace {                                                                                       \
  __attribute__((section("deadheat_reals"), used)) ::deadheat::interpose::Real<result(__VA_ARGS__)> \
      real_##name = {#name, version, nullptr};                                                      \
  }
#define REAL(name) (real_##name.get())
#define REAL_IF_ANY(name) (real_##name.find())
#define INTERPOSE_VERSION(result, name, version, ...)               \
  DECLARE_REAL_VERSION(result, name, version, __VA_ARGS__)          \
  DH_EXPORTED result interposed_##name(__VA_ARGS__) __asm__(#name); \
  result interposed_##name(__VA_ARGS__)
#define REPLACE(result, name, ...)                                  \
  DH_EXPORTED result interposed_##name(__VA_ARGS__) __asm__(#name); \
  result interposed_##name(__VA_ARGS__)

#endif

// Two kinds of calls that programs make all the time, in the monitor lane, which has to know of them only
// while it monitors: those that do nothing but read and write memory (the gate is open), and those that do
// nothing but release (this thread has monitors). Otherwise they are a jump to the real function, before
// there is a frame or a register to save. Until the real function is known, the jump leads to the interposer,
// which finds it (`Jump`).
#if defined(DEADHEAT_LANE_MONITOR) && !defined(DEADHEAT_INTERPOSE_STATIC)
#define DH_JUMP_UNLESS(looks, result, name, ...)                                                    \
  namespace {                                                                                       \
  __attribute__((section("deadheat_reals"), used)) ::deadheat::interpose::Real<result(__VA_ARGS__)> \
      real_##name __asm__("deadheat_real_" #name) = {#name, nullptr, nullptr};                      \
  }                                                                                                 \
  static_assert(offsetof(decltype(real_##name), function) == 16);                                   \
  __asm__(                                                                                          \
      ".pushsection deadheat_text,\"ax\",@progbits\n"                                               \
      ".p2align 4\n"                                                                                \
      ".weak " #name                                                                                \
      "\n"                                                                                          \
      ".type " #name ",@function\n" #name                                                           \
      ":\n"                                                                                         \
      ".cfi_startproc\n" looks "jne deadheat_open_" #name                                           \
      "\n"                                                                                          \
      "jmpq *deadheat_jump_" #name                                                                  \
      "(%rip)\n"                                                                                    \
      ".cfi_endproc\n"                                                                              \
      ".size " #name ",.-" #name                                                                    \
      "\n"                                                                                          \
      ".popsection\n"                                                                               \
      ".pushsection deadheat_jumps,\"aw\",@progbits\n"                                              \
      ".p2align 3\n"                                                                                \
      "deadheat_jump_" #name                                                                        \
      ":\n"                                                                                         \
      ".quad deadheat_open_" #name                                                                  \
      "\n"                                                                                          \
      ".quad deadheat_real_" #name                                                                  \
      "\n"                                                                                          \
      ".popsection");                                                                               \
  extern "C" __attribute__((visibility("hidden"), used, noinline)) result interposed_##name(        \
      __VA_ARGS__) __asm__("deadheat_open_" #name);                                                 \
  result interposed_##name(__VA_ARGS__)
#define INTERPOSE_ACCESSES(...) DH_JUMP_UNLESS("cmpq $0, __dh_monitor_gate(%rip)\n", __VA_ARGS__)
// The runtime is part of an executable, never of a shared library: where thread-local memory is, is known.
#define INTERPOSE_RELEASES(...) DH_JUMP_UNLESS("cmpl $0, %fs:__dh_monitor_hot@TPOFF\n", __VA_ARGS__)
#else
#define INTERPOSE_ACCESSES(...) INTERPOSE(__VA_ARGS__)
#define INTERPOSE_RELEASES(...) INTERPOSE(__VA_ARGS__)
#endif

// A function whose real one is needed before its interposer stands: DECLARE_REAL_OF first, INTERPOSE_ONLY
// later.
#define DECLARE_REAL_OF(result, name, ...) DECLARE_REAL_VERSION(result, name, nullptr, __VA_ARGS__)
#define INTERPOSE_ONLY(result, name, ...) REPLACE(result, name, __VA_ARGS__)
// A function that is called, but not interposed by anybody.
#ifdef DEADHEAT_INTERPOSE_STATIC
#define DECLARE_REAL(result, name, ...) extern "C" result real_##name(__VA_ARGS__) __asm__(#name)
#else
#define DECLARE_REAL(result, name, ...) DECLARE_REAL_VERSION(result, name, nullptr, __VA_ARGS__)
#endif
#define INTERPOSE(result, name, ...) INTERPOSE_VERSION(result, name, nullptr, __VA_ARGS__)
