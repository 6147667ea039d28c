// rule: exceptions
// claim: an exception object that two threads hold is shared, and writing to it races
// flags: -std=c++20
// expect: race write@a write@a
#include <future>
#include <string>
#include <thread>

#include "../order.h"

struct Failure {
  std::string text = "a text that is long enough to be on the heap";
  int code = 0;
};

std::exception_ptr failure;

static void take() {
  try {
    std::rethrow_exception(failure);
  } catch (Failure& caught) {
    caught.code = steps_so_far();  // @a
  }
}

int main() {
  failure = std::make_exception_ptr(Failure());
  std::thread first([] {
    take();
    step();
  });
  std::thread second([] {
    await(1);
    take();
  });
  first.join();
  second.join();
}
