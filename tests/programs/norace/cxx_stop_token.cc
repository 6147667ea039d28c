// rule: C++ threads
// claim: request_stop orders what came before it before who sees stop_requested; stop callbacks too
// expect: nothing
// flags: -std=c++20
#include <stop_token>
#include <thread>

#include "../order.h"

int data, from_callback;

int main() {
  std::jthread worker([](std::stop_token token) {
    std::stop_callback callback(token, [] { use(from_callback); });
    while (!token.stop_requested()) doze(100);
    await(1);
    use(data);
  });
  from_callback = 1;
  data = 1;
  worker.request_stop();
  step();
}
