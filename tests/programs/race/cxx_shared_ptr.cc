// rule: shared_ptr
// claim: one shared_ptr object, read and assigned by two threads, races
// flags: -std=c++20
// expect: race any@a any@b
#include <memory>
#include <thread>

#include "../order.h"

struct Object {
  long values[4] = {};
  ~Object() {
    for (long value : values) use(value);
  }
};

int main() {
  auto shared = std::make_shared<Object>();
  std::thread first([&shared] {
    std::shared_ptr<Object> mine = shared;  // @a
    step();
  });
  std::thread second([&shared] {
    await(1);
    shared = nullptr;  // @b
  });
  first.join();
  second.join();
}
