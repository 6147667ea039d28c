// rule: idioms
// claim: a ticket lock whose turn is read relaxed does not protect
// expect: race any@a any@a
#include <atomic>

#include "../order.h"

std::atomic<unsigned> next_ticket{0}, turn{0};
long counter;
constexpr auto kTurn = std::memory_order_relaxed;

static void* worker(void*) {
  for (int i = 0; i < 50; i++) {
    unsigned mine = next_ticket.fetch_add(1, std::memory_order_relaxed);
    while (turn.load(kTurn) != mine) doze(10);
    counter++;  // @a
    turn.store(mine + 1, std::memory_order_release);
  }
  return nullptr;
}

int main() { run2(worker, worker); }
