// rule: exceptions
// claim: the text of an exception that is read after one's own copy is gone races with its end in another thread
// flags: -std=c++20
// expect: race read@a free@b
#include <stdexcept>

#include "../order.h"

std::runtime_error *one, *two;

static void* first(void*) {
  const char* text = one->what();
  use(text[2]);
  delete one;
  use(text[3]);  // @a
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  use(two->what()[2]);
  delete two;  // @b
  return nullptr;
}

int main() {
  one = new std::runtime_error("a text that is long enough to be on the heap");
  two = new std::runtime_error(*one);
  run2(first, second);
}
