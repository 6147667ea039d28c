// rule: shared_ptr
// claim: an object reached through a weak_ptr's lock is destroyed after its use
// expect: nothing
// flags: -std=c++20
#include <memory>
#include <thread>

#include "../order.h"

struct Object {
  int value = 0;
  int other = 0;
  ~Object() { use(value + other); }
};

int main() {
  auto shared = std::make_shared<Object>();
  std::weak_ptr<Object> weak = shared;
  std::thread first([weak] {
    if (auto locked = weak.lock()) locked->value = 1;
    step();
  });
  std::thread second([weak] {
    await(1);
    if (auto locked = weak.lock()) locked->other = 2;
    step();
  });
  await(2);
  shared.reset();
  first.join();
  second.join();
}
