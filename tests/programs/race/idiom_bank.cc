// rule: idioms
// claim: two transfers under two different accounts' locks race on a third account's balance
// flags: -std=c++20
// expect: race any@a any@b
#include <mutex>
#include <thread>

#include "../order.h"

struct Account {
  std::mutex mutex;
  long balance = 100;
} accounts[3];

static void take(Account& from, Account& to, long amount) {
  std::lock_guard lock(from.mutex);
  from.balance -= amount;
  to.balance += amount;  // @a @b
}

int main() {
  std::thread first([] {
    take(accounts[0], accounts[2], 10);
    step();
  });
  std::thread second([] {
    await(1);
    take(accounts[1], accounts[2], 20);
  });
  first.join();
  second.join();
}
