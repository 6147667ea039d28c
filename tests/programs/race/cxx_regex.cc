// rule: libraries
// claim: a regular expression that is assigned while another thread matches with it races
// expect: race any@a any@b
#include <regex>

#include "../order.h"

std::regex expression("a+");

static void* first(void*) {
  expression = std::regex("b+");  // @a
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  use(std::regex_match("bbb", expression));  // @b
  return nullptr;
}

int main() { run2(first, second); }
