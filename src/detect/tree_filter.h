// tree: drops accesses that are concurrentially equivalent to earlier ones. See tree.h for what it can lose.
#pragma once

#include <cstdint>
#include <vector>

#include "detect/detector.h"
#include "detect/tree.h"

namespace deadheat::detect {

// Nodes in a growing table, up to a limit; edges in one hash table.
class TreeStorage {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  explicit TreeStorage(std::uint32_t limit);

  std::uint32_t child(std::uint32_t node, std::uint64_t symbol);
  TreeVisitors& visitors(std::uint32_t node) { return visitors_[node]; }
  TreeContext& context(ThreadId thread) {
    if (thread.index() >= contexts_.size()) contexts_.resize(thread.index() + 1);
    return contexts_[thread.index()];
  }

  std::uint64_t nodes() const { return visitors_.size(); }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t bytes() const;

 private:
  struct Edge {
    std::uint64_t symbol = 0;
    std::uint32_t from = 0;
    std::uint32_t to = 0;  // 0: free slot; the root is nobody's child
  };
  Edge& slot(std::uint32_t node, std::uint64_t symbol);
  void grow();

  std::uint32_t limit_;
  std::vector<Edge> edges_;
  std::vector<TreeVisitors> visitors_;
  std::vector<TreeContext> contexts_;
  std::uint64_t refused_ = 0;
};

class TreeFilter final : public Filter {
 public:
  // Documented in docs/detectors.md: at most this many nodes, about 40 bytes each.
  static constexpr std::uint32_t kMaxNodes = std::uint32_t{1} << 24;

  explicit TreeFilter(StageContext context, std::uint32_t limit = kMaxNodes)
      : Filter(std::move(context)), storage_(limit), tree_(storage_) {}
  void on_event(EventIndex index, const Event& event) override;
  Statistics statistics() const override;
  std::uint64_t memory_bytes() const override { return storage_.bytes(); }

 private:
  TreeStorage storage_;
  Tree<TreeStorage> tree_;
  std::uint64_t seen_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace deadheat::detect
