// rule: exceptions
// claim: an exception that two threads handle and one changes is a race like any other
// expect: race write@a read@b
// flags: -std=c++20
#include <exception>
#include <thread>

#include "../order.h"

struct Error {
  long value;
};

long seen;

int main() {
  std::exception_ptr const error = std::make_exception_ptr(Error{1});
  std::thread first([=] {
    try {
      std::rethrow_exception(error);
    } catch (Error& e) {
      e.value = 2;  // @a
      step();
      await(2);
    }
  });
  std::thread second([=] {
    try {
      std::rethrow_exception(error);
    } catch (Error& e) {
      await(1);
      seen = e.value;  // @b
      step();
    }
  });
  first.join();
  second.join();
}
