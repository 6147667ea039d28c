// rule: condition variables
// claim: condition_variable_any orders by the lock it is given, not by its notification
// expect: race write@a read@b
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "../order.h"

std::shared_mutex mutex;
std::condition_variable_any condition;
bool ready = false;
int data;

int main() {
  std::thread waiter([] {
    std::shared_lock lock(mutex);
    condition.wait(lock, [] { return ready; });
    lock.unlock();
    await(1);
    use(data);  // @b
  });
  {
    std::unique_lock lock(mutex);
    ready = true;
  }
  condition.notify_all();
  data = 1;  // @a
  step();
  waiter.join();
}
