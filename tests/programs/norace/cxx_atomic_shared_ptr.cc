// rule: shared_ptr
// claim: objects published through an atomic<shared_ptr> may be read by who loads them
// expect: nothing
// flags: -std=c++20
#include <atomic>
#include <memory>
#include <thread>

#include "../order.h"

int main() {
  std::atomic<std::shared_ptr<int>> published;
  std::thread writer([&] {
    for (int i = 0; i < 20; i++) {
      auto made = std::make_shared<int>(i);
      published.store(made);
    }
  });
  std::thread reader([&] {
    for (int i = 0; i < 20; i++) {
      auto got = published.load();
      if (got) use(*got);
    }
  });
  writer.join();
  reader.join();
}
