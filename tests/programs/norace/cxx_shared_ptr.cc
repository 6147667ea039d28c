// rule: shared_ptr
// claim: the last owner's destruction is ordered after every other owner's use
// expect: nothing
// flags: -std=c++20
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
  std::thread first([shared]() mutable {
    shared->values[0] = 1;
    shared.reset();
    step();
  });
  std::thread second([shared]() mutable {
    shared->values[1] = 1;
    shared.reset();
    step();
  });
  shared->values[2] = 1;
  await(1);
  shared.reset();
  first.join();
  second.join();
}
