// rule: futures
// claim: what the promiser does after set_value is not ordered
// flags: -std=c++20
// expect: race write@a read@b
#include <future>
#include <thread>

#include "../order.h"

int data;

int main() {
  std::promise<int> promise;
  std::shared_future<int> shared = promise.get_future().share();
  auto read = [shared] {
    use(shared.get());
    await(1);
    use(data);  // @b
  };
  std::thread first(read);
  std::thread promiser([&promise] {
    promise.set_value(3);
    data = 1;  // @a
    step();
  });
  first.join();
  promiser.join();
}
