// rule: futures
// claim: what is not the result, and comes after the getting, is not ordered by it
// expect: race write@a write@b
// flags: -std=c++20
#include <future>
#include <thread>

#include "../order.h"

int data;

int main() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread other([&] { promise.set_value_at_thread_exit(1); });
  std::thread third([&] {
    data = 1;  // @a
    step();
  });
  int const got = future.get();
  await(1);
  data = got;  // @b
  other.join();
  third.join();
}
