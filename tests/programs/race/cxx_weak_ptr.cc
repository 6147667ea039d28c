// rule: shared_ptr
// claim: a weak_ptr's lock does not protect the object's contents
// flags: -std=c++20
// expect: race write@a write@b
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
    auto locked = weak.lock();
    locked->value = 1;  // @a
    step();
    await(2);  // still an owner: its giving up would be a release
  });
  std::thread second([weak] {
    await(1);
    auto locked = weak.lock();
    locked->value = 2;  // @b
    step();
  });
  await(2);
  first.join();
  second.join();
}
