// rule: exceptions
// claim: an exception that is destroyed while another thread still reads its text, not that of a copy, races
// flags: -std=c++20
// expect: race read@a free@b
#include <stdexcept>

#include "../order.h"

std::runtime_error *one, *two;

static void* first(void*) {
  const char* text = two->what();
  use(text[2]);  // @a
  delete one;
  step();
  use(text[3]);  // @a
  step();
  return nullptr;
}

static void* second(void*) {
  await(2);
  use(two->what()[2]);
  delete two;  // @b
  return nullptr;
}

int main() {
  one = new std::runtime_error("a text that is long enough to be on the heap");
  two = new std::runtime_error(*one);
  run2(first, second);
}
