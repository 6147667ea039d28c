// rule: libraries
// claim: threads that use elements of their own, through one function of a library's header, do not race
// expect: nothing
#include <vector>

#include "../order.h"

std::vector<int> one(4), two(4);

static void* first(void*) {
  one.at(1) = 5;
  two.at(2) = 5;
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  use(one.at(2));
  use(two.at(1));
  return nullptr;
}

int main() { run2(first, second); }
