// A bank: transfers between accounts, each under two locks, taken in order; short critical sections, many
// locks.
#include <mutex>
#include <vector>

#include "common.h"

namespace {

struct Account {
  std::mutex lock;
  long balance = 1000;
  long transfers = 0;
};

}  // namespace

int main(int argc, char** argv) {
  long const transfers = bench::scale(argc, argv, 4'000'000);
  std::vector<Account> accounts(2000);
  bench::in_two_threads([&](int which) {
    bench::Random random(static_cast<uint64_t>(which) + 5);
    for (long i = 0; i < transfers; ++i) {
      size_t const a = random.below(accounts.size());
      size_t const b = random.below(accounts.size());
      if (a == b) continue;
      Account& from = accounts[a];
      Account& to = accounts[b];
      std::lock_guard const outer(a < b ? from.lock : to.lock);
      std::lock_guard const inner(a < b ? to.lock : from.lock);
      long const amount = static_cast<long>(random.below(50));
      from.balance -= amount;
      to.balance += amount;
      ++from.transfers;
      ++to.transfers;
    }
  });
  uint64_t sum = 0;
  for (const Account& account : accounts) {
    sum = bench::mix(sum, static_cast<uint64_t>(account.balance) + static_cast<uint64_t>(account.transfers));
  }
  return bench::report("bank", sum);
}
