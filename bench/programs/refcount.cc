// Reference counts and atomic statistics: shared_ptr copies, compare-and-swap stacks, relaxed counters.
#include <atomic>
#include <memory>
#include <vector>

#include "common.h"

namespace {

struct Config {
  uint64_t version;
  std::vector<uint32_t> weights;
};

struct Node {
  Node* next;
  uint64_t value;
};

}  // namespace

int main(int argc, char** argv) {
  long const rounds = bench::scale(argc, argv, 6'000'000);
  auto const config = std::make_shared<Config>();
  config->version = 1;
  for (uint32_t i = 0; i < 64; ++i) config->weights.push_back(i * 7);

  bench::Alone<std::atomic<uint64_t>> requests;
  bench::Alone<std::atomic<uint64_t>> bytes;
  bench::Alone<std::atomic<uint64_t>> largest;
  bench::Alone<std::atomic<Node*>> stack;
  uint64_t sums[2] = {};

  bench::in_two_threads([&](int which) {
    bench::Random random(static_cast<uint64_t>(which) + 23);
    uint64_t sum = 0;
    for (long i = 0; i < rounds; ++i) {
      std::shared_ptr<const Config> const held = config;
      uint64_t const size = random.below(1500);
      sum += held->weights[size % held->weights.size()] * held->version;
      requests.value.fetch_add(1, std::memory_order_relaxed);
      bytes.value.fetch_add(size, std::memory_order_relaxed);
      uint64_t seen = largest.value.load(std::memory_order_relaxed);
      while (seen < size && !largest.value.compare_exchange_weak(seen, size, std::memory_order_relaxed)) {
      }
      if (i % 16 == 0) {
        auto* const node = new Node{nullptr, size};
        node->next = stack.value.load(std::memory_order_relaxed);
        while (!stack.value.compare_exchange_weak(node->next, node, std::memory_order_release,
                                                  std::memory_order_relaxed)) {
        }
      }
    }
    sums[which] = sum;
  });

  uint64_t pushed = 0;
  for (Node* node = stack.value.load(); node != nullptr;) {
    pushed += node->value;
    Node* const next = node->next;
    delete node;
    node = next;
  }
  return bench::report("refcount",
                       bench::mix(sums[0] + sums[1] + pushed, requests.value + bytes.value + largest.value));
}
