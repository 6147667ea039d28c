// rule: allocation
// claim: blocks of aligned_alloc, posix_memalign and aligned new race like others
// expect: race write@a write@b
// expect: race write@c write@d
// expect: race write@e write@f
#include "../order.h"

struct alignas(64) Line {
  long values[8];
};
Line *from_c, *from_posix, *from_new;

static void* first(void*) {
  from_c->values[1] = 1;      // @a
  from_posix->values[7] = 1;  // @c
  from_new->values[3] = 1;    // @e
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  from_c->values[1] = 2;      // @b
  from_posix->values[7] = 2;  // @d
  from_new->values[3] = 2;    // @f
  return nullptr;
}

int main() {
  from_c = static_cast<Line*>(aligned_alloc(64, sizeof(Line)));
  void* block;
  if (posix_memalign(&block, 64, sizeof(Line)) != 0) abort();
  from_posix = static_cast<Line*>(block);
  from_new = new Line;
  run2(first, second);
  free(from_c);
  free(from_posix);
  delete from_new;
}
