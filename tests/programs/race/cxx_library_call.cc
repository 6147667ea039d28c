// rule: libraries
// claim: an access that the C++ library makes is shown at the line that called the library
// expect: race write@a write@c
// expect: race write@b write@d
// allow: race any@a any@c
// allow: race any@b any@d
#include <string>

#include "../order.h"

// Long enough that the characters are copied by the library, not by inlined code.
static const char* volatile words = "a text of more than sixteen characters";
std::string one, two;

static void* first(void*) {
  one.assign(words);  // @a
  two.assign(words);  // @b
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  one.assign(words);  // @c
  two.assign(words);  // @d
  return nullptr;
}

int main() {
  one.reserve(1000);
  two.reserve(1000);
  run2(first, second);
}
