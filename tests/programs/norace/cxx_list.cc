// rule: libraries
// claim: lists of each thread's own, and one that is handed on under a lock, may be linked and unlinked
// flags: -std=c++14
// expect: nothing
#include <list>
#include <mutex>

#include "../order.h"

std::list<int> shared;
std::list<int> const fixed{1, 2, 3};
std::mutex lock;

static void* body(void*) {
  for (int i = 0; i < 100; ++i) {
    std::list<int> own(fixed), others{7, 5, 6};
    own.splice(own.begin(), others);
    own.sort();
    own.reverse();
    own.remove(5);
    std::lock_guard<std::mutex> const guard(lock);
    shared.swap(own);
    shared.splice(shared.end(), own);
    if (shared.size() > 50) shared.clear();
  }
  return nullptr;
}

int main() { run2(body, body); }
