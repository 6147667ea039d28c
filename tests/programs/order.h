// What the labelled programs share: real-time order that creates no happens-before, and threads in one line.
//
// A race must be found because nothing orders its two accesses, not because a run happened to interleave well. So the
// programs put their accesses in a chosen real-time order, in a way no detector can take for synchronisation: a
// counter that is only touched by inline assembly, in functions that are not instrumented, and waits that enter the
// kernel by the bare instruction instead of through libc.
//
//   step();     one more thing has happened
//   await(n);   go on when n things have happened
//
// C and C++. Everything is static: a program is one file.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define UNSEEN                                                                              \
  __attribute__((noinline, unused, no_sanitize("thread"), disable_sanitizer_instrumentation))

#ifdef ORDER_BY_TIME
// For a lane that sees races while they happen: real-time order by sleeping, in calls that hide nothing. Longer after a
// step than before what awaits it, so that the one who stepped is still there.
#include <unistd.h>
static inline void step(void) { usleep(6000); }
static inline void await(int count) { usleep(2000u * (unsigned)count); }
static inline void doze(long microseconds) { usleep((useconds_t)microseconds); }
UNSEEN static int steps_so_far(void) { return 1; }
#else

static int order_steps;

// futex(2) without libc.
UNSEEN static void order_futex(int operation, int value) {
  register long timeout __asm__("r10") = 0;
  long result = 202;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(&order_steps), "S"((long)operation), "d"((long)value), "r"(timeout)
                   : "rcx", "r11", "memory");
}

UNSEEN static void step(void) {
  __asm__ volatile("lock incl %0" : "+m"(order_steps) : : "memory", "cc");
  order_futex(1, 0x7fffffff);  // FUTEX_WAKE
}

UNSEEN static int steps_so_far(void) {
  int now;
  __asm__ volatile("movl %1, %0" : "=r"(now) : "m"(order_steps) : "memory");
  return now;
}

UNSEEN static void await(int count) {
  for (int now; (now = steps_so_far()) < count;) order_futex(0, now);  // FUTEX_WAIT
}

// nanosleep(2) without libc.
UNSEEN static void doze(long microseconds) {
  long request[2] = {microseconds / 1000000, microseconds % 1000000 * 1000};
  long result = 35;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(request), "S"(0), "m"(request)
                   : "rcx", "r11", "memory");
}

#endif  // ORDER_BY_TIME

// The value is needed: the compiler must not drop the read that made it.
static inline void use(long value) { __asm__ volatile("" : : "r"(value)); }

typedef void* (*Body)(void*);

__attribute__((unused)) static pthread_t start(Body body) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL) != 0) abort();
  return thread;
}

__attribute__((unused)) static void join(pthread_t thread) {
  if (pthread_join(thread, NULL) != 0) abort();
}

__attribute__((unused)) static void run2(Body first, Body second) {
  pthread_t a = start(first), b = start(second);
  join(a);
  join(b);
}

__attribute__((unused)) static void run3(Body first, Body second, Body third) {
  pthread_t a = start(first), b = start(second), c = start(third);
  join(a);
  join(b);
  join(c);
}
