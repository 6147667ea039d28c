// rule: futures
// claim: a result that becomes ready at the thread's exit is ordered before whoever gets it
// expect: nothing
// flags: -std=c++20
#include <future>
#include <string>
#include <thread>

#include "../order.h"

int main() {
  std::promise<std::string> promise;
  std::future<std::string> future = promise.get_future();
  std::thread other([&] { promise.set_value_at_thread_exit("a string that is too long for itself"); });
  bool const fine = future.get().size() > 20;
  other.join();
  return fine ? 0 : 1;
}
