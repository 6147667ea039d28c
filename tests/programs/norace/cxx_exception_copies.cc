// rule: exceptions
// claim: copies of an exception share their text and paths, which the last one frees with no alarm
// flags: -std=c++20
// expect: nothing
#include <filesystem>
#include <stdexcept>

#include "../order.h"

struct Both {
  std::runtime_error run{"a text that is long enough to be on the heap"};
  std::invalid_argument argument{"a text that is long enough to be on the heap"};
  std::filesystem::filesystem_error file{"a text", "/a/path/that/is/long/enough/to/be/on/the/heap", std::error_code()};
};
Both *one, *two;

static void look_at(Both* both) {
  use(both->run.what()[2]);
  use(both->argument.what()[2]);
  use(both->file.what()[2]);
  use(both->file.path1().native()[2]);
}

static void* first(void*) {
  look_at(one);
  delete one;
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  look_at(two);
  two->run = std::runtime_error("another");
  delete two;
  return nullptr;
}

int main() {
  one = new Both;
  two = new Both(*one);
  run2(first, second);
}
