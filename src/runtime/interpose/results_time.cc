// Time, broken down and written out, and timers.
#include "runtime/interpose/results.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <threads.h>
#include <time.h>

using namespace deadheat;
using namespace deadheat::interpose;

namespace {
// The day of the week and of the year follow from the rest.
bool reads_date(const Call& call, const tm* when) {
  return call.reads(when, 6 * sizeof(int)) && call.reads(&when->tm_isdst);
}
}  // namespace

TELLS(char*, asctime_r, (const tm* when, char* to), (when, to), call.reads(when, 7 * sizeof(int)),
      result&& call.writes_text(to))
TELLS(char*, ctime_r, (const time_t* when, char* to), (when, to), call.reads(when),
      result&& call.writes_text(to))
TELLS(time_t, mktime, (tm * when), (when), reads_date(call, when), result != -1 && call.writes(when))
TELLS(time_t, timegm, (tm * when), (when), reads_date(call, when), result != -1 && call.writes(when))
TELLS(time_t, timelocal, (tm * when), (when), reads_date(call, when), result != -1 && call.writes(when))
// The result of these is one for all threads.
TELLS(tm*, localtime, (const time_t* when), (when), call.reads(when), result&& call.writes(result))
TELLS(tm*, gmtime, (const time_t* when), (when), call.reads(when), result&& call.writes(result))
TELLS(char*, asctime, (const tm* when), (when), call.reads(when, 7 * sizeof(int)),
      result&& call.writes_text(result))
TELLS(char*, ctime, (const time_t* when), (when), call.reads(when), result&& call.writes_text(result))

TELLS(size_t, wcsftime, (wchar_t * to, size_t room, const wchar_t* format, const tm* when),
      (to, room, format, when), call.text(format) && call.reads(when),
      result != 0 && call.writes(to, (result + 1) * sizeof *to))
TELLS(size_t, strftime_l, (char* to, size_t room, const char* format, const tm* when, locale_t locale),
      (to, room, format, when, locale), call.text(format) && call.reads(when),
      result != 0 && call.writes(to, result + 1))
// Only the fields that the format names are set: those that have another value now certainly were.
INTERPOSE(char*, strptime, const char* from, const char* format, tm* to) {
  Call const call(CALLER);
  call.text(format);
  tm before;
  __builtin_memcpy_inline(&before, to, sizeof before);
  char* const end = REAL(strptime)(from, format, to);
  if (end != nullptr) call.reads(from, static_cast<size_t>(end - from));
  call.writes_changes(to, before);
  return end;
}

TELLS(int, timespec_get, (timespec * now, int base), (now, base), NOTHING, result != 0 && call.writes(now))
TELLS(int, timespec_getres, (timespec * step, int base), (step, base), NOTHING,
      result != 0 && call.writes(step))
TELLS(int, clock_settime, (clockid_t clock, const timespec* now), (clock, now), call.reads(now), NOTHING)
TELLS(int, settimeofday, (const timeval* now, const struct timezone* zone), (now, zone), call.reads(now),
      NOTHING)
TELLS(int, clock_nanosleep, (clockid_t clock, int flags, const timespec* wait, timespec* left),
      (clock, flags, wait, left), call.reads(wait),
      result == EINTR && (flags & TIMER_ABSTIME) == 0 && call.writes(left))
TELLS(int, thrd_sleep, (const timespec* wait, timespec* left), (wait, left), call.reads(wait),
      result == -1 && call.writes(left))
TELLS(int, adjtime, (const timeval* by, timeval* old), (by, old), call.reads(by),
      result == 0 && call.writes(old))
TELLS(int, adjtimex, (timex * to), (to), call.reads(to), result != -1 && call.writes(to))
TELLS(int, clock_adjtime, (clockid_t clock, timex* to), (clock, to), call.reads(to),
      result != -1 && call.writes(to))
TELLS(int, ntp_gettimex, (ntptimeval * to), (to), NOTHING, result != -1 && call.writes(to))
TELLS(int, clock_getcpuclockid, (pid_t process, clockid_t* clock), (process, clock), NOTHING,
      result == 0 && call.writes(clock))
TELLS(int, timer_create, (clockid_t clock, sigevent* event, timer_t* timer), (clock, event, timer),
      call.reads(event), result == 0 && call.writes(timer))
TELLS(int, timer_gettime, (timer_t timer, itimerspec* to), (timer, to), NOTHING,
      result == 0 && call.writes(to))
TELLS(int, timerfd_gettime, (int fd, itimerspec* to), (fd, to), NOTHING, result == 0 && call.writes(to))
TELLS(int, getitimer, (int which, itimerval* to), (which, to), NOTHING, result == 0 && call.writes(to))
