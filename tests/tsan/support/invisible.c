// What ThreadSanitizer's runtime gives to its own tests: barriers that no detector can see. Not instrumented,
// and done without any call that a runtime interposes.
static unsigned value_of(const unsigned* barrier) {
  unsigned value;
  __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(*barrier) : "memory");
  return value;
}

static void futex(const unsigned* word, long operation, unsigned value) {
  register long timeout __asm__("r10") = 0;
  long number = 202;
  __asm__ volatile("syscall"
                   : "+a"(number)
                   : "D"(word), "S"(operation), "d"((long)value), "r"(timeout)
                   : "rcx", "r11", "memory");
}

// The low 10 bits are the number of participants, the rest counts arrivals.
void __tsan_testonly_barrier_init(unsigned* barrier, unsigned count) { *(volatile unsigned*)barrier = count; }

void __tsan_testonly_barrier_wait(unsigned* barrier) {
  unsigned before = 1024;
  __asm__ volatile("lock xaddl %0, %1" : "+r"(before), "+m"(*barrier) : : "memory", "cc");
  const unsigned count = before & 1023, round = (before >> 10) / count;
  if ((before >> 10) % count == count - 1) {
    futex(barrier, 1, 0x7fffffff);  // FUTEX_WAKE
    return;
  }
  for (unsigned now; (now = value_of(barrier)) / 1024 / count == round;)
    futex(barrier, 0, now);  // FUTEX_WAIT
}

unsigned long __tsan_testonly_shadow_stack_current_size(void) { return 0; }
