// Calls that fill the program's places.
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <math.h>
#include <regex.h>
#include <search.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "runtime/interpose/tests/fake_lane.h"

#ifndef TEST_IS_STATIC
// One or two of each file of results.
static void test_one_line_each() {
  record_forget_names();
  tm date = {};
  date.tm_mday = 1;
  char text[64], pattern[] = "b", path[] = "/", made[] = "/tmp/deadheat-test.XXXXXX";
  struct statvfs volume;
  int exponent = 0, number = 0;
  regex_t expression;
  regmatch_t match[2];
  in_addr address;
  gid_t groups[64];
  float sine = 0, cosine = 0;
  unsigned state = 1;
  mbstate_t shift = {};
  wchar_t wide[8];
  const char* narrow = "abc";
  hsearch_data table = {};
  ENTRY* entry = nullptr;
  record_name(&date, sizeof date, "date");
  record_name(text, sizeof text, "text");
  record_name(pattern, sizeof pattern, "pattern");
  record_name(path, sizeof path, "path");
  record_name(made, sizeof made, "made");
  record_name(&volume, sizeof volume, "volume");
  record_name(&exponent, sizeof exponent, "exponent");
  record_name(&number, sizeof number, "number");
  record_name(&expression, sizeof expression, "expression");
  record_name(match, sizeof match, "match");
  record_name(&address, sizeof address, "address");
  record_name(&sine, sizeof sine, "sine");
  record_name(&cosine, sizeof cosine, "cosine");
  record_name(&state, sizeof state, "state");
  record_name(wide, sizeof wide, "wide");
  record_name(&narrow, sizeof narrow, "narrow");
  record_name(&entry, sizeof entry, "entry");
  record_name(&environ, sizeof environ, "environ");
  EXPECT(mktime(&date), "read date 24; read date+32 4; write date 56");
  EXPECT(CHECK(strptime("12:30", "%H:%M", &date) != nullptr), "write date+4 4; write date+8 4");
  EXPECT(asctime_r(&date, text), "read date 28; write text 26");
  EXPECT(CHECK(statvfs(path, &volume) == 0), "read path 2; write volume 112");
  EXPECT(CHECK(statvfs("/nonexistent", &volume) == -1), "");
  EXPECT(CHECK(access(reinterpret_cast<char*>(1), 0) == -1 && errno == EFAULT), "");
  EXPECT(CHECK(access(path, 0) == 0), "read path 2");
  EXPECT(number = mkstemp(made), "read made 26; write made+19 6");
  unlink(made);
  EXPECT(CHECK(confstr(_CS_PATH, text, 4) > 4), "write text 4");
  EXPECT(setenv("DEADHEAT_X", "1", 1), "write environ 8");
  EXPECT(CHECK(getenv("DEADHEAT_X") != nullptr), "read environ 8");
  EXPECT(frexp(8.5, &exponent), "write exponent 4");
  EXPECT(sincosf(1, &sine, &cosine), "write sine 4; write cosine 4");
  EXPECT(rand_r(&state), "read state 4; write state 4");
  EXPECT(regcomp(&expression, pattern, 0), "read pattern 2; write expression 64");
  EXPECT(CHECK(regexec(&expression, "abc", 2, match, 0) == 0), "read expression 64; write match 16");
  EXPECT(CHECK(regexec(&expression, "xyz", 2, match, 0) != 0), "read expression 64");
  EXPECT(regfree(&expression), "write expression 64");
  EXPECT(CHECK(inet_pton(AF_INET, "1.2.3.4", &address) == 1), "write address 4");
  EXPECT(CHECK(inet_pton(AF_INET, "1.2.3", &address) == 0), "");
  EXPECT(CHECK(mbsrtowcs(wide, &narrow, 8, &shift) == 3), "read narrow 8; write wide 16; write narrow 8");
  CHECK(hcreate_r(10, &table) != 0);
  record_name(&table, sizeof table, "table");
  char key[] = "key";
  EXPECT(hsearch_r({key, nullptr}, ENTER, &entry, &table), "read table 16; write table+12 4; write entry 8");
  EXPECT(hsearch_r({key, nullptr}, ENTER, &entry, &table), "read table 16; write entry 8");
  hdestroy_r(&table);
  // The databases' libraries look at the environment, too.
  record_forget_names();
  record_name(&number, sizeof number, "number");
  number = 64;
  EXPECT(getgrouplist("root", 0, groups, &number), "read number 4; write number 4");
}
#endif

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
  EXPECT(gmtime_r(&now, &broken), "read now 8; write broken 56");
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
#ifndef TEST_IS_STATIC
  test_one_line_each();
#endif
  return 0;
}
