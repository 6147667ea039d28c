// rule: C++20 synchronisation
// claim: release orders before the acquire that took its token
// expect: nothing
// flags: -std=c++20
#include <semaphore>
#include <thread>

#include "../order.h"

int data;
std::counting_semaphore<8> semaphore{0};

int main() {
  std::thread releaser([] {
    data = 1;
    semaphore.release();
    step();
  });
  await(1);
  semaphore.acquire();
  use(data);
  releaser.join();
}
