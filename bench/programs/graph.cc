// Breadth-first search over a random graph: level by level, visited marks by atomic exchange, scattered
// memory.
#include <pthread.h>

#include <atomic>
#include <memory>
#include <vector>

#include "common.h"

int main(int argc, char** argv) {
  size_t const nodes = static_cast<size_t>(bench::scale(argc, argv, 1'500'000));
  constexpr size_t kDegree = 8;
  std::vector<uint32_t> edges(nodes * kDegree);
  bench::Random random(29);
  for (uint32_t& edge : edges) edge = static_cast<uint32_t>(random.below(nodes));

  auto const visited = std::make_unique<std::atomic<uint8_t>[]>(nodes);
  std::vector<uint32_t> distance(nodes);
  std::vector<uint32_t> frontier[2], next[2];
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  frontier[0].push_back(0);
  visited[0].store(1);

  bench::in_two_threads([&](int which) {
    for (uint32_t level = 1;; ++level) {
      pthread_barrier_wait(&barrier);
      if (frontier[0].empty() && frontier[1].empty()) return;
      next[which].clear();
      for (const std::vector<uint32_t>& part : frontier) {
        // Each thread takes every second node of both parts.
        for (size_t i = static_cast<size_t>(which); i < part.size(); i += 2) {
          const uint32_t* const out = &edges[part[i] * kDegree];
          for (size_t k = 0; k < kDegree; ++k) {
            uint32_t const to = out[k];
            if (visited[to].load(std::memory_order_relaxed) != 0) continue;
            if (visited[to].exchange(1, std::memory_order_relaxed) != 0) continue;
            distance[to] = level;
            next[which].push_back(to);
          }
        }
      }
      pthread_barrier_wait(&barrier);
      frontier[which].swap(next[which]);
    }
  });
  pthread_barrier_destroy(&barrier);

  uint64_t sum = 0;
  for (uint32_t d : distance) sum = bench::mix(sum, d);
  return bench::report("graph", sum);
}
