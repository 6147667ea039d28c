// rule: bytes
// claim: neighbouring elements of a vector<bool> share a word and race
// flags: -std=c++20
// expect: race any@a any@b
#include <vector>

#include "../order.h"

std::vector<bool> flags(64);

static void* first(void*) {
  flags[3] = true;  // @a
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  flags[4] = true;  // @b
  return nullptr;
}

int main() { run2(first, second); }
