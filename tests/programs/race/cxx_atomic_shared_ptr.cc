// rule: shared_ptr
// claim: atomic<shared_ptr> orders the object's construction, not later writes to it
// flags: -std=c++20
// expect: race write@a read@b
#include <atomic>
#include <memory>
#include <thread>

#include "../order.h"

int main() {
  std::atomic<std::shared_ptr<int>> published;
  std::thread writer([&] {
    auto made = std::make_shared<int>(3);
    published.store(made);
    *made = 4;  // @a
    step();
    await(2);  // still an owner: its giving up would be a release
  });
  std::thread reader([&] {
    await(1);
    auto got = published.load();
    use(*got);  // @b
    step();
  });
  writer.join();
  reader.join();
}
