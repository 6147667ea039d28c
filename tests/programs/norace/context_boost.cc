// rule: contexts
// claim: contexts of Boost may go on in other threads, and end anywhere
// flags: -std=c++20 -lboost_context
// expect: nothing
#include <atomic>
#include <boost/context/fiber.hpp>
#include <thread>

#include "../order.h"

namespace context = boost::context;

struct Task {
  context::fiber fiber;
  int turns = 0;
};

constexpr std::memory_order kHandOver = std::memory_order_seq_cst;
constexpr int kRounds = 2000;
int data;
std::atomic<int> done;

// Goes on in another thread, deep in calls, and ends there.
__attribute__((noinline)) context::fiber deep(context::fiber&& caller, Task* task, int depth) {
  if (depth > 0) return deep(std::move(caller), task, depth - 1);
  ++task->turns;
  return std::move(caller).resume();
}

int main() {
  Task task;
  task.fiber = context::fiber([&task](context::fiber&& caller) {
    while (task.turns < 20) caller = deep(std::move(caller), &task, task.turns);
    return std::move(caller);
  });
  // Threads that come and go, one after the other.
  while (task.fiber) std::thread([&task] { task.fiber = std::move(task.fiber).resume(); }).join();
  // Contexts that are many, and some of them left in the middle.
  std::thread first([] {
    data = 1;
    done.store(1, kHandOver);
    step();
  });
  await(1);
  while (done.load(kHandOver) == 0) {
  }
  for (int i = 0; i < kRounds; ++i) {
    context::fiber one([](context::fiber&& caller) {
      caller = std::move(caller).resume();
      return std::move(caller);
    });
    one = std::move(one).resume();
    if (i % 2 == 0) one = std::move(one).resume();
  }
  data = 2;
  first.join();
}
