// rule: once
// claim: call_once orders, also after a call that threw
// expect: nothing
#include <mutex>
#include <stdexcept>

#include "../order.h"

int value;
std::once_flag flag, other;
int tries;

static void initialise() {
  if (tries++ == 0) throw std::runtime_error("again");
  value = 42;
}

static void* first(void*) {
  try {
    std::call_once(flag, initialise);
  } catch (const std::runtime_error&) {
  }
  std::call_once(flag, initialise);
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  std::call_once(flag, initialise);
  use(value);
  return nullptr;
}

int main() { run2(first, second); }
