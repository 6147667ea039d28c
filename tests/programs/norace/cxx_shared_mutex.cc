// rule: read-write locks
// claim: shared_mutex and shared_timed_mutex order readers and writers
// expect: nothing
// flags: -std=c++20
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "../order.h"

std::shared_mutex mutex;
std::shared_timed_mutex timed;
int data, timed_data;

static void write() {
  std::unique_lock lock(mutex);
  data++;
  std::unique_lock timed_lock(timed, std::chrono::seconds(10));
  timed_data++;
}

static void read() {
  std::shared_lock lock(timed);
  use(timed_data);
}

int main() {
  std::thread first([] {
    write();
    read();
    step();
  });
  std::thread second([] {
    await(1);
    write();
    read();
  });
  first.join();
  second.join();
}
