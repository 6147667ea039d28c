// rule: futures
// claim: a packaged_task's future orders the task before who waits for it
// expect: nothing
// flags: -std=c++20
#include <future>
#include <thread>

#include "../order.h"

int main() {
  int captured = 0;
  std::packaged_task<int()> task([&captured] {
    *const_cast<volatile int*>(&captured) = 1;
    step();
    return 1;
  });
  std::future<int> result = task.get_future();
  std::thread runner(std::move(task));
  await(1);
  result.wait();
  use(*const_cast<volatile int*>(&captured));
  runner.join();
}
