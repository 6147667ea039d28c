// rule: atomic wait
// claim: a relaxed wait learns nothing from being notified
// flags: -std=c++20
// expect: race write@a read@b
#include <atomic>
#include <thread>

#include "../order.h"

int data;
std::atomic<int> gate{0};

int main() {
  std::thread waiter([] {
    gate.wait(0, std::memory_order_relaxed);
    use(data);  // @b
  });
  doze(20000);
  data = 1;  // @a
  gate.store(1, std::memory_order_release);
  gate.notify_one();
  waiter.join();
}
