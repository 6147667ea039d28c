// Variable arguments in registers and on the stack, where the processor's vector registers are wide:
// recorded, after the recording was stopped, and in a child that is not recorded at all.
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static long sum(int count, ...) {
  va_list words, again;
  va_start(words, count);
  va_copy(again, words);
  long total = 0;
  for (int i = 0; i < count; ++i) {
    total += va_arg(words, int);
    total += (long)va_arg(words, double);
    total += (long)va_arg(words, long double);
  }
  for (int i = 0; i < count; ++i)
    total += va_arg(again, int) + (long)va_arg(again, double) + (long)va_arg(again, long double);
  va_end(words);
  va_end(again);
  return total;
}

int main(void) {
  long total = 0;
  for (int i = 0; i < 100; ++i) total += sum(3, i, 2.5, 3.5L, 4, 5.5, 6.5L, 7, 8.5 + i, 9.5L);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(sum(2, 1, 2.5, 3.5L, 4, 5.5, 6.5L) == 42 ? 7 : 8);
  int status = 0;
  waitpid(child, &status, 0);
  printf("%ld %d\n", total, WEXITSTATUS(status));
  return total == 28600 && WEXITSTATUS(status) == 7 ? 0 : 1;
}
