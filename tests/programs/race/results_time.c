// rule: library results
// claim: what calls about time fill, or read, races with who reads or writes it meanwhile
// expect: race any@a any@aa
// expect: race any@b any@bb
// expect: race any@c any@cc
// expect: race any@d any@dd
// expect: race any@e any@ee
// expect: race any@f any@ff
// expect: race any@g any@gg
// expect: race any@h any@hh
#define _GNU_SOURCE
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "../order.h"

struct tm broken = {.tm_mday = 5, .tm_year = 100};
struct tm parsed;
struct tm written = {.tm_mday = 5, .tm_year = 100};
char text[64];
struct tm named = {.tm_mday = 5, .tm_year = 100};
char name[64];
struct timespec now;
struct itimerval interval;
timer_t timer;
struct sigevent event = {.sigev_notify = SIGEV_NONE};
time_t when = 1;

static void* first(void* _) {
  mktime(&broken);                                // @a
  strptime("12:30", "%H:%M", &parsed);            // @b
  asctime_r(&written, text);                      // @c
  asctime_r(&named, name);                        // @d
  timespec_get(&now, TIME_UTC);                   // @e
  getitimer(ITIMER_REAL, &interval);              // @f
  timer_create(CLOCK_MONOTONIC, &event, &timer);  // @g
  localtime(&when);                               // @h
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  use(broken.tm_wday);                // @aa
  use(parsed.tm_min);                 // @bb
  use(text[3]);                       // @cc
  named.tm_year = 101;                // @dd
  use(now.tv_sec);                    // @ee
  use(interval.it_value.tv_sec);      // @ff
  use((long)timer);                   // @gg
  use(gmtime(&(time_t){2})->tm_sec);  // @hh
  return NULL;
}

int main(void) { run2(first, second); }
