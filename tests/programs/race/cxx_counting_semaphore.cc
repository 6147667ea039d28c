// rule: C++20 synchronisation
// claim: a try_acquire that fails orders nothing
// flags: -std=c++20
// expect: race write@a read@b
#include <semaphore>
#include <thread>

#include "../order.h"

int data;
std::counting_semaphore<8> semaphore{0};

int main() {
  std::thread releaser([] {
    data = 1;  // @a
    step();
  });
  await(1);
  if (semaphore.try_acquire()) abort();
  use(data);  // @b
  releaser.join();
}
