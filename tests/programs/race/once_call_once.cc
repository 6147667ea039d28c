// rule: once
// claim: a call_once of another flag orders nothing
// expect: race write@a read@b
#include <mutex>
#include <stdexcept>

#include "../order.h"

int value;
std::once_flag flag, other;
int tries;

static void initialise() {
  value = 42;  // @a
}

static void* first(void*) {
  std::call_once(flag, initialise);
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  std::call_once(other, [] { tries = 1; });
  use(value);  // @b
  return nullptr;
}

int main() { run2(first, second); }
