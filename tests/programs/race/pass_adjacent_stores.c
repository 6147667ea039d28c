// rule: code shapes
// claim: neighbouring stores that the compiler may join race like the ones that were written
// expect: race write@a read@b
#include "../order.h"

_Alignas(8) struct {
  char a, b, hole, c;
  short d, e;
} s;

static void* writer(void* _) {
  s.a = 1;  // @a
  s.b = 2;  // @a
  s.hole = 3;  // @a
  s.c = 4;  // @a
  s.d = 5;  // @a
  s.e = 6;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(s.hole);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
