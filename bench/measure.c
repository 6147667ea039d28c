/* measure RESULT PROGRAM ARGS...: runs a program and writes what it cost to the file RESULT, one line:
 *
 *   status wall_seconds user_seconds system_seconds peak_kilobytes
 *
 * `status` is the exit code, or 128 + the signal. A program of its own because the kernel counts the memory
 * of whoever forked into the child's peak: forked from Python, nothing would ever use less than Python does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec * 1e-6; }

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: measure RESULT PROGRAM ARGS...\n");
    return 2;
  }
  double const start = now();
  pid_t const child = fork();
  if (child < 0) {
    perror("measure: fork");
    return 2;
  }
  if (child == 0) {
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    _exit(127);
  }
  int status = 0;
  struct rusage used;
  if (wait4(child, &status, 0, &used) != child) {
    perror("measure: wait4");
    return 2;
  }
  double const end = now();
  FILE* const out = fopen(argv[1], "w");
  if (out == NULL) {
    perror(argv[1]);
    return 2;
  }
  int const code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  fprintf(out, "%d %.6f %.6f %.6f %ld\n", code, end - start, seconds(used.ru_utime), seconds(used.ru_stime),
          used.ru_maxrss);
  return fclose(out) == 0 ? 0 : 2;
}
