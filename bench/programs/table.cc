// A read-mostly routing table under a reader-writer lock: many binary searches, now and then an update.
#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "common.h"

namespace {

struct Route {
  uint32_t from;
  uint32_t next_hop;
  uint64_t hits;
};

class Table {
 public:
  explicit Table(size_t size) {
    for (size_t i = 0; i < size; ++i)
      routes_.push_back({static_cast<uint32_t>(i * 1000), static_cast<uint32_t>(i), 0});
  }
  uint32_t find(uint32_t address) const {
    std::shared_lock const guard(lock_);
    auto const after = std::upper_bound(routes_.begin(), routes_.end(), address,
                                        [](uint32_t a, const Route& route) { return a < route.from; });
    return (after - 1)->next_hop;
  }
  void update(size_t index) {
    std::unique_lock const guard(lock_);
    ++routes_[index % routes_.size()].hits;
  }
  uint64_t hits() const {
    uint64_t sum = 0;
    for (const Route& route : routes_) sum = bench::mix(sum, route.hits);
    return sum;
  }

 private:
  mutable std::shared_mutex lock_;
  std::vector<Route> routes_;
};

}  // namespace

int main(int argc, char** argv) {
  long const lookups = bench::scale(argc, argv, 4'000'000);
  Table table(20000);
  uint64_t sums[2] = {};
  bench::in_two_threads([&](int which) {
    bench::Random random(static_cast<uint64_t>(which) + 19);
    uint64_t sum = 0;
    for (long i = 0; i < lookups; ++i) {
      uint64_t const number = random.next();
      if (number % 1000 == 0) {
        table.update(number >> 32);
      } else {
        sum += table.find(static_cast<uint32_t>(number >> 32) % 20'000'000);
      }
    }
    sums[which] = sum;
  });
  return bench::report("table", bench::mix(sums[0] + sums[1], table.hits()));
}
