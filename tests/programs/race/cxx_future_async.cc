// rule: futures
// claim: polling a future without success orders nothing
// flags: -std=c++20
// expect: race write@a read@b
#include <future>

#include "../order.h"

int data;

int main() {
  std::future<int> result = std::async(std::launch::async, [] {
    data = 1;  // @a
    step();
    await(2);
    return 5;
  });
  await(1);
  if (result.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready) abort();
  use(data);  // @b
  step();
  use(result.get());
}
