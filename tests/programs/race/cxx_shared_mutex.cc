// rule: read-write locks
// claim: two holders of a shared_lock that write race
// flags: -std=c++20
// expect: race any@a any@a
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "../order.h"

std::shared_mutex mutex;
std::shared_timed_mutex timed;
int data, timed_data;

static void write() {
  std::shared_lock lock(mutex);
  data++;  // @a
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
