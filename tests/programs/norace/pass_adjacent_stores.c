// rule: code shapes
// claim: neighbouring stores with a hole between them do not touch the hole
// expect: nothing
#include "../order.h"

_Alignas(8) struct {
  char a, b, hole, c;
  short d, e;
} s;

static void* writer(void* _) {
  s.a = 1;
  s.b = 2;
  s.c = 4;
  s.d = 5;
  s.e = 6;
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(s.hole);
  return NULL;
}

int main(void) { run2(writer, reader); }
