// Finding the real functions, and the first thing that happens in a program: before any constructor, every
// real function is looked up, so that no interposer ever calls dlsym from a signal handler or in a fork's
// child.
#include <dlfcn.h>

#include "runtime/interpose/start.h"
#include "runtime/platform/print.h"
#include "runtime/platform/syscalls.h"

namespace deadheat::interpose {

__thread ThreadState thread_state;

uint32_t current_tid() {
  if (thread_state.tid == 0) thread_state.tid = static_cast<uint32_t>(platform::sys_gettid());
  return thread_state.tid;
}

void CriticalSection::leave_slowly() {
  // The lane's own way out delivers if we are inside it.
  if (!lane::inside_runtime() && lane::deliver_pending_signals != nullptr) lane::deliver_pending_signals();
}

void no_such_function(const char* name) {
  platform::die(70, "the program calls %s, but no library it has loaded defines that function", name);
}

#ifdef DEADHEAT_INTERPOSE_STATIC

namespace {
void find_all() {}
}  // namespace

#else

void* find_real(const char* name, const char* version) {
  int const saved = errno;
  void* const found = version != nullptr ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name);
  errno = saved;
  return found;
}

extern "C" {
extern Real<void()> start_of_reals __asm__("__start_deadheat_reals") __attribute__((visibility("hidden")));
extern Real<void()> end_of_reals __asm__("__stop_deadheat_reals") __attribute__((visibility("hidden")));
#ifdef DEADHEAT_LANE_MONITOR
extern Jump start_of_jumps __asm__("__start_deadheat_jumps") __attribute__((visibility("hidden"), weak));
extern Jump end_of_jumps __asm__("__stop_deadheat_jumps") __attribute__((visibility("hidden"), weak));
#endif
}

namespace {
void find_all() {
  for (Real<void()>* real = &start_of_reals; real < &end_of_reals; ++real) real->find();
#ifdef DEADHEAT_LANE_MONITOR
  for (Jump* jump = &start_of_jumps; jump < &end_of_jumps; ++jump)
    if (jump->real->function != nullptr) jump->target = jump->real->function;
#endif
  // Functions that are not there (C++ ones in a C program) must not be the program's next dlerror().
  dlerror();
}
}  // namespace

#endif

void start() {
  static bool started;
  if (started) return;
  started = true;  // before the first thread, so plain
  int const saved = errno;
  find_all();
  lane::initialise();
  start_threads();
  start_processes();
  start_signals();
  start_exit();
  errno = saved;
}

namespace {
using Initialiser = void (*)(int, char**, char**);
void before_everything(int, char**, char**) { start(); }
// Runs before the constructors of all shared libraries and of the program itself.
__attribute__((section(".preinit_array"), used, retain)) Initialiser const first = before_everything;
}  // namespace

}  // namespace deadheat::interpose
