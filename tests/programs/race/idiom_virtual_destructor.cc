// rule: idioms
// claim: a virtual call races with the destructor that changes the object's type
// expect: race read@a any@b
#include "../order.h"

struct Base {
  virtual ~Base() { done(); }  // @b
  virtual void work() {}
  __attribute__((noinline)) void done() { asm volatile("" : : "r"(this) : "memory"); }
};
struct Derived : Base {
  ~Derived() override { done(); }  // @b
  void work() override { asm volatile("" : : "r"(this) : "memory"); }
};
Base* object;

static void* caller(void*) {
  object->work();  // @a
  step();
  return nullptr;
}

int main() {
  object = new Derived;
  pthread_t t = start(caller);
  await(1);
  delete object;  // @b
  join(t);
}
