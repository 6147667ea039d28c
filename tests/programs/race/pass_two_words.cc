// rule: code shapes
// claim: two words that are copied together race each for itself, wherever they lie
// expect: race write@a read@b
// expect: race write@c read@d
#include <stdint.h>
#include <sys/mman.h>

#include "../order.h"

struct Words {
  long first, second;
};

// Sixteen bytes around a multiple of 16 MiB, where one piece of shadow memory ends.
static Words* at_border() {
  const uintptr_t size = uintptr_t{1} << 24;
  void* const block =
      mmap(nullptr, 3 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return reinterpret_cast<Words*>(((reinterpret_cast<uintptr_t>(block) + 2 * size) & ~(size - 1)) - 8);
}

static Words* border;
static Words inside[2];

__attribute__((noinline)) static void copy_there(const Words& from) {
  *border = from;  // @a
}
__attribute__((noinline)) static void copy_inside(const Words& from) {
  inside[0] = from;  // @c
}

static void* writer(void*) {
  copy_there({1, 2});
  copy_inside({3, 4});
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  use(border->second);   // @b
  use(inside[0].second);  // @d
  return nullptr;
}

int main() {
  border = at_border();
  run2(writer, reader);
}
