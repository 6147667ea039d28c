// rule: libraries
// claim: an access that the C++ library makes is shown at the line that called the library
// expect: race write@a write@c
// expect: race write@b write@d
// allow: race any@a any@c
// allow: race any@b any@d
#include <sstream>

#include "../order.h"

static const char* volatile words = "a text of more than sixteen characters";
std::stringbuf one, two;

static void* first(void*) {
  one.pubseekpos(0), one.sputn(words, 38);  // @a
  two.pubseekpos(0), two.sputn(words, 38);  // @b
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  one.pubseekpos(0), one.sputn(words, 38);  // @c
  two.pubseekpos(0), two.sputn(words, 38);  // @d
  return nullptr;
}

int main() {
  one.sputn(words, 38);
  two.sputn(words, 38);
  run2(first, second);
}
