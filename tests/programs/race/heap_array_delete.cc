// rule: allocation
// claim: the destructors of delete[] race with an unordered write of an element
// expect: race write@a any@b
// allow: race write@a free@c
#include "../order.h"

struct Element {
  long value = 1;
  ~Element() { use(*const_cast<volatile long*>(&value)); }  // @b
};
Element* elements;

static void* writer(void*) {
  elements[2].value = 5;  // @a
  step();
  return nullptr;
}

int main() {
  elements = new Element[4];
  pthread_t t = start(writer);
  await(1);
  delete[] elements;  // @c
  join(t);
}
