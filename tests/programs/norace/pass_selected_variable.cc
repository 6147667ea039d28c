// rule: code shapes
// claim: of two variables, the one that is not chosen is not read
// expect: nothing
// args: 1
#include "../order.h"

struct Pair {
  long first;
  long second;
};
Pair pair, another, third;
const long nothing = 0;
bool is_first;

static long chosen() { return *(is_first ? &pair.first : &pair.second); }
static long chosen_or_nothing() {
  const long& value = is_first ? nothing : another.second;
  return value;
}
__attribute__((noinline)) static long chosen_of(const Pair& of) {
  if (is_first) return of.first; else return of.second;
}

static void* writer(void*) {
  pair.second = 1;
  another.second = 1;
  third.second = 1;
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
