// rule: libraries
// claim: maps that each thread has for itself, or under one lock, may grow and shrink
// flags: -std=c++17
// expect: nothing
#include <map>
#include <mutex>

#include "../order.h"

std::map<int, int> shared;
std::mutex lock;

static long work(std::map<int, int>& map, int from) {
  long sum = 0;
  for (int i = 0; i < 300; ++i) {
    map[(i * 37 + from) % 101] += i;
    if (i % 3 == 0) map.erase((i * 11 + from) % 101);
    sum += static_cast<long>(map.count(i % 101));
  }
  for (auto const& [key, value] : map) sum += key + value;
  return sum;
}

static void* body(void*) {
  std::map<int, int> own;
  use(work(own, 5));
  for (int i = 0; i < 20; ++i) {
    std::lock_guard<std::mutex> const guard(lock);
    use(work(shared, i));
  }
  return nullptr;
}

int main() { run2(body, body); }
