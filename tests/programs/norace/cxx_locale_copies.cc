// rule: libraries
// claim: a facet that several locales share is destroyed by the last one with no alarm
// expect: nothing
#include <locale>

#include "../order.h"

struct Facet : std::locale::facet {
  static std::locale::id id;
  int value = 7;
  ~Facet() override { value = 0; }
};
std::locale::id Facet::id;
std::locale *one, *two;

static void* first(void*) {
  use(std::use_facet<Facet>(*one).value);
  delete one;
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  use(std::use_facet<Facet>(*two).value);
  delete two;
  return nullptr;
}

int main() {
  one = new std::locale(std::locale::classic(), new Facet);
  two = new std::locale(*one);
  run2(first, second);
}
