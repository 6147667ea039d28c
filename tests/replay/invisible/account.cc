// The bank of A. Rajagopalan's thesis (Fast and precise on-the-fly data race detection, section 4.5): the
// main thread waits for its workers by asking a library whether they are alive. What it does behind that does
// not race with them; what the workers do to the bank's total does.
#include <unistd.h>

#include <cstdio>

#include "gate.h"

struct Account {
  long amount;
  long balance = 0;
};

static long bank_total;

static void deposit(void* argument) {
  auto* const account = static_cast<Account*>(argument);
  account->balance += account->amount;
  bank_total += account->amount;  // the one race
}

int main() {
  Account* const accounts[2] = {new Account{100}, new Account{200}};
  worker* workers[2];
  for (int i = 0; i < 2; ++i) workers[i] = worker_start(deposit, accounts[i]);
  for (worker* each : workers)
    while (worker_is_alive(each)) usleep(1000);
  const long sum = accounts[0]->balance + accounts[1]->balance;
  std::printf("%s\n", sum == bank_total ? "equal" : "different");
  for (Account* account : accounts) delete account;
}
