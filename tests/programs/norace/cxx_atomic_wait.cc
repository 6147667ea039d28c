// rule: atomic wait
// claim: wait with acquire is ordered after the release store that ended it
// expect: nothing
// flags: -std=c++20
#include <atomic>
#include <thread>

#include "../order.h"

int data;
std::atomic<int> gate{0};

int main() {
  std::thread waiter([] {
    gate.wait(0, std::memory_order_acquire);
    use(data);
  });
  doze(20000);
  data = 1;
  gate.store(1, std::memory_order_release);
  gate.notify_one();
  waiter.join();
}
