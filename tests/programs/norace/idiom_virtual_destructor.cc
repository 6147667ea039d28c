// rule: idioms
// claim: a virtual call before the join does not
// expect: nothing
#include "../order.h"

struct Base {
  virtual ~Base() { done(); }
  virtual void work() {}
  __attribute__((noinline)) void done() { asm volatile("" : : "r"(this) : "memory"); }
};
struct Derived : Base {
  ~Derived() override { done(); }
  void work() override { asm volatile("" : : "r"(this) : "memory"); }
};
Base* object;

static void* caller(void*) {
  object->work();
  step();
  return nullptr;
}

int main() {
  object = new Derived;
  pthread_t t = start(caller);
  await(1);
  join(t);
  delete object;
}
