// Holds a thread still wherever it is, inside a library call too, without any detector's knowledge: a signal whose
// handler is installed, sent and answered by bare system calls, and which waits for a number of steps (order.h).
#pragma once

#include "order.h"

static int stall_until_steps;

UNSEEN static long bare_call(long number, long a, long b, long c, long d) {
  register long fourth __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "+a"(number)
                   : "D"(a), "S"(b), "d"(c), "r"(fourth)
                   : "rcx", "r11", "memory");
  return number;
}

UNSEEN static void stall_handler(int signal) {
  (void)signal;
  step();  // stalled
  await(stall_until_steps);
}

#ifdef __cplusplus
extern "C"
#endif
    void
    stall_restorer(void);
__asm__(".text\n.type stall_restorer,@function\nstall_restorer:\n mov $15, %eax\n syscall\n");

enum { kStallSignal = 50 };

UNSEEN static void stall_prepare(int until_steps) {
  struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
  } action = {stall_handler, 0x04000000ul /* SA_RESTORER */, stall_restorer, 0};
  stall_until_steps = until_steps;
  bare_call(13, kStallSignal, (long)&action, 0, 8);  // rt_sigaction
}

static int stall_target;

// Called by the thread that will be held.
UNSEEN static void stall_me_later(void) { stall_target = (int)bare_call(186, 0, 0, 0, 0); }  // gettid

// That thread takes one step when it has stopped.
UNSEEN static void stall(void) {
  bare_call(234, bare_call(39, 0, 0, 0, 0), stall_target, kStallSignal, 0);  // tgkill(getpid(), ...)
}
