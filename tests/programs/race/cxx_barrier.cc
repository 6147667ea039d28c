// rule: C++20 synchronisation
// claim: a write of the next phase races with a reader that is still in the last
// flags: -std=c++20
// expect: race write@a read@b
#include <barrier>
#include <thread>

#include "../order.h"

int data, completions;

struct Complete {
  void operator()() noexcept { completions++; }
};
std::barrier<Complete> barrier{2};

int main() {
  std::thread first([] {
    barrier.arrive_and_wait();
    use(completions);
    data = 1;  // @a
    step();
    // What the library does inside the next wait may order its thread before another that is still in the last one.
    await(2);
    barrier.arrive_and_wait();
  });
  std::thread second([] {
    barrier.arrive_and_wait();
    use(completions);
    await(1);
    use(data);  // @b
    step();
    barrier.arrive_and_wait();
  });
  first.join();
  second.join();
}
