// Producer and consumer over a bounded queue with condition variables; items are heap blocks that change
// hands.
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "common.h"

namespace {

struct Message {
  uint64_t number;
  uint32_t payload[30];
};

class BoundedQueue {
 public:
  void push(std::unique_ptr<Message> message) {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [this] { return items_.size() < kCapacity; });
    items_.push_back(std::move(message));
    if (items_.size() == 1) not_empty_.notify_one();
  }
  std::unique_ptr<Message> pop() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return !items_.empty(); });
    std::unique_ptr<Message> message = std::move(items_.front());
    items_.pop_front();
    if (items_.size() == kCapacity / 2) not_full_.notify_one();
    return message;
  }

 private:
  static constexpr size_t kCapacity = 256;
  std::mutex mutex_;
  std::condition_variable not_full_, not_empty_;
  std::deque<std::unique_ptr<Message>> items_;
};

}  // namespace

int main(int argc, char** argv) {
  long const messages = bench::scale(argc, argv, 1'500'000);
  BoundedQueue queue;
  bench::Alone<uint64_t> sum;
  bench::in_two_threads([&](int which) {
    if (which == 0) {
      bench::Random random(7);
      for (long i = 0; i < messages; ++i) {
        auto message = std::make_unique<Message>();
        message->number = static_cast<uint64_t>(i);
        for (uint32_t& word : message->payload) word = static_cast<uint32_t>(random.next());
        queue.push(std::move(message));
      }
    } else {
      for (long i = 0; i < messages; ++i) {
        std::unique_ptr<Message> const message = queue.pop();
        uint64_t part = message->number;
        for (uint32_t word : message->payload) part += word;
        sum.value = bench::mix(sum.value, part);
      }
    }
  });
  return bench::report("queue", sum.value);
}
