// rule: C++ threads
// claim: what the requester does after request_stop races with the stopped thread
// flags: -std=c++20
// expect: race write@a read@b
#include <stop_token>
#include <thread>

#include "../order.h"

int data, from_callback;

int main() {
  std::jthread worker([](std::stop_token token) {
    std::stop_callback callback(token, [] { use(from_callback); });
    while (!token.stop_requested()) doze(100);
    await(1);
    use(data);  // @b
  });
  from_callback = 1;
  worker.request_stop();
  data = 1;  // @a
  step();
}
