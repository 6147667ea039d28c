// The ways a process ends by itself: main returns, exit, quick_exit, _exit; and the handlers that run then.
//
// exit(status) runs, newest first: what was registered with atexit and its kin, destructors of C++ statics
// among them; then the destructor functions of the program and of every library (_dl_fini, registered by
// __libc_start_main before anything else); then it flushes stdio and is gone. The lane must come after all
// code of the program, and its answer is the exit code. So __libc_start_main is interposed and given a
// function of ours to register instead of _dl_fini: it calls _dl_fini, asks the lane, and if the code is to
// be another, calls exit again. glibc then goes on where it was: with nothing left but stdio's buffers.
//
// A handler is ordered after its own registration, whoever calls exit: each carries an object to release to
// and acquire from.
#include "runtime/interpose/exit.h"

#include <stdlib.h>

#include "runtime/interpose/start.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/syscalls.h"

using namespace deadheat;
using namespace deadheat::interpose;

DECLARE_REAL(void, exit, int status);

namespace {

// 0: nobody has asked. 1: being asked. kAnswered + code: the answer.
constexpr uint64_t kAnswered = uint64_t{1} << 32;
uint64_t finish_state;
int process_id;
int quick_exit_status;

void (*loader_finalisers)();

void finish_after_everything(void*, int status) {
  if (loader_finalisers != nullptr) loader_finalisers();
  int const code = finish_once(status);
  if (code != status) REAL(exit)(code);
}

}  // namespace

namespace deadheat::interpose {

bool borrowed_process() { return process_id != 0 && platform::sys_getpid() != process_id; }

int finish_once(int status) {
  if (borrowed_process()) return status;
  uint64_t expected = 0;
  if (__atomic_compare_exchange_n(&finish_state, &expected, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    int const code = lane::finish(status);
    __atomic_store_n(&finish_state, kAnswered | static_cast<uint32_t>(code), __ATOMIC_RELEASE);
    return code;
  }
  // Somebody else is ending the process; whoever is first at the kernel decides, so wait for the same answer.
  // Not for ever: the one who asked may be this very thread, interrupted by a signal.
  for (unsigned i = 0; i < 200000; ++i) {
    uint64_t const state = __atomic_load_n(&finish_state, __ATOMIC_ACQUIRE);
    if (state >= kAnswered) return static_cast<int>(static_cast<uint32_t>(state));
    platform::sys_yield();
  }
  return status;
}

void exit_fork_child() {
  process_id = platform::sys_getpid();
  finish_state = 0;
}

}  // namespace deadheat::interpose

INTERPOSE(int, __libc_start_main, int (*main)(int, char**, char**), int argc, char** argv,
          void (*init)(int, char**, char**), void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  loader_finalisers = rtld_fini;
  // What is registered is called with (argument, status), like every handler of __cxa_atexit.
  return REAL(__libc_start_main)(main, argc, argv, init, fini,
                                 reinterpret_cast<void (*)()>(finish_after_everything), stack_end);
}

INTERPOSE(void, _exit, int status) {
  REAL(_exit)(finish_once(status));
  __builtin_unreachable();
}

INTERPOSE(void, _Exit, int status) {
  REAL(_Exit)(finish_once(status));
  __builtin_unreachable();
}

// --- Handlers. What is registered is one of these, with the program's own in it. Never freed: a handler runs
// once.
namespace {

struct ExitHandler {
  union {
    void (*with_status)(void*, int);
    void (*on_exit)(int, void*);
    void (*quick)(void*);
  };
  void* argument;
};

ExitHandler* new_handler(void* argument) {
  auto* const handler = platform::make<ExitHandler>();
  handler->argument = argument;
  lane::release_store(handler);
  return handler;
}

void run_with_status(void* argument, int status) {
  auto* const handler = static_cast<ExitHandler*>(argument);
  lane::acquire(handler);
  handler->with_status(handler->argument, status);
}

void run_on_exit(int status, void* argument) {
  auto* const handler = static_cast<ExitHandler*>(argument);
  lane::acquire(handler);
  handler->on_exit(status, handler->argument);
}

}  // namespace

// atexit is linked into every module from libc_nonshared.a and comes here as well.
INTERPOSE(int, __cxa_atexit, void (*function)(void*, int), void* argument, void* dso) {
  ExitHandler* const handler = new_handler(argument);
  handler->with_status = function;
  return REAL(__cxa_atexit)(run_with_status, handler, dso);
}

INTERPOSE(int, on_exit, void (*function)(int, void*), void* argument) {
  ExitHandler* const handler = new_handler(argument);
  handler->on_exit = function;
  return REAL(on_exit)(run_on_exit, handler);
}

// at_quick_exit's handlers take no argument that we could hand them something in, so they share one object:
// each is ordered after every registration made so far.
namespace {
char quick_handlers;
}

INTERPOSE(int, __cxa_at_quick_exit, void (*function)(void*), void* dso) {
  lane::release(&quick_handlers);
  return REAL(__cxa_at_quick_exit)(function, dso);
}

INTERPOSE(void, quick_exit, int status) {
  quick_exit_status = status;
  lane::acquire(&quick_handlers);
  REAL(quick_exit)(status);
  __builtin_unreachable();
}

namespace deadheat::interpose {

namespace {
void finish_quick_exit(void*) {
  int const code = finish_once(quick_exit_status);
  if (!borrowed_process()) platform::syscall6(SYS_exit_group, code);
}
}  // namespace

void start_exit() {
  process_id = platform::sys_getpid();
  // Registered first, so it runs last.
  REAL(__cxa_at_quick_exit)(finish_quick_exit, nullptr);
}

}  // namespace deadheat::interpose
