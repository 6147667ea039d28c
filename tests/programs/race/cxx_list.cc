// rule: libraries
// claim: linking into a list, moving within it, sorting it and reversing it race with who goes through it
// flags: -std=c++14
// expect: race any@a any@e
// expect: race any@b any@e
// expect: race any@c any@e
// expect: race any@d any@e
#include <list>

#include "../order.h"

std::list<int> grows{1, 2, 3}, moves{1, 2, 3}, sorts{3, 1, 2}, turns{1, 2, 3};

static long all(const std::list<int>& list) {
  long sum = 0;
  for (int const i : list) sum += i;  // @e
  return sum;
}

static void* first(void*) {
  grows.insert(std::next(grows.begin()), 4);                        // @a
  moves.splice(moves.begin(), moves, std::next(moves.begin(), 2));  // @b
  sorts.sort();                                                     // @c
  turns.reverse();                                                  // @d
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  use(all(grows));
  use(all(moves));
  use(all(sorts));
  use(all(turns));
  return nullptr;
}

int main() { run2(first, second); }
