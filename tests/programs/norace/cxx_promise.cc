// rule: futures
// claim: set_value orders what came before it, for every holder of a shared_future
// expect: nothing
// flags: -std=c++20
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
    use(data);
  };
  std::thread first(read);
  std::thread promiser([&promise] {
    data = 1;
    promise.set_value(3);
    step();
  });
  std::thread second(read);
  second.join();
  first.join();
  promiser.join();
}
