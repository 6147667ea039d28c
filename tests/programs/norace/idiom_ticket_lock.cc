// rule: idioms
// claim: a ticket lock protects
// expect: nothing
#include <atomic>

#include "../order.h"

std::atomic<unsigned> next_ticket{0}, turn{0};
long counter;
constexpr auto kTurn = std::memory_order_acquire;

static void* worker(void*) {
  for (int i = 0; i < 50; i++) {
    unsigned mine = next_ticket.fetch_add(1, std::memory_order_relaxed);
    while (turn.load(kTurn) != mine) doze(10);
    counter++;
    turn.store(mine + 1, std::memory_order_release);
  }
  return nullptr;
}

int main() { run2(worker, worker); }
