// A timer's handler that comes at any moment of very short library calls, made where exceptions may land; it
// counts, and throws and catches something itself.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

namespace {

volatile sig_atomic_t ticks;
volatile int caught;

void throw_one(int what) {
  if (what != 0) throw what;
}

void tick(int signal) {
  ticks = ticks + 1;
  if (ticks % 4 != 0) return;
  try {
    throw_one(signal);
  } catch (int what) {
    caught = caught + what;
  }
}

int draw(int (*volatile library)(unsigned*), unsigned* seed) {
  try {
    return library(seed);
  } catch (...) {
    return -1;
  }
}

}  // namespace

int main(int count, char** words) {
  int const enough = count > 1 ? atoi(words[1]) : 2000;
  struct sigaction action = {};
  action.sa_handler = tick;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  itimerval const often = {{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &often, nullptr);
  unsigned seed = 1;
  unsigned sum = 0;
  while (ticks < enough) sum = sum * 3 + static_cast<unsigned>(draw(rand_r, &seed));
  itimerval const never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  printf("%d\n", caught >= enough / 4 * SIGALRM && sum != 0);
}
