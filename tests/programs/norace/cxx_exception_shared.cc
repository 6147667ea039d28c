// rule: exceptions
// claim: an exception that two threads handle is destroyed by the last one, after both have read it
// expect: nothing
// flags: -std=c++20
#include <exception>
#include <future>
#include <thread>

#include "../order.h"

struct Error {
  long value;
  explicit Error(long v) : value(v) {}
  Error(const Error& other) : value(other.value) {}
  ~Error() { value = -1; }
};

static void handle(std::exception_ptr error) {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const Error& e) {
    if (e.value != 1) abort();
  }
}

int main() {
  for (int i = 0; i < 200; ++i) {
    std::exception_ptr first = std::make_exception_ptr(Error(1));
    std::exception_ptr second = first;
    std::thread a([error = std::move(first)]() mutable { handle(std::move(error)); });
    std::thread b([error = std::move(second)]() mutable { handle(std::move(error)); });
    a.join();
    b.join();
  }
}
