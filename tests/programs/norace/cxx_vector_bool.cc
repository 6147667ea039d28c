// rule: bytes
// claim: neighbouring elements of a vector<char> do not
// expect: nothing
// flags: -std=c++20
#include <vector>

#include "../order.h"

std::vector<char> flags(64);

static void* first(void*) {
  flags[3] = true;
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  flags[4] = true;
  return nullptr;
}

int main() { run2(first, second); }
