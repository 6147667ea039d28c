// rule: allocation
// claim: delete[] after the join does not race
// expect: nothing
#include "../order.h"

struct Element {
  long value = 1;
  ~Element() { use(*const_cast<volatile long*>(&value)); }
};
Element* elements;

static void* writer(void*) {
  elements[2].value = 5;
  step();
  return nullptr;
}

int main() {
  elements = new Element[4];
  pthread_t t = start(writer);
  await(1);
  join(t);
  delete[] elements;
}
