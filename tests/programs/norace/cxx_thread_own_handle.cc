// rule: C++ threads
// claim: a thread may look at the std::thread whose constructor started it
// flags: -std=c++20
// expect: nothing
#include <thread>

#include "../order.h"

static bool is(const std::thread& thread) { return thread.get_id() == std::this_thread::get_id(); }

int main() {
  std::thread worker([&worker] {
    await(1);
    if (!is(worker)) abort();
  });
  step();
  worker.join();
}
