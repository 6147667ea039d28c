// rule: mutexes
// claim: scoped_lock, recursive_mutex and timed_mutex order
// expect: nothing
// flags: -std=c++20
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
    data++;
    step();
  });
  std::thread second([] {
    await(1);
    std::unique_lock lock(one);
    std::unique_lock other(three, std::chrono::seconds(10));
    data++;
  });
  first.join();
  second.join();
}
