// rule: idioms
// claim: a pool with a queue, a mutex and a condition is correct
// expect: nothing
// flags: -std=c++20
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "../order.h"

class Pool {
 public:
  explicit Pool(int size) {
    for (int i = 0; i < size; i++) threads_.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      std::lock_guard guard(mutex_);
      done_ = true;
    }
    condition_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void add(std::function<void()> task) {
    {
      std::lock_guard guard(mutex_);
      tasks_.push_back(std::move(task));
    }
    condition_.notify_one();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      condition_.wait(lock, [this] { return done_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }
  std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<std::function<void()>> tasks_;
  bool done_ = false;
  std::vector<std::thread> threads_;
};

int main() {
  std::vector<long> results(20);
  {
    Pool pool(2);
    for (int i = 0; i < 20; i++) pool.add([&results, i] { results[i] = i; });
  }
  long sum = 0;
  for (long result : results) sum += result;
  use(sum);
}
