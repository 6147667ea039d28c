// rule: escaping locals
// claim: what may be shared is checked in any version, and a local that was lent is where an exception lands
// expect: race write@b read@a
// expect: race read@c write@d
// allow: race free@z write@d
#include <atomic>

#include "../order.h"

struct Pair {
  long first, second;
};

static Pair shared;
static std::atomic<Pair*> published{nullptr};

static long either(const Pair& pair, bool own) {
  const Pair& one = own ? pair : shared;
  return pair.first + one.second;  // @a
}
static long publish(Pair& pair, bool own) {
  if (own) return pair.first;
  std::atomic_thread_fence(std::memory_order_release);
  published.store(&pair, std::memory_order_relaxed);
  step();
  while (published.load(std::memory_order_relaxed)) doze(50);
  throw 1;
}

static long (*volatile look)(const Pair&, bool) = either;
static long (*volatile lend)(Pair&, bool) = publish;

__attribute__((noinline)) static long looked_at(bool own) {
  Pair const pair{3, 4};
  return look(pair, own);
}
__attribute__((noinline)) static long lent(bool own) {
  Pair pair{5, 6};
  try {
    return lend(pair, own);
  } catch (int) {
    long const first = pair.first;  // @c
    return first;                   // @z
  }
}  // @z

static void* owner(void*) {
  await(1);
  use(looked_at(true));
  use(looked_at(false));
  use(lent(true));
  use(lent(false));
  return nullptr;
}

static void* other(void*) {
  shared.second = 7;  // @b
  step();
  Pair* pair;
  while ((pair = published.load(std::memory_order_relaxed)) == nullptr) doze(50);
  std::atomic_thread_fence(std::memory_order_acquire);
  pair->first = 8;  // @d
  published.store(nullptr, std::memory_order_relaxed);
  return nullptr;
}

int main() { run2(owner, other); }
