// rule: libraries
// claim: any number of threads may go through one set at once, in both directions
// flags: -std=c++11
// expect: nothing
#include <set>

#include "../order.h"

std::multiset<int> numbers;

static void* body(void*) {
  long sum = 0;
  for (int i = 0; i < 20; ++i) {
    for (int const number : numbers) sum += number;
    for (auto at = numbers.rbegin(); at != numbers.rend(); ++at) sum -= *at;
    sum += *--numbers.end();
  }
  use(sum);
  return nullptr;
}

int main() {
  for (int i = 0; i < 200; ++i) numbers.insert(i * 37 % 101);
  run3(body, body, body);
}
