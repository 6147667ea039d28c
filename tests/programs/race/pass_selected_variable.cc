// rule: code shapes
// claim: of two variables, the one that is chosen is read
// args: 0
// expect: race write@a read@b
// expect: race write@e read@c
// expect: race write@f read@d
#include "../order.h"

struct Pair {
  long first;
  long second;
};
Pair pair, another, third;
const long nothing = 0;
bool is_first;

static long chosen() { return *(is_first ? &pair.first : &pair.second); }  // @b
static long chosen_or_nothing() {
  const long& value = is_first ? nothing : another.second;
  return value;  // @c
}
__attribute__((noinline)) static long chosen_of(const Pair& of) {
  if (is_first) return of.first; else return of.second;  // @d
}

static void* writer(void*) {
  pair.second = 1;     // @a
  another.second = 1;  // @e
  third.second = 1;    // @f
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  long volatile sum = chosen();
  sum = chosen_or_nothing();
  sum = chosen_of(third);
  return nullptr;
}

int main(int argc, char** argv) {
  is_first = atoi(argv[argc - 1]) != 0;
  run2(writer, reader);
}
