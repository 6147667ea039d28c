// rule: libraries
// claim: inserting into a map, or erasing from it, races with a search that passes there
// flags: -std=c++17
// expect: race any@a any@b
// expect: race any@c any@d
#include <map>

#include "../order.h"

std::map<int, int> grows, shrinks;

static void* first(void*) {
  grows.emplace(40, 4);  // @a
  shrinks.erase(40);     // @c
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  // All that the search reads of the map and the other thread writes is the link that leads to the element.
  use(static_cast<long>(grows.count(35)));    // @b
  use(static_cast<long>(shrinks.count(35)));  // @d
  return nullptr;
}

int main() {
  for (int i : {20, 10, 30}) grows[i] = i;
  for (int i : {20, 10, 30, 40}) shrinks[i] = i;
  run2(first, second);
}
