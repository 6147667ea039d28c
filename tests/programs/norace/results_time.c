// rule: library results
// claim: calls about time fill places of each thread's own, from one that all read
// expect: nothing
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "../order.h"

static time_t const when = 1000000;
static struct tm const fixed = {.tm_mday = 5, .tm_year = 100};

static void* body(void* _) {
  for (int i = 0; i < 50; i++) {
    struct tm own, parsed;
    struct timespec now;
    struct itimerval interval;
    char text[64];
    if (!localtime_r(&when, &own) || mktime(&own) != when || !gmtime_r(&when, &own)) abort();
    if (!asctime_r(&fixed, text) || !ctime_r(&when, text)) abort();
    memset(&parsed, 0, sizeof parsed);
    if (!strptime("12:30", "%H:%M", &parsed) || parsed.tm_min != 30) abort();
    timespec_get(&now, TIME_UTC);
    getitimer(ITIMER_REAL, &interval);
    if (strftime(text, sizeof text, "%c", &fixed) == 0) abort();
    use(parsed.tm_hour + now.tv_nsec + interval.it_value.tv_sec + text[1]);
  }
  return NULL;
}

int main(void) { run2(body, body); }
