// rule: libraries
// claim: the first character of a string may be read while the third is written
// flags: -std=c++11
// expect: nothing
#include <string>

#include "../order.h"

std::string brief("abc"), longer("a text of more than sixteen characters");

static void* first(void*) {
  for (int i = 0; i < 100; ++i) {
    brief[2] = 'x';
    longer.at(2) = 'x';
  }
  return nullptr;
}

static void* second(void*) {
  for (int i = 0; i < 100; ++i) {
    use(brief[0]);
    use(longer.at(0));
    use(static_cast<long>(brief.size() + longer.capacity()));
  }
  return nullptr;
}

int main() { run2(first, second); }
