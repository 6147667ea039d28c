// rule: libraries
// claim: the same calls under a mutex do not race
// expect: nothing
#include <mutex>
#include <sstream>

#include "../order.h"

static const char* volatile words = "a text of more than sixteen characters";
std::stringbuf one, two;
std::mutex mutex;

static void* first(void*) {
  {
    std::lock_guard guard(mutex);
    one.pubseekpos(0), one.sputn(words, 38);
    two.pubseekpos(0), two.sputn(words, 38);
  }
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  std::lock_guard guard(mutex);
  one.pubseekpos(0), one.sputn(words, 38);
  two.pubseekpos(0), two.sputn(words, 38);
  return nullptr;
}

int main() {
  one.sputn(words, 38);
  two.sputn(words, 38);
  run2(first, second);
}
