// rule: libraries
// claim: going through a set, forwards or backwards, races with an insertion where it passes
// flags: -std=c++11
// expect: race any@a any@c
// expect: race any@b any@d
#include <set>

#include "../order.h"

std::set<int> forwards, backwards;

static void* first(void*) {
  long sum = 0;
  for (int const i : forwards) sum += i;                                    // @a
  for (auto i = backwards.rbegin(); i != backwards.rend(); ++i) sum += *i;  // @b
  use(sum);
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  forwards.insert(15);   // @c
  backwards.insert(15);  // @d
  return nullptr;
}

int main() {
  for (int i : {20, 10, 30}) forwards.insert(i), backwards.insert(i);
  run2(first, second);
}
