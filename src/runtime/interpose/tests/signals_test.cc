// Signals: handlers wait while the thread is inside the runtime, exactly one after the other; the program
// sees its own actions only; sending is ordered before the handler.
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/interpose/tests/fake_lane.h"

extern "C" void record_leave_runtime(void);  // what a lane does on its way out

static int seen[65];
static int order[16];
static int order_count;
static siginfo_t last_info;
static void simple(int signal) {
  ++seen[signal];
  order[order_count++ % 16] = signal;
}
static void with_info(int signal, siginfo_t* info, void* context) {
  ++seen[signal];
  last_info = *info;
  CHECK(context != nullptr);
}

static void actions_are_the_programs_own() {
  struct sigaction action = {};
  struct sigaction old = {};
  CHECK(sigaction(SIGUSR1, nullptr, &old) == 0 && old.sa_handler == SIG_DFL && old.sa_flags == 0);
  action.sa_sigaction = with_info;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaddset(&action.sa_mask, SIGUSR2);
  CHECK(sigaction(SIGUSR1, &action, &old) == 0 && old.sa_handler == SIG_DFL);
  CHECK(sigaction(SIGUSR1, nullptr, &old) == 0);
  CHECK(old.sa_sigaction == with_info && old.sa_flags == (SA_SIGINFO | SA_RESTART));
  CHECK(sigismember(&old.sa_mask, SIGUSR2) == 1 && sigismember(&old.sa_mask, SIGINT) == 0);
  CHECK(reinterpret_cast<void*>(signal(SIGUSR1, simple)) == reinterpret_cast<void*>(with_info));
  CHECK(signal(SIGUSR1, SIG_IGN) == simple);
  CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
  CHECK(sigaction(0, &action, nullptr) == -1 && errno == EINVAL);
  CHECK(sigaction(SIGKILL, &action, nullptr) == -1 && errno == EINVAL);
  CHECK(signal(SIGCHLD, simple) == SIG_DFL && signal(SIGCHLD, SIG_DFL) == simple);
}

static void handlers_run_with_their_mask() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    sigset_t mine;
    pthread_sigmask(SIG_SETMASK, nullptr, &mine);
    CHECK(sigismember(&mine, SIGUSR1) == 1 && sigismember(&mine, SIGUSR2) == 1 &&
          sigismember(&mine, SIGINT) == 0);
    ++seen[SIGUSR1];
  };
  sigaddset(&action.sa_mask, SIGUSR2);
  sigaction(SIGUSR1, &action, nullptr);
  seen[SIGUSR1] = 0;
  raise(SIGUSR1);
  CHECK(seen[SIGUSR1] == 1);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  CHECK(sigismember(&mine, SIGUSR1) == 0 && sigismember(&mine, SIGUSR2) == 0);
  // The same when it had to wait.
  record_inside_runtime = 1;
  raise(SIGUSR1);
  CHECK(seen[SIGUSR1] == 1);
  record_inside_runtime = 0;
  record_leave_runtime();
  CHECK(seen[SIGUSR1] == 2);
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  CHECK(sigismember(&mine, SIGUSR1) == 0 && sigismember(&mine, SIGUSR2) == 0);
}

static void nothing_is_lost_inside_the_runtime() {
  struct sigaction action = {};
  action.sa_sigaction = with_info;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGRTMIN, &action, nullptr);
  signal(SIGUSR2, simple);
  seen[SIGRTMIN] = seen[SIGUSR2] = 0;
  record_inside_runtime = 1;
  for (int i = 0; i < 5; ++i) {
    sigval value;
    value.sival_int = i;
    CHECK(sigqueue(getpid(), SIGRTMIN, value) == 0);
  }
  raise(SIGUSR2);
  CHECK(seen[SIGRTMIN] == 0 && seen[SIGUSR2] == 0);
  record_inside_runtime = 0;
  record_leave_runtime();
  CHECK(seen[SIGRTMIN] == 5 && seen[SIGUSR2] == 1);
  CHECK(last_info.si_value.sival_int == 4);
}

