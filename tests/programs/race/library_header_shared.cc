// rule: libraries
// claim: races in one function of a library's header are told by who calls it: each of two vectors has its own
// expect: race write@a read@b
// expect: race write@c read@d
#include <vector>

#include "../order.h"

std::vector<int> one(4), two(4);

static void* first(void*) {
  one.at(1) = 5;  // @a
  two.at(2) = 5;  // @c
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  use(one.at(1));  // @b
  use(two.at(2));  // @d
  return nullptr;
}

int main() { run2(first, second); }
