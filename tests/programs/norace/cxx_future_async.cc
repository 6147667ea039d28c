// rule: futures
// claim: get orders all that the asynchronous call did
// expect: nothing
// flags: -std=c++20
#include <future>

#include "../order.h"

int data;

int main() {
  std::future<int> result = std::async(std::launch::async, [] {
    data = 1;
    step();
    return 5;
  });
  await(1);
  use(result.get());
  use(data);
}
