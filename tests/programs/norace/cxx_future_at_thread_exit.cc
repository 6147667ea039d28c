// rule: futures
// claim: a result that becomes ready at the thread's exit is ordered before whoever gets it, and so is all that the thread did after it had said so
// expect: nothing
// flags: -std=c++20
#include <future>
#include <string>
#include <thread>

#include "../order.h"

int after, at_the_end, of_a_task;

struct AtTheEnd {
  int value = 0;
  ~AtTheEnd() { at_the_end = value; }
};
thread_local AtTheEnd of_the_thread;

int main() {
  std::promise<std::string> promise;
  std::future<std::string> future = promise.get_future();
  std::packaged_task<int(int)> task([](int value) { return value + 1; });
  std::future<int> done = task.get_future();
  std::thread([&] {
    of_the_thread.value = 1;
    promise.set_value_at_thread_exit("a string that is too long for itself");
    after = 1;
  }).detach();
  std::thread([&] {
    task.make_ready_at_thread_exit(1);
    of_a_task = 1;
  }).detach();
  bool const fine = future.get().size() > 20 && done.get() == 2;
  return fine && after + at_the_end + of_a_task == 3 ? 0 : 1;
}
