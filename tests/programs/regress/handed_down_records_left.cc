// rule: escaping locals
// claim: what a function did to a local that was handed down is not known of the next one in its place
// expect: nothing
#include <atomic>

#include "../order.h"

struct Pair {
  long first, second;
};

static Pair shared;
static std::atomic<Pair*> published{nullptr};
static std::atomic<int> given_back{0};

static long either(Pair& pair, bool own) {
  pair.second = 1;
  const Pair& one = own ? pair : shared;
  return one.first + pair.second;
}
static void publish(Pair& pair) {
  published.store(&pair, std::memory_order_relaxed);
  while (!given_back.load(std::memory_order_acquire)) doze(50);
}
static long (*volatile look)(Pair&, bool) = either;
static void (*volatile lend)(Pair&) = publish;

__attribute__((noinline)) static long looked_at(long value) {
  Pair pair{value, value};
  return look(pair, true);
}
__attribute__((noinline)) static long filled() {
  Pair pair;
  lend(pair);
  return pair.first;
}

static void* owner(void*) {
  use(looked_at(3));
  use(filled());
  return nullptr;
}
static void* other(void*) {
  Pair* pair;
  while ((pair = published.load(std::memory_order_relaxed)) == nullptr) doze(50);
  *pair = {4, 5};
  given_back.store(1, std::memory_order_release);
  return nullptr;
}

int main() { run2(owner, other); }
