// Handlers that were set before and after the stop, a signal to another thread, a fault that is handled.
// A-B: exited with code 0
// A-B output: usr1 10 usr2 12 waited 15 fault at null 1
// B-A: ended by signal 12 \(.*\): sent by the program itself.*
// B-A output: usr1 10 *
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile int ready;
static sigjmp_buf back;
static pthread_t waiter;

static void on_signal(int number) { printf("usr%d %d ", number == SIGUSR1 ? 1 : 2, number); }
static void on_fault(int number, siginfo_t* info, void* context) {
  (void)context;
  siglongjmp(back, number == SIGSEGV && info->si_addr == 0 ? 1 : 2);
}

static void* wait_for_it(void* argument) {
  (void)argument;
  sigset_t set;
  int number = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigwait(&set, &number);
  printf("waited %d ", number);
  return 0;
}

static void* prepare(void* argument) {
  (void)argument;
  ready = 1;  // <A>
  return 0;
}

static void* use(void* argument) {
  (void)argument;
  int seen = ready;  // <B>
  raise(SIGUSR1);
  if (seen) {
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    sigaction(SIGUSR2, &action, 0);
  }
  kill(getpid(), SIGUSR2);
  pthread_kill(waiter, SIGTERM);
  pthread_join(waiter, 0);
  int way = sigsetjmp(back, 1);
  if (way == 0) *(volatile int*)0 = 1;
  printf("fault at null %d\n", way);
  return 0;
}

int main(void) {
  pthread_t a, b;
  sigset_t set;
  struct sigaction action = {0};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, 0);
  signal(SIGUSR1, on_signal);
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, 0);
  pthread_create(&waiter, 0, wait_for_it, 0);
  pthread_create(&a, 0, prepare, 0);
  usleep(100000);
  pthread_create(&b, 0, use, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
