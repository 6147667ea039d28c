// rule: C++ threads
// claim: a jthread that is still running races with its starter
// flags: -std=c++20
// expect: race write@a read@b
#include <thread>

#include "../order.h"

int data;

int main() {
  std::thread([] { data = 1; }).join();
  {
    std::jthread worker([] {
      data = 2;  // @a
      step();
    });
    await(1);
    use(data);  // @b
  }
}
