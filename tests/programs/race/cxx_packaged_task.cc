// rule: futures
// claim: the object that a packaged_task captured by reference is shared, and races
// flags: -std=c++20
// expect: race write@a read@b
#include <future>
#include <thread>

#include "../order.h"

int main() {
  int captured = 0;
  std::packaged_task<int()> task([&captured] {
    *const_cast<volatile int*>(&captured) = 1;  // @a
    step();
    return 1;
  });
  std::future<int> result = task.get_future();
  std::thread runner(std::move(task));
  await(1);
  use(*const_cast<volatile int*>(&captured));  // @b
  runner.join();
}
