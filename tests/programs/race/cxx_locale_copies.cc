// rule: libraries
// claim: a facet that is used after its thread's locale is gone races with its destruction by another
// expect: race read@a any@b
#include <locale>

#include "../order.h"

struct Facet : std::locale::facet {
  static std::locale::id id;
  int value = 7;
  ~Facet() override { value = 0; }  // @b
};
std::locale::id Facet::id;
std::locale *one, *two;

static void* first(void*) {
  const Facet& facet = std::use_facet<Facet>(*one);
  delete one;
  use(facet.value);  // @a
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  use(std::use_facet<Facet>(*two).value);
  delete two;  // @b
  return nullptr;
}

int main() {
  one = new std::locale(std::locale::classic(), new Facet);
  two = new std::locale(*one);
  run2(first, second);
}
