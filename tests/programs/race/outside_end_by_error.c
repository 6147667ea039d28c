// rule: outside
// claim: what comes after the closing of an end is not ordered before who learns of it by an error, and what does not fail has learnt nothing
// expect: race write@late write@heard
// expect: race write@early write@went_well
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "../order.h"

int late, early;
int written[2], open_still[2];

static void* closes(void* _) {
  close(written[0]);
  late = 1;   // @late
  early = 1;  // @early
  char c;
  if (read(open_still[0], &c, 0) != 0) abort();
  step();
  return NULL;
}

static void* hears(void* _) {
  await(1);
  if (write(open_still[1], "x", 1) != 1) abort();
  early = 2;  // @went_well
  if (write(written[1], "x", 1) != -1 || errno != EPIPE) abort();
  late = 2;  // @heard
  return NULL;
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  if (pipe(written) != 0 || pipe(open_still) != 0) abort();
  run2(closes, hears);
}
