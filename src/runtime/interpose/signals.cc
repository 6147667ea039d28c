// Signals. Handlers are wrapped, for three reasons.
//
// They may interrupt the runtime itself, whose locks their instrumented code would need. Such a signal is
// kept until the thread leaves the runtime. One place per thread is enough: while a signal is being kept, the
// interrupted code continues with all asynchronous signals blocked, so the kernel holds all others, and in
// its own order. Faults (SIGSEGV and the like) are never kept: the instruction that caused one cannot
// continue. A handler that was kept runs on the alternate stack if it asked for it, as if it had not been.
//
// A handler may have very little stack (2 KiB is a stack for sigaltstack), and its kernel frame has taken
// most of that. So little is on the stack here; what a report takes comes from elsewhere
// (platform/own_stack.h).
//
// A handler is ordered after the sigaction that installed it, and after the kill, raise, ... that sent the
// signal.
//
// Signals whose default is to end the process are caught as well, so that what was found until then is not
// lost; the process then dies of the same signal. What the program asks (the second argument of sigaction) it
// is told as if none of this were there.
#include "runtime/interpose/signals.h"

#include "runtime/interpose/outside.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <ucontext.h>

#include "runtime/interpose/exit.h"
#include "runtime/interpose/ignored.h"
#include "runtime/interpose/start.h"
#include "runtime/interpose/thread.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/own_stack.h"
#include "runtime/platform/spinlock.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

constexpr int kSignals = 65;

// REQUIRES: a signal. NOLINTNEXTLINE(clang-analyzer-core.BitwiseShift): callers have looked
constexpr uint64_t bit(int signal) { return uint64_t{1} << (signal - 1); }

constexpr uint64_t kFaults =
    bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP) | bit(SIGSYS);
constexpr uint64_t kFatalByDefault = kFaults | bit(SIGHUP) | bit(SIGINT) | bit(SIGQUIT) | bit(SIGABRT) |
                                     bit(SIGUSR1) | bit(SIGUSR2) | bit(SIGPIPE) | bit(SIGALRM) |
                                     bit(SIGTERM) | bit(SIGSTKFLT) | bit(SIGXCPU) | bit(SIGXFSZ) |
                                     bit(SIGVTALRM) | bit(SIGPROF) | bit(SIGIO) | bit(SIGPWR);
constexpr bool is_fault(int signal) { return (kFaults & bit(signal)) != 0; }
constexpr bool fatal_by_default(int signal) { return (kFatalByDefault & bit(signal)) != 0; }

// What the program asked for.
struct Action {
  void* handler;
  uint64_t mask;
  int flags;
};

// Written under `actions_lock` with signals blocked; read by handlers at any time, so in the manner of a
// sequence lock.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order in which they are explained
struct Slot {
  uint32_t sequence;  // odd while being written
  bool ours;          // the kernel calls us
  Action action;
  char order;  // the object of signal_object()
};
Slot slots[kSignals];
platform::Spinlock actions_lock;
uint64_t no_restart;  // siginterrupt()

