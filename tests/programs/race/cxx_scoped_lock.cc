// rule: mutexes
// claim: a scoped_lock of two mutexes has no mutex in common with a lock of a third
// flags: -std=c++20
// expect: race any@a any@b
#include <mutex>
#include <thread>

#include "../order.h"

std::mutex one;
std::recursive_mutex two;
std::timed_mutex three;
int data;

int main() {
  std::thread first([] {
    std::scoped_lock lock(one, two);
    std::lock_guard again(two);
    data++;  // @a
    step();
  });
  std::thread second([] {
    await(1);
    std::unique_lock lock(three, std::chrono::seconds(10));
    data++;  // @b
  });
  first.join();
  second.join();
}
