// rule: libraries
// claim: a string of the old kind, changed in one thread, races with a copy that another one makes of it
// flags: -std=c++17 -D_GLIBCXX_USE_CXX11_ABI=0
// expect: race any@a any@b
#include <string>

#include "../order.h"

static std::string text("a text that is changed");

static void* first(void*) {
  text.append("d");  // @a
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  std::string const copy(text);         // @b
  use(static_cast<long>(copy.size()));  // @b
  return nullptr;
}  // @b

int main() { run2(first, second); }
