// rule: exceptions
// claim: an exception that travels through a promise is read and destroyed with no alarm
// expect: nothing
// flags: -std=c++20
#include <future>
#include <string>
#include <thread>

#include "../order.h"

struct Failure {
  std::string text = "a text that is long enough to be on the heap";
  int code = 0;
};

int main() {
  for (int i = 0; i < 20; i++) {
    std::promise<int> promise;
    std::shared_future<int> shared = promise.get_future().share();
    auto take = [shared] {
      try {
        shared.get();
      } catch (const Failure& failure) {
        use(failure.code);
        use(static_cast<long>(failure.text.size()));
      }
    };
    std::thread first(take), second(take);
    std::thread thrower([&promise] {
      try {
        throw Failure();
      } catch (...) {
        promise.set_exception(std::current_exception());
      }
    });
    first.join();
    second.join();
    thrower.join();
  }
}
