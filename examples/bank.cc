// A small bank with three mistakes that every reviewer has let pass at least once.
//
//   build/bin/deadheat check examples/bank.cc
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace {

struct Account {
  std::mutex mutex;
  long balance = 1000;
};

Account accounts[4];
long transfers;  // how many were made: nobody thought it worth a lock
bool open_for_business = true;

void transfer(Account& from, Account& to, long amount) {
  {
    std::lock_guard<std::mutex> hold(from.mutex);
    if (from.balance < amount) return;
    from.balance -= amount;
  }
  {
    std::lock_guard<std::mutex> hold(to.mutex);
    to.balance += amount;
  }
  ++transfers;  // mistake 1: a plain counter, from every teller
}

void teller(unsigned seed) {
  while (open_for_business) {  // mistake 2: a flag that the main thread writes
    seed = seed * 1664525u + 1013904223u;
    transfer(accounts[seed >> 30], accounts[(seed >> 28) & 3], 1 + static_cast<long>(seed & 7));
  }
}

// Sums up what is there, with the wrong lock.
long audit() {
  std::lock_guard<std::mutex> hold(accounts[0].mutex);
  long sum = 0;
  for (const Account& account : accounts)
    sum += account.balance;  // mistake 3: three of four are not its lock's
  return sum;
}

}  // namespace

int main() {
  std::vector<std::thread> tellers;
  for (unsigned i = 1; i <= 2; ++i) tellers.emplace_back(teller, i);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  long const sum = audit();
  open_for_business = false;
  for (std::thread& t : tellers) t.join();
  std::printf("audited %ld, transfers %ld\n", sum, transfers);
}
