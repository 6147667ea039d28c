// rule: condition variables
// claim: condition_variable and condition_variable_any with predicates are correct
// expect: nothing
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
    use(data);
  });
  {
    std::unique_lock lock(mutex);
    data = 1;
    ready = true;
  }
  condition.notify_all();
  step();
  waiter.join();
}
