// rule: C++ threads
// claim: a thread that looks at the std::thread that it was moved to races with the move
// flags: -std=c++20
// expect: race any@a any@b
#include <thread>

#include "../order.h"

static bool is(const std::thread& thread) { return thread.get_id() == std::this_thread::get_id(); }  // @b

int main() {
  std::thread worker;
  worker = std::thread([&worker] {  // @a
    await(1);
    if (!is(worker)) abort();  // @b
  });
  step();
  worker.join();
}
