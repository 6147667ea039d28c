// A chained hash map with striped locks: both threads insert, look up and erase.
#include <array>
#include <mutex>
#include <vector>

#include "common.h"

namespace {

class StripedMap {
 public:
  explicit StripedMap(size_t buckets) : buckets_(buckets) {}
  ~StripedMap() {
    for (Node* head : buckets_) {
      while (head != nullptr) {
        Node* const next = head->next;
        delete head;
        head = next;
      }
    }
  }

  void add(uint64_t key, uint64_t value) {
    size_t const bucket = key % buckets_.size();
    std::lock_guard const guard(stripes_[bucket % kStripes]);
    for (Node* n = buckets_[bucket]; n != nullptr; n = n->next) {
      if (n->key == key) {
        n->value += value;
        return;
      }
    }
    buckets_[bucket] = new Node{key, value, buckets_[bucket]};
  }

  bool find(uint64_t key, uint64_t* value) {
    size_t const bucket = key % buckets_.size();
    std::lock_guard const guard(stripes_[bucket % kStripes]);
    for (Node* n = buckets_[bucket]; n != nullptr; n = n->next) {
      if (n->key == key) {
        *value = n->value;
        return true;
      }
    }
    return false;
  }

  void erase(uint64_t key) {
    size_t const bucket = key % buckets_.size();
    std::lock_guard const guard(stripes_[bucket % kStripes]);
    for (Node** link = &buckets_[bucket]; *link != nullptr; link = &(*link)->next) {
      if ((*link)->key != key) continue;
      Node* const gone = *link;
      *link = gone->next;
      delete gone;
      return;
    }
  }

  uint64_t sum() const {
    uint64_t sum = 0;
    for (const Node* n : buckets_) {
      for (; n != nullptr; n = n->next) sum += bench::mix(n->key, n->value);
    }
    return sum;
  }

 private:
  struct Node {
    uint64_t key;
    uint64_t value;
    Node* next;
  };
  static constexpr size_t kStripes = 64;
  std::array<std::mutex, kStripes> stripes_;
  std::vector<Node*> buckets_;
};

}  // namespace

int main(int argc, char** argv) {
  long const operations = bench::scale(argc, argv, 2'500'000);
  StripedMap map(1 << 15);
  bench::in_two_threads([&](int which) {
    bench::Random random(static_cast<uint64_t>(which) + 3);
    uint64_t found = 0;
    for (long i = 0; i < operations; ++i) {
      // The threads' keys interleave in the buckets and never coincide, so that the result does not depend on
      // the schedule.
      uint64_t const key = random.below(1 << 16) * 2 + static_cast<uint64_t>(which);
      switch (random.below(4)) {
        case 0:
          map.add(key, 1);
          break;
        case 1:
          map.erase(key);
          break;
        default:
          map.find(key, &found);
      }
    }
  });
  return bench::report("hashmap", map.sum());
}
