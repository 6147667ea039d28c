// rule: libraries
// claim: a push_back races with a reader of the same vector
// flags: -std=c++20
// expect: race any@a any@b
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../order.h"

std::vector<int> numbers{1, 2, 3};

int main() {
  numbers.reserve(100);
  std::thread writer([] {
    numbers.push_back(4);  // @a
    step();
  });
  std::thread reader([] {
    await(1);
    use(static_cast<long>(numbers.size()));  // @b
  });
  writer.join();
  reader.join();
}
