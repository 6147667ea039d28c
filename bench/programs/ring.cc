// A lock-free ring of one producer and one consumer: acquire and release on two indices, payload in plain
// memory.
#include <atomic>
#include <vector>

#include "common.h"

namespace {

struct Slot {
  uint64_t words[4];
};

class Ring {
 public:
  Ring() : slots_(kSize) {}

  bool push(const Slot& slot) {
    size_t const head = head_.load(std::memory_order_relaxed);
    if (head - seen_tail_ == kSize) {
      seen_tail_ = tail_.load(std::memory_order_acquire);
      if (head - seen_tail_ == kSize) return false;
    }
    slots_[head % kSize] = slot;
    head_.store(head + 1, std::memory_order_release);
    return true;
  }
  bool pop(Slot* slot) {
    size_t const tail = tail_.load(std::memory_order_relaxed);
    if (tail == seen_head_) {
      seen_head_ = head_.load(std::memory_order_acquire);
      if (tail == seen_head_) return false;
    }
    *slot = slots_[tail % kSize];
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

 private:
  static constexpr size_t kSize = 1024;
  std::vector<Slot> slots_;
  alignas(64) std::atomic<size_t> head_{0};
  size_t seen_tail_ = 0;
  alignas(64) std::atomic<size_t> tail_{0};
  size_t seen_head_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  long const items = bench::scale(argc, argv, 10'000'000);
  Ring ring;
  bench::Alone<uint64_t> sum;
  bench::in_two_threads([&](int which) {
    Slot slot{};
    for (long i = 0; i < items; ++i) {
      if (which == 0) {
        for (uint64_t k = 0; k < 4; ++k) slot.words[k] = static_cast<uint64_t>(i) * (k + 1);
        while (!ring.push(slot)) std::this_thread::yield();
      } else {
        while (!ring.pop(&slot)) std::this_thread::yield();
        sum.value = bench::mix(sum.value, slot.words[0] ^ slot.words[3]);
      }
    }
  });
  return bench::report("ring", sum.value);
}
