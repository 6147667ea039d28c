// rule: C++20 synchronisation
// claim: std::barrier orders phases, and its completion function between them
// expect: nothing
// flags: -std=c++20
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
    data = 1;
    barrier.arrive_and_wait();
    use(completions);
    step();
    barrier.arrive_and_wait();
  });
  std::thread second([] {
    barrier.arrive_and_wait();
    use(completions);
    await(1);
    use(data);
    barrier.arrive_and_wait();
  });
  first.join();
  second.join();
}
