// rule: C++ threads
// claim: std::thread's join and jthread's destructor order
// expect: nothing
// flags: -std=c++20
#include <thread>

#include "../order.h"

int data;

int main() {
  std::thread([] { data = 1; }).join();
  {
    std::jthread worker([] {
      data = 2;
      step();
    });
    await(1);
  }
  use(data);
}
