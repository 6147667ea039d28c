// rule: shared_ptr
// claim: objects published through an atomic<shared_ptr> may be read by who loads them
// expect: nothing
// flags: -std=c++20
#include <atomic>
#include <memory>
#include <thread>

#include "../order.h"

// One store: libstdc++ 12's own load unlocks relaxed, which is a race with a later store, and reported as one.
int main() {
  std::atomic<std::shared_ptr<int>> published;
  std::thread writer([&] {
    auto made = std::make_shared<int>(3);
    published.store(made);
    step();
  });
  std::thread reader([&] {
    await(1);
    auto got = published.load();
    use(*got);
  });
  writer.join();
  reader.join();
}
