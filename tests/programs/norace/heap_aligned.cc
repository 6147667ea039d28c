// rule: allocation
// claim: each thread its own aligned blocks: no race
// expect: nothing
#include "../order.h"

struct alignas(64) Line {
  long values[8];
};
Line *from_c, *from_posix, *from_new;

static void* first(void*) {
  from_c->values[1] = 1;
  from_posix->values[7] = 1;
  from_new->values[3] = 1;
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  from_c->values[2] = 2;
  from_posix->values[6] = 2;
  from_new->values[4] = 2;
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