static sigjmp_buf back;
static void faults_never_wait() {
  signal(SIGSEGV, [](int) { siglongjmp(back, 1); });
  record_inside_runtime = 1;
  if (sigsetjmp(back, 1) == 0) {
    *reinterpret_cast<int volatile*>(16) = 1;
    CHECK(false);
  }
  record_inside_runtime = 0;
  signal(SIGSEGV, SIG_DFL);
}

static void one_shot_handlers() {
  struct sigaction action = {};
  action.sa_handler = simple;
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGUSR1, &action, nullptr);
  seen[SIGUSR1] = 0;
  raise(SIGUSR1);
  CHECK(seen[SIGUSR1] == 1);
  struct sigaction now = {};
  sigaction(SIGUSR1, nullptr, &now);
  CHECK(now.sa_handler == SIG_DFL);
  fflush(nullptr);
  pid_t const pid = fork();
  if (pid == 0) {
    raise(SIGUSR1);
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
}

static void on_its_own_stack() {
  static char stack[65536];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = [](int) {
    char here;
    CHECK(&here >= stack && &here < stack + sizeof stack);
    ++seen[SIGUSR1];
  };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  seen[SIGUSR1] = 0;
  raise(SIGUSR1);
  CHECK(seen[SIGUSR1] == 1);
  // The same when it had to wait, be it that the kernel takes the stack away meanwhile.
  constexpr int kAutodisarm = static_cast<int>(1u << 31);
  constexpr int kFlags[] = {0, kAutodisarm};
  for (int const flags : kFlags) {
    alternate.ss_flags = flags;
    CHECK(sigaltstack(&alternate, nullptr) == 0);
    seen[SIGUSR1] = 0;
    record_inside_runtime = 1;
    raise(SIGUSR1);
    CHECK(seen[SIGUSR1] == 0);
    record_inside_runtime = 0;
    record_leave_runtime();
    CHECK(seen[SIGUSR1] == 1);
    stack_t now = {};
    CHECK(sigaltstack(nullptr, &now) == 0 && now.ss_sp == stack && now.ss_flags == flags);
  }
}

// They are not blocked while a signal is kept, because they may be faults.
static void faults_that_are_sent_wait_in_turn() {
  signal(SIGUSR1, simple);
  signal(SIGSEGV, simple);
  seen[SIGUSR1] = seen[SIGSEGV] = 0;
  record_inside_runtime = 1;
  raise(SIGUSR1);
  raise(SIGSEGV);
  CHECK(seen[SIGUSR1] == 0 && seen[SIGSEGV] == 0);
  record_inside_runtime = 0;
  record_leave_runtime();
  CHECK(seen[SIGUSR1] == 1 && seen[SIGSEGV] == 1);
  signal(SIGSEGV, SIG_DFL);
}

static void interrupts_and_restarts() {
  int p[2];
  CHECK(pipe(p) == 0);
  struct sigaction action = {};
  action.sa_handler = simple;
  sigaction(SIGALRM, &action, nullptr);
  alarm(1);
  char c;
  CHECK(read(p[0], &c, 1) == -1 && errno == EINTR);
  close(p[0]), close(p[1]);
}

static void waiting_for_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  raise(SIGUSR2);
  int got = 0;
  record_name(&got, sizeof got, "got");
  EXPECT(CHECK(sigwait(&set, &got) == 0 && got == SIGUSR2), "write got 4");
  raise(SIGUSR2);
  siginfo_t info;
  CHECK(sigwaitinfo(&set, &info) == SIGUSR2);
  timespec const none = {0, 0};
  CHECK(sigtimedwait(&set, &info, &none) == -1 && errno == EAGAIN);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  record_forget_names();
}

int main() {
  actions_are_the_programs_own();
  handlers_run_with_their_mask();
  nothing_is_lost_inside_the_runtime();
  faults_never_wait();
  one_shot_handlers();
  on_its_own_stack();
  faults_that_are_sent_wait_in_turn();
  interrupts_and_restarts();
  waiting_for_signals();
  return 0;
}
