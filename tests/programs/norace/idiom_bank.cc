// rule: idioms
// claim: transfers that lock both accounts in order do not race
// expect: nothing
// flags: -std=c++20
#include <mutex>
#include <thread>

#include "../order.h"

struct Account {
  std::mutex mutex;
  long balance = 100;
} accounts[3];

static void take(Account& from, Account& to, long amount) {
  std::scoped_lock lock(from.mutex, to.mutex);
  from.balance -= amount;
  to.balance += amount;
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
