// rule: once
// claim: an execution of call_once that threw is ordered before the next one of the same flag
// expect: nothing
#include <mutex>

#include "../order.h"

int tries;
std::once_flag flag, other;

static void initialise() {
  if (tries++ == 0) throw 1;
}

static void* first(void*) {
  try {
    std::call_once(flag, initialise);
  } catch (int) {
  }
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  std::call_once(flag, initialise);
  return nullptr;
}

int main() { run2(first, second); }
