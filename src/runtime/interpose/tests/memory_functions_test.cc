// What functions on blocks of memory read and write.
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "runtime/interpose/tests/fake_lane.h"

extern "C" void* __memcpy_chk(void*, const void*, size_t, size_t);
extern "C" void* __memset_chk(void*, int, size_t, size_t);

static char a[64], b[64];
static wchar_t wa[16], wb[16];

int main() {
  record_name(a, sizeof a, "a");
  record_name(b, sizeof b, "b");
  record_name(wa, sizeof wa, "wa");
  record_name(wb, sizeof wb, "wb");
  EXPECT(CHECK(memcpy(a, b, 10) == a), "read b 10; write a 10");
  EXPECT(memcpy(a, b, 0), "");
  EXPECT(memmove(a + 1, a, 10), "read a 10; write a+1 10");
  EXPECT(CHECK(mempcpy(a, b, 10) == a + 10), "read b 10; write a 10");
  EXPECT(memset(a, 'x', 20), "write a 20");
  CHECK(a[0] == 'x' && a[19] == 'x' && a[20] == 0);
  EXPECT(bzero(b, 20), "write b 20");
  EXPECT(explicit_bzero(b, 20), "write b 20");
  EXPECT(bcopy(a, b, 4), "read a 4; write b 4");
  EXPECT(CHECK(memcmp(a, b, 10) > 0), "read a 5; read b 5");  // up to the first difference
  EXPECT(CHECK(memcmp(a, b, 4) == 0), "read a 4; read b 4");
  EXPECT(CHECK(bcmp(a, b, 4) == 0), "read a 4; read b 4");
  EXPECT(CHECK(memchr(a, 0, 64) == a + 20), "read a 21");
  EXPECT(CHECK(memchr(a, 'y', 10) == nullptr), "read a 10");
  EXPECT(CHECK(memrchr(a, 'x', 30) == a + 19), "read a+19 11");
  EXPECT(CHECK(rawmemchr(a, 0) == a + 20), "read a 21");
  EXPECT(CHECK(memmem(a, 30, "x\0", 2) == a + 19), "read a 21");
  EXPECT(CHECK(memccpy(b, a, 0, 40) == b + 21), "read a 21; write b 21");
  EXPECT(swab(a, b, 5), "read a 4; write b 4");
  EXPECT(__memcpy_chk(a, b, 3, 8), "read b 3; write a 3");
  EXPECT(__memset_chk(a, 0, 3, 8), "write a 3");
  EXPECT(wmemset(wa, L'q', 3), "write wa 12");
  EXPECT(wmemcpy(wb, wa, 3), "read wa 12; write wb 12");
  EXPECT(wmemmove(wb, wa, 2), "read wa 8; write wb 8");
  EXPECT(CHECK(wmemcmp(wb, wa, 4) == 0), "read wb 16; read wa 16");
  EXPECT(CHECK(wmemchr(wa, 0, 16) == wa + 3), "read wa 16");
  return 0;
}
