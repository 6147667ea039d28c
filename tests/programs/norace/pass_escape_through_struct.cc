// rule: escaping locals
// claim: a local whose address goes into a heap object that stays private is not
// expect: nothing
#include "../order.h"

struct Holder {
  int* target;
};

static void* reader(void* argument) {
  auto* holder = static_cast<Holder*>(argument);
  await(1);
  use(holder->target != nullptr);
  return nullptr;
}

int main() {
  int local = 0;
  auto* holder = new Holder{&local};
  pthread_t t;
  pthread_create(&t, nullptr, reader, holder);
  *const_cast<volatile int*>(&local) = 1;
  step();
  join(t);
  delete holder;
}