Action current_action(int signal) {
  Slot& slot = slots[signal];
  for (;;) {
    uint32_t const before = __atomic_load_n(&slot.sequence, __ATOMIC_ACQUIRE);
    Action action;
    action.handler = __atomic_load_n(&slot.action.handler, __ATOMIC_RELAXED);
    action.mask = __atomic_load_n(&slot.action.mask, __ATOMIC_RELAXED);
    action.flags = __atomic_load_n(&slot.action.flags, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if ((before & 1) == 0 && before == __atomic_load_n(&slot.sequence, __ATOMIC_RELAXED)) return action;
  }
}

// REQUIRES: actions_lock held, signals blocked.
void set_action(int signal, const Action& action) {
  Slot& slot = slots[signal];
  __atomic_store_n(&slot.sequence, slot.sequence + 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_store_n(&slot.action.handler, action.handler, __ATOMIC_RELAXED);
  __atomic_store_n(&slot.action.mask, action.mask, __ATOMIC_RELAXED);
  __atomic_store_n(&slot.action.flags, action.flags, __ATOMIC_RELAXED);
  __atomic_store_n(&slot.sequence, slot.sequence + 1, __ATOMIC_RELEASE);
}

uint64_t& mask_word(sigset_t& set) { return reinterpret_cast<uint64_t&>(set.__val[0]); }
uint64_t mask_word(const sigset_t& set) { return set.__val[0]; }

// A signal that came at a bad moment.
struct Pending {
  int signal;
  siginfo_t info;
  ucontext_t context;
};
__thread Pending pending __attribute__((tls_model("initial-exec")));

// The kernel's own ucontext is shorter than libc's type: it ends after the first word of the mask.
void copy_context(ucontext_t& to, const ucontext_t& from) {
  platform::copy(&to, &from, offsetof(ucontext_t, uc_sigmask) + sizeof(uint64_t));
  if (from.uc_mcontext.fpregs != nullptr) {
    platform::copy(&to.__fpregs_mem, from.uc_mcontext.fpregs, sizeof to.__fpregs_mem);
    to.uc_mcontext.fpregs = &to.__fpregs_mem;
  }
}

void die_of(int signal, bool may_finish);

// Runs the program's handler with the mask it asked for. `mask` is that of the interrupted code. All signals
// but faults are blocked on entry.
void call_handler(int signal, siginfo_t* info, void* context, uint64_t mask) {
  Action const action = current_action(signal);
  if (action.handler == reinterpret_cast<void*>(SIG_IGN)) return;
  if (action.handler == reinterpret_cast<void*>(SIG_DFL)) {
    if (fatal_by_default(signal)) die_of(signal, !lane::inside_runtime() && thread_state.depth == 0);
    return;
  }
  IgnoredAside const aside;
  received_signal(signal);
  if ((action.flags & SA_RESETHAND) != 0) {
    platform::SpinGuard const guard(actions_lock);
    set_action(signal, Action{reinterpret_cast<void*>(SIG_DFL), 0, 0});
  }
  uint64_t const own = (action.flags & SA_NODEFER) != 0 ? 0 : bit(signal);
  set_signal_mask(mask | action.mask | own);
  if ((action.flags & SA_SIGINFO) != 0) {
    reinterpret_cast<void (*)(int, siginfo_t*, void*)>(action.handler)(signal, info, context);
  } else {
    reinterpret_cast<void (*)(int)>(action.handler)(signal);
  }
}

// The faults that this thread handles, the innermost first.
struct HandledFault {
  lane::Interrupted interrupted;
  HandledFault* outer;
};
__thread HandledFault* handled_faults __attribute__((tls_model("initial-exec")));

bool is_handled(int signal) {
  void* const handler = current_action(signal).handler;
  return handler != reinterpret_cast<void*>(SIG_DFL) && handler != reinterpret_cast<void*>(SIG_IGN);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  auto* const interrupted = static_cast<ucontext_t*>(context);
  uint64_t const mask = mask_word(interrupted->uc_sigmask);
  // What somebody sent can wait; a fault cannot.
  bool const is_own_fault = is_fault(signal) && info->si_code > 0;
  if (!is_own_fault && (lane::inside_runtime() || thread_state.depth != 0)) {
    // One is kept, and this is of those that are not blocked then, because they may be faults: it waits in
    // the kernel, too.
    if (lane::signals_pending != 0) {
      uint64_t ignored = 0;
      block_all_signals(&ignored);
      mask_word(interrupted->uc_sigmask) |= bit(signal);
      platform::syscall6(SYS_rt_tgsigqueueinfo, platform::sys_getpid(), platform::sys_gettid(), signal,
                         reinterpret_cast<long>(info));
      return;
    }
    pending.signal = signal;
    platform::copy(&pending.info, info, sizeof *info);
    copy_context(pending.context, *interrupted);
    mask_word(interrupted->uc_sigmask) = ~kFaults;  // until it has been delivered
    lane::signals_pending = 1;
    return;
  }
  if (!is_own_fault || !is_handled(signal) || &lane::fault_beginning == nullptr)
    return call_handler(signal, info, context, mask);
  constexpr long long kPageFault = 14, kWrite = 2;  // the processor's numbers
  const greg_t* const registers = interrupted->uc_mcontext.gregs;
  HandledFault fault = {lane::fault_beginning(info->si_addr, registers[REG_TRAPNO] == kPageFault &&
                                                                 (registers[REG_ERR] & kWrite) != 0),
                        handled_faults};
  handled_faults = &fault;
  call_handler(signal, info, context, mask);
  handled_faults = fault.outer;
  lane::fault_ended(fault.interrupted);
}

}  // namespace

void interpose::leave_handlers_of_faults() {
  for (HandledFault* fault = handled_faults; fault != nullptr; fault = fault->outer) {
    if (&lane::fault_left != nullptr) lane::fault_left(&fault->interrupted);
  }
  handled_faults = nullptr;
}

namespace {

void call_kept_handler(void*) {
  // The handler may be interrupted in turn, and that signal kept: `pending` is free again from here on.
  int const signal = pending.signal;
  siginfo_t info;
  ucontext_t context;
  platform::copy(&info, &pending.info, sizeof info);
  copy_context(context, pending.context);
  lane::signals_pending = 0;
  call_handler(signal, &info, &context, mask_word(context.uc_sigmask));
  set_signal_mask(mask_word(context.uc_sigmask));
}

long sys_sigaltstack(const stack_t* wanted, stack_t* old) {
  return platform::syscall6(SYS_sigaltstack, reinterpret_cast<long>(wanted), reinterpret_cast<long>(old));
}

// The kernel's rule: the alternate stack, from its top, unless the thread is on it already.
__attribute__((noinline)) bool call_on_alternate_stack() {
  stack_t stack;
  if (platform::failed(sys_sigaltstack(nullptr, &stack))) return false;
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the kernel has filled it
  if ((stack.ss_flags & (SS_DISABLE | SS_ONSTACK)) != 0) return false;
  constexpr int kAutodisarm = static_cast<int>(1u << 31);
  bool const disarms = (stack.ss_flags & kAutodisarm) != 0;
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  if (disarms) sys_sigaltstack(&none, nullptr);
  uintptr_t const top = (reinterpret_cast<uintptr_t>(stack.ss_sp) + stack.ss_size) & ~uintptr_t{15};
  platform::call_on_stack(top, call_kept_handler, nullptr);
  if (disarms) sys_sigaltstack(&stack, nullptr);
  return true;
}

// Called on the way out of the runtime or of a critical section of ours.
void deliver_pending() {
  if (lane::signals_pending == 0 || thread_state.depth != 0 || lane::inside_runtime()) return;
  int const saved = errno;
  bool const on_alternate =
      is_handled(pending.signal) && (current_action(pending.signal).flags & SA_ONSTACK) != 0;
  if (!on_alternate || !call_on_alternate_stack()) call_kept_handler(nullptr);
  errno = saved;
}

}  // namespace

#ifdef DEADHEAT_INTERPOSE_STATIC
// Under libc's own name: a program in ISO C may have a function of the other one.
extern "C" int real_sigaction(int signal, const struct sigaction* action,
                              struct sigaction* old) __asm__("__sigaction");
#else
DECLARE_REAL_OF(int, sigaction, int signal, const struct sigaction* action, struct sigaction* old);
#endif

namespace {

void die_of(int signal, bool may_finish) {
  if (may_finish) {
    if (&lane::dying_of != nullptr) lane::dying_of(signal);
    finish_once(128 + signal);
  }
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  REAL(sigaction)(signal, &action, nullptr);
  platform::syscall6(SYS_tgkill, platform::sys_getpid(), platform::sys_gettid(), signal);
  set_signal_mask(~bit(signal));
  platform::syscall6(SYS_exit_group, 128 + signal);
}

// REQUIRES: actions_lock held, signals blocked. What the kernel must be told for `wanted`.
struct sigaction kernel_action(int signal, const Action& wanted) {
  struct sigaction action = {};
  bool const ignored = wanted.handler == reinterpret_cast<void*>(SIG_IGN);
  bool const defaulted = wanted.handler == reinterpret_cast<void*>(SIG_DFL);
  if (ignored || (defaulted && !fatal_by_default(signal))) {
    action.sa_handler = reinterpret_cast<void (*)(int)>(wanted.handler);
    action.sa_flags = wanted.flags;
    return action;
  }
  action.sa_sigaction = on_signal;
  // Everything but faults waits until the program's own mask is in place.
  mask_word(action.sa_mask) = ~kFaults;
  action.sa_flags = (defaulted ? SA_ONSTACK : wanted.flags) | SA_SIGINFO;
  // SA_RESETHAND is ours to do: the kernel's default would bypass us.
  action.sa_flags &= ~SA_RESETHAND;
  return action;
}

int change_action(int signal, const Action* wanted, Action* old) {
  if (signal < 1 || signal >= kSignals) {
    errno = EINVAL;
    return -1;
  }
  if (wanted != nullptr) {
    lane::release(signal_object(signal));
    bool const handled = wanted->handler != reinterpret_cast<void*>(SIG_IGN) &&
                         wanted->handler != reinterpret_cast<void*>(SIG_DFL);
    if (handled) lane::waits_may_be_cut_short();
  }
  uint64_t mask = 0;
  block_all_signals(&mask);
  actions_lock.lock();
  Slot& slot = slots[signal];
  Action const before = slot.action;
  struct sigaction real_old = {};
  int result = 0;
  if (wanted == nullptr) {
    if (!slot.ours) result = REAL(sigaction)(signal, nullptr, &real_old);
  } else {
    struct sigaction const action = kernel_action(signal, *wanted);
    set_action(signal, *wanted);
    result = REAL(sigaction)(signal, &action, &real_old);
    if (result != 0) set_action(signal, before);
  }
  if (result == 0 && old != nullptr) {
    if (slot.ours) {
      *old = before;
    } else {
      *old = Action{reinterpret_cast<void*>(real_old.sa_handler), mask_word(real_old.sa_mask),
                    real_old.sa_flags};
    }
  }
  if (result == 0 && wanted != nullptr) slot.ours = true;
  actions_lock.unlock();
  set_signal_mask(mask);
  return result;
}

}  // namespace

namespace deadheat::interpose {

const void* signal_object(int signal) { return &slots[signal > 0 && signal < kSignals ? signal : 0].order; }

void received_signal(int signal) {
  lane::acquire(signal_object(signal));
  heard_from_outside();
}

void signals_fork_prepare() { actions_lock.lock(); }
void signals_fork_done() { actions_lock.unlock(); }

void start_signals() {
  lane::deliver_pending_signals = deliver_pending;
  for (int signal = 1; signal < kSignals; ++signal) {
    if (!fatal_by_default(signal)) continue;
    struct sigaction current = {};
    if (REAL(sigaction)(signal, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) continue;
    Action const wanted = {reinterpret_cast<void*>(SIG_DFL), 0, 0};
    struct sigaction const action = kernel_action(signal, wanted);
    if (REAL(sigaction)(signal, &action, nullptr) == 0) slots[signal].ours = true;
  }
}

}  // namespace deadheat::interpose

// --- Installing handlers

INTERPOSE_ONLY(int, sigaction, int signal, const struct sigaction* action, struct sigaction* old) {
  // In the child of a vfork, our table is the parent's; the actions in the kernel are the child's own.
  if (borrowed_process()) return REAL(sigaction)(signal, action, old);
  Action wanted = {};
  Action before = {};
  if (action != nullptr) {
    lane::read(action, sizeof *action, CALLER);
    wanted =
        Action{reinterpret_cast<void*>(action->sa_handler), mask_word(action->sa_mask), action->sa_flags};
  }
  int const result = change_action(signal, action != nullptr ? &wanted : nullptr, &before);
  if (result == 0 && old != nullptr) {
    *old = {};
    old->sa_handler = reinterpret_cast<void (*)(int)>(before.handler);
    mask_word(old->sa_mask) = before.mask;
    old->sa_flags = before.flags;
    lane::write(old, sizeof *old, CALLER);
  }
  return result;
}

namespace {
using SimpleHandler = void (*)(int);

SimpleHandler set_simple_handler(int signal, SimpleHandler handler, int flags) {
  Action const wanted = {reinterpret_cast<void*>(handler), 0, flags};
  Action before = {};
  if (handler == SIG_ERR || change_action(signal, &wanted, &before) != 0) {
    if (handler == SIG_ERR) errno = EINVAL;
    return SIG_ERR;
  }
  return reinterpret_cast<SimpleHandler>(before.handler);
}

// BSD's semantics: stays installed, restarts system calls unless siginterrupt() said otherwise, blocks
// itself.
SimpleHandler set_bsd_handler(int signal, SimpleHandler handler) {
  bool const restart = signal < 1 || signal >= kSignals || (no_restart & bit(signal)) == 0;
  return set_simple_handler(signal, handler, restart ? SA_RESTART : 0);
}
}  // namespace

REPLACE(SimpleHandler, signal, int number, SimpleHandler handler) { return set_bsd_handler(number, handler); }
REPLACE(SimpleHandler, bsd_signal, int number, SimpleHandler handler) {
  return set_bsd_handler(number, handler);
}
REPLACE(SimpleHandler, ssignal, int number, SimpleHandler handler) {
  return set_bsd_handler(number, handler);
}
REPLACE(SimpleHandler, __sysv_signal, int number, SimpleHandler handler) {
  return set_simple_handler(number, handler, SA_RESETHAND | SA_NODEFER);
}
REPLACE(SimpleHandler, sysv_signal, int number, SimpleHandler handler) {
  return set_simple_handler(number, handler, SA_RESETHAND | SA_NODEFER);
}
REPLACE(int, siginterrupt, int number, int interrupt) {
  Action action = {};
  if (change_action(number, nullptr, &action) != 0) return -1;
  if (interrupt != 0) {
    __atomic_fetch_or(&no_restart, bit(number), __ATOMIC_RELAXED);
    action.flags &= ~SA_RESTART;
  } else {
    __atomic_fetch_and(&no_restart, ~bit(number), __ATOMIC_RELAXED);
    action.flags |= SA_RESTART;
  }
  return change_action(number, &action, nullptr);
}

// --- Sending: ordered before the handler. Waiting: ordered after the sending.

namespace {
void sending_signal(int signal) {
  lane::release(signal_object(signal));
  children_may_hear();
}
}  // namespace

INTERPOSE(int, raise, int signal) {
  lane::release(signal_object(signal));
  return REAL(raise)(signal);
}
INTERPOSE(int, kill, pid_t process, int signal) {
  sending_signal(signal);
  return REAL(kill)(process, signal);
}
INTERPOSE(int, killpg, pid_t group, int signal) {
  sending_signal(signal);
  return REAL(killpg)(group, signal);
}
INTERPOSE(int, tgkill, pid_t process, pid_t thread, int signal) {
  sending_signal(signal);
  return REAL(tgkill)(process, thread, signal);
}
INTERPOSE(int, pthread_kill, pthread_t thread, int signal) {
  lane::release(signal_object(signal));
  return REAL(pthread_kill)(thread, signal);
}
INTERPOSE(int, sigqueue, pid_t process, int signal, const union sigval value) {
  sending_signal(signal);
  return REAL(sigqueue)(process, signal, value);
}
INTERPOSE(int, pidfd_send_signal, int process, int signal, siginfo_t* info, unsigned flags) {
  if (info != nullptr) lane::read(info, sizeof *info, CALLER);
  sending_signal(signal);
  return REAL(pidfd_send_signal)(process, signal, info, flags);
}
INTERPOSE(int, pthread_sigqueue, pthread_t thread, int signal, const union sigval value) {
  lane::release(signal_object(signal));
  return REAL(pthread_sigqueue)(thread, signal, value);
}

INTERPOSE(int, sigwait, const sigset_t* set, int* signal) {
  int const result = REAL(sigwait)(set, signal);
  if (result == 0) {
    received_signal(*signal);
    lane::write(signal, sizeof *signal, CALLER);
  }
  return result;
}
INTERPOSE(int, sigwaitinfo, const sigset_t* set, siginfo_t* info) {
  int const result = REAL(sigwaitinfo)(set, info);
  if (result > 0) {
    received_signal(result);
    if (info != nullptr) lane::write(info, sizeof *info, CALLER);
  }
  return result;
}
INTERPOSE(int, sigtimedwait, const sigset_t* set, siginfo_t* info, const struct timespec* wait) {
  int const result = REAL(sigtimedwait)(set, info, wait);
  if (result > 0) {
    received_signal(result);
    if (info != nullptr) lane::write(info, sizeof *info, CALLER);
  }
  return result;
}
