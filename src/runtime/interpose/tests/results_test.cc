// Calls that fill the program's places.
#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/interpose/tests/fake_lane.h"

int main() {
  time_t now = 0;
  timespec clock = {};
  timeval day = {};
  tm broken = {};
  struct stat status = {};
  char text[32];
  int code = 0;
  record_name(&now, sizeof now, "now");
  record_name(&clock, sizeof clock, "clock");
  record_name(&day, sizeof day, "day");
  record_name(&broken, sizeof broken, "broken");
  record_name(&status, sizeof status, "status");
  record_name(text, sizeof text, "text");
  record_name(&code, sizeof code, "code");
  EXPECT(time(&now), "write now 8");
  EXPECT(time(nullptr), "");
  EXPECT(clock_gettime(CLOCK_MONOTONIC, &clock), "write clock 16");
  EXPECT(CHECK(clock_gettime(12345, &clock) == -1 && errno == EINVAL), "");
  EXPECT(gettimeofday(&day, nullptr), "write day 16");
  EXPECT(gmtime_r(&now, &broken), "write broken 56");
  EXPECT(CHECK(strftime(text, 32, "%Y", &broken) == 4), "read broken 56; write text 5");
  EXPECT(CHECK(stat("/", &status) == 0), "write status 144");
  EXPECT(CHECK(stat("/nonexistent", &status) == -1), "");
  EXPECT(CHECK(fstat(0, &status) == 0), "write status 144");
  EXPECT(CHECK(getrandom(text, 16, 0) == 16), "write text 16");
  pid_t const child = fork();
  if (child == 0) _exit(3);
  EXPECT(CHECK(waitpid(child, &code, 0) == child && WEXITSTATUS(code) == 3), "write code 4");
  EXPECT(CHECK(waitpid(child, &code, 0) == -1 && errno == ECHILD), "");
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  int value = 0;
  socklen_t size = sizeof value;
  record_name(&value, sizeof value, "value");
  record_name(&size, sizeof size, "size");
  EXPECT(CHECK(getsockopt(ends[0], SOL_SOCKET, SO_TYPE, &value, &size) == 0), "write size 4; write value 4");
  return 0;
}
