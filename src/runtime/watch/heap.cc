// Open addressing in shards by address, each with its lock: an allocation costs one insertion.
#include "runtime/watch/heap.h"

#include "runtime/platform/memory.h"
#include "runtime/platform/spinlock.h"

namespace deadheat::watch {
namespace {

constexpr unsigned kShardBits = 7;
constexpr uintptr_t kGone = 1;  // a removed entry; never a block's address

struct Shard {
  platform::Spinlock lock;
  HeapBlock* table = nullptr;
  size_t capacity = 0;
  size_t used = 0;  // live and gone
  size_t live = 0;
};
Shard shards[1u << kShardBits];

uint64_t hash(uintptr_t address) { return (address >> 4) * 0x9E3779B97F4A7C15ull; }
Shard& shard_of(uint64_t h) { return shards[h >> (64 - kShardBits)]; }

// True if the place was a removed entry's.
bool insert(HeapBlock* table, size_t capacity, const HeapBlock& block) {
  size_t at = (hash(block.address) >> 8) & (capacity - 1);
  while (table[at].address > kGone) at = (at + 1) & (capacity - 1);
  bool const reused = table[at].address == kGone;
  table[at] = block;
  return reused;
}

void grow(Shard& shard) {
  size_t capacity = shard.capacity == 0 ? 64 : shard.capacity;
  while (capacity < (shard.live + 1) * 2) capacity *= 2;
  auto* const table = static_cast<HeapBlock*>(platform::allocate(capacity * sizeof(HeapBlock)));
  for (size_t i = 0; i < shard.capacity; ++i) {
    if (shard.table[i].address > kGone) insert(table, capacity, shard.table[i]);
  }
  platform::release(shard.table, shard.capacity * sizeof(HeapBlock));
  shard.table = table;
  shard.capacity = capacity;
  shard.used = shard.live;
}

}  // namespace

void heap_add(const HeapBlock& block) {
  Shard& shard = shard_of(hash(block.address));
  platform::SpinGuard const guard(shard.lock);
  if ((shard.used + 1) * 4 > shard.capacity * 3) grow(shard);
  if (!insert(shard.table, shard.capacity, block)) ++shard.used;
  ++shard.live;
}

bool heap_remove(uintptr_t address, HeapBlock* removed) {
  uint64_t const h = hash(address);
  Shard& shard = shard_of(h);
  platform::SpinGuard const guard(shard.lock);
  if (shard.capacity == 0) return false;
  for (size_t at = (h >> 8) & (shard.capacity - 1); shard.table[at].address != 0;
       at = (at + 1) & (shard.capacity - 1)) {
    if (shard.table[at].address != address) continue;
    *removed = shard.table[at];
    --shard.live;
    // At the end of a chain nothing needs a mark, nor do the marks before it: chains stay short.
    size_t const mask = shard.capacity - 1;
    shard.table[at].address = kGone;
    if (shard.table[(at + 1) & mask].address == 0) {
      for (; shard.table[at].address == kGone; at = (at - 1) & mask) {
        shard.table[at].address = 0;
        --shard.used;
      }
    }
    return true;
  }
  return false;
}

bool heap_at(uintptr_t address, HeapBlock* found) {
  uint64_t const h = hash(address);
  Shard& shard = shard_of(h);
  platform::SpinGuard const guard(shard.lock);
  if (shard.capacity == 0) return false;
  for (size_t at = (h >> 8) & (shard.capacity - 1); shard.table[at].address != 0;
       at = (at + 1) & (shard.capacity - 1)) {
    if (shard.table[at].address != address) continue;
    *found = shard.table[at];
    return true;
  }
  return false;
}

bool heap_find(uintptr_t address, HeapBlock* found) {
  for (Shard& shard : shards) {
    platform::SpinGuard const guard(shard.lock);
    for (size_t i = 0; i < shard.capacity; ++i) {
      const HeapBlock& b = shard.table[i];
      if (b.address > kGone && address >= b.address && address - b.address < (b.size != 0 ? b.size : 1)) {
        *found = b;
        return b.thread != kHiddenBlock;
      }
    }
  }
  return false;
}

void heap_fork_preparing() {
  for (Shard& shard : shards) shard.lock.lock();
}
void heap_fork_done() {
  for (Shard& shard : shards) shard.lock.unlock();
}

}  // namespace deadheat::watch
