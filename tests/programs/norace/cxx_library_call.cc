// rule: libraries
// claim: the same calls under a mutex do not race
// expect: nothing
#include <mutex>
#include <string>

#include "../order.h"

// Long enough that the characters are copied by the library, not by inlined code.
static const char* volatile words = "a text of more than sixteen characters";
std::string one, two;
std::mutex mutex;

static void* first(void*) {
  {
    std::lock_guard guard(mutex);
    one.assign(words);
    two.assign(words);
  }
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  std::lock_guard guard(mutex);
  one.assign(words);
  two.assign(words);
  return nullptr;
}

int main() {
  one.reserve(1000);
  two.reserve(1000);
  run2(first, second);
}
