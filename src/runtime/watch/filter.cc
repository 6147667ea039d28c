// TREE online: the algorithm of src/detect/tree.h on tables in the runtime's own memory, under one lock.
//
// The tables are bounded: 2^22 nodes of the trie (128 MiB at the most, mapped as they are used). When they
// are full, contexts that are not known yet count as new, so that nothing more is dropped than the algorithm
// would drop.
//
// Sites are return addresses, locations are addresses, locks are the addresses of locks; a message (thread
// creation, join, condition, semaphore, atomic) has a number of its own at each end, so that contexts of
// different threads agree only as long as neither has sent or received: fewer accesses are dropped than with
// matched numbers, never more.
#include "runtime/watch/filter.h"

#include "detect/tree.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/spinlock.h"

namespace deadheat::watch {
namespace {

class TrieStorage {
 public:
  static constexpr std::uint32_t kNone = ~0u;

  std::uint32_t child(std::uint32_t node, std::uint64_t symbol) {
    if (nodes_ == nullptr) {
      nodes_ = static_cast<Node*>(platform::map_pages(sizeof(Node) * kNodes, "the tree filter"));
      buckets_ = static_cast<std::uint32_t*>(
          platform::map_pages(sizeof(std::uint32_t) * kBuckets, "the tree filter"));
      count_ = 1;  // the root
    }
    std::uint64_t const h = (symbol ^ (node * 0x9E3779B97F4A7C15ull)) * 0xD6E8FEB86659FD93ull;
    std::uint32_t* const bucket = &buckets_[h >> (64 - kBucketBits)];
    for (std::uint32_t id = *bucket; id != 0; id = nodes_[id].next) {
      if (nodes_[id].parent == node && nodes_[id].symbol == symbol) return id;
    }
    if (count_ == kNodes) return kNone;
    std::uint32_t const id = count_++;
    nodes_[id] = {symbol, node, *bucket, {}};
    *bucket = id;
    return id;
  }
  detect::TreeVisitors& visitors(std::uint32_t node) { return nodes_[node].visitors; }
  detect::TreeContext& context(ThreadId thread) {
    std::uint32_t const id = thread.value() % kContexts;
    if (contexts_ == nullptr) {
      contexts_ = static_cast<detect::TreeContext*>(
          platform::map_pages(sizeof(detect::TreeContext) * kContexts, "the tree filter"));
    }
    return contexts_[id];
  }

 private:
  static constexpr std::uint32_t kNodes = 1u << 22;
  static constexpr unsigned kBucketBits = 20;
  static constexpr std::uint32_t kBuckets = 1u << kBucketBits;
  static constexpr std::uint32_t kContexts = 1u << 17;
  struct Node {
    std::uint64_t symbol;
    std::uint32_t parent;
    std::uint32_t next;
    detect::TreeVisitors visitors;
  };
  Node* nodes_;
  std::uint32_t* buckets_;
  std::uint32_t count_;
  detect::TreeContext* contexts_;
};

platform::Spinlock tree_lock;
TrieStorage storage;
uint64_t messages;

detect::Tree<TrieStorage> tree() { return detect::Tree<TrieStorage>(storage); }
ThreadId id_of(const Thread* thread) { return ThreadId(thread->info->id); }
// Locks are 8-byte aligned and live within 32 GiB of each other in any program that has fewer than four
// billion of them.
uint32_t number_of(const volatile void* lock) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(lock) >> 3);
}

}  // namespace

bool tree_redundant(Thread* thread, uintptr_t pc, bool write, uintptr_t address) {
  platform::SpinGuard const guard(tree_lock);
  return tree().redundant(id_of(thread), SiteId(static_cast<uint32_t>(pc)), write, ObjectId(address));
}
void tree_acquired(Thread* thread, const volatile void* lock) {
  platform::SpinGuard const guard(tree_lock);
  tree().acquire(id_of(thread), number_of(lock));
}
void tree_released(Thread* thread, const volatile void* lock) {
  platform::SpinGuard const guard(tree_lock);
  tree().release(id_of(thread), number_of(lock));
}
void tree_message(Thread* thread) {
  platform::SpinGuard const guard(tree_lock);
  tree().message(id_of(thread), ++messages);
}

}  // namespace deadheat::watch
