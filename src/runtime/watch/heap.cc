// Small blocks are noted beside the shadow of where they begin: no lock, no search, and blocks that are
// neighbours share a cache line. A table of all blocks with open addressing, in shards by address, each with
// its lock, has the rest: large blocks, for which a note in place would cost a page each, and whatever an
// unusual allocator puts closer together than glibc does.
#include "runtime/watch/heap.h"

#include "runtime/platform/memory.h"
#include "runtime/platform/spinlock.h"
#include "runtime/watch/beside.h"
#include "runtime/watch/shadow.h"

namespace deadheat::watch {
namespace {

constexpr unsigned kShardBits = 7;
constexpr uintptr_t kGone = 1;  // a removed entry; never a block's address

struct Shard {
  HeapBlock* table = nullptr;
  size_t capacity = 0;
  size_t used = 0;  // live and gone
  size_t live = 0;
  // The last ones that were removed.
  static constexpr unsigned kFreed = 4;
  HeapBlock freed[kFreed];
  unsigned next_freed = 0;
  platform::Spinlock lock;
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

// --- Blocks noted in place

constexpr size_t kSmall = 1024;
constexpr uintptr_t kWindow = kCellsPerBlock * 8;

// Null if nothing was ever noted in the chunk.
SmallBlock* place_of(const Chunk* chunk, uintptr_t address) {
  SmallBlock* const blocks = __atomic_load_n(&chunk->blocks, __ATOMIC_ACQUIRE);
  return blocks != nullptr ? &blocks[cell_index(address) / kCellsPerBlock] : nullptr;
}
// Null if there is no memory for it.
SmallBlock* make_place_of(Chunk* chunk, uintptr_t address) {
  return beside(&chunk->blocks, kChunkBlocks) != nullptr ? place_of(chunk, address) : nullptr;
}

// | freed 1 | thread 18 | stack 28 | size 11 | offset within the window, counted from 1: 6 |
//
// A block that was freed stays noted until the next one comes, for reports.
constexpr unsigned kOffsetBits = 6;
constexpr unsigned kSizeBits = 11;
constexpr unsigned kThreadBits = 63 - kOffsetBits - kSizeBits - kStackIdBits;
constexpr SmallBlock kFreed = SmallBlock{1} << 63;
constexpr uint32_t kNoThread = (1u << kThreadBits) - 1;  // kHiddenBlock
static_assert(kSmall < 1u << kSizeBits && kWindow < 1u << kOffsetBits);

constexpr uint64_t offset_of(uintptr_t address) { return (address & (kWindow - 1)) + 1; }
constexpr uint64_t offset_of_note(SmallBlock note) { return note & ((1u << kOffsetBits) - 1); }

constexpr bool fits_a_note(const HeapBlock& block) {
  return block.size <= kSmall && (block.thread < kNoThread || block.thread == kHiddenBlock);
}
constexpr SmallBlock note_of(const HeapBlock& block) {
  uint64_t const thread = block.thread == kHiddenBlock ? kNoThread : block.thread;
  return ((thread << kStackIdBits | block.stack) << kSizeBits | block.size) << kOffsetBits |
         offset_of(block.address);
}
constexpr HeapBlock unpacked(SmallBlock note, uintptr_t address) {
  auto const thread = static_cast<uint32_t>((note & ~kFreed) >> (63 - kThreadBits));
  return {address, (note >> kOffsetBits) & ((1u << kSizeBits) - 1),
          static_cast<StackId>((note >> (kOffsetBits + kSizeBits)) & ((1u << kStackIdBits) - 1)),
          thread == kNoThread ? kHiddenBlock : thread};
}

constexpr bool is_live(SmallBlock note) { return note != 0 && (note & kFreed) == 0; }

SmallBlock load(const SmallBlock* place) { return __atomic_load_n(place, __ATOMIC_RELAXED); }

bool add_in_place(const HeapBlock& block) {
  if (!fits_a_note(block)) return false;
  Chunk* const chunk = chunk_for(block.address);
  if (chunk == nullptr) return false;
  SmallBlock* const place = make_place_of(chunk, block.address);
  if (place == nullptr) return false;
  SmallBlock const there = load(place);
  if (is_live(there) && offset_of_note(there) != offset_of(block.address)) return false;
  __atomic_store_n(place, note_of(block), __ATOMIC_RELAXED);
  return true;
}

// Null if it is not noted in place.
SmallBlock* find_in_place(uintptr_t address, HeapBlock* found) {
  Chunk* const chunk = existing_chunk(address);
  if (chunk == nullptr) return nullptr;
  SmallBlock* const place = place_of(chunk, address);
  if (place == nullptr) return nullptr;
  SmallBlock const note = load(place);
  if (!is_live(note) || offset_of_note(note) != offset_of(address)) return nullptr;
  *found = unpacked(note, address);
  return place;
}

bool contains(const HeapBlock& block, uintptr_t address) {
  return address - block.address < (block.size != 0 ? block.size : 1);
}

// The live block around `address`, or the freed one, if it is noted in place.
bool search_in_place(uintptr_t address, bool live, HeapBlock* found) {
  uintptr_t const window = address & ~(kWindow - 1);
  for (uintptr_t back = 0; back <= kSmall + kWindow && back <= window; back += kWindow) {
    Chunk* const chunk = existing_chunk(window - back);
    const SmallBlock* const place = chunk != nullptr ? place_of(chunk, window - back) : nullptr;
    if (place == nullptr) continue;
    SmallBlock const note = load(place);
    if (note == 0 || is_live(note) != live) continue;
    *found = unpacked(note, window - back + offset_of_note(note) - 1);
    if (address >= found->address && contains(*found, address)) return true;
  }
  return false;
}

}  // namespace

void heap_add(const HeapBlock& block) {
  if (add_in_place(block)) return;
  Shard& shard = shard_of(hash(block.address));
  platform::SpinGuard const guard(shard.lock);
  if ((shard.used + 1) * 4 > shard.capacity * 3) grow(shard);
  if (!insert(shard.table, shard.capacity, block)) ++shard.used;
  ++shard.live;
}

bool heap_remove(uintptr_t address, HeapBlock* removed) {
  if (SmallBlock* const place = find_in_place(address, removed)) {
    __atomic_store_n(place, note_of(*removed) | kFreed, __ATOMIC_RELAXED);
    return true;
  }
  uint64_t const h = hash(address);
  Shard& shard = shard_of(h);
  platform::SpinGuard const guard(shard.lock);
  if (shard.capacity == 0) return false;
  for (size_t at = (h >> 8) & (shard.capacity - 1); shard.table[at].address != 0;
       at = (at + 1) & (shard.capacity - 1)) {
    if (shard.table[at].address != address) continue;
    *removed = shard.table[at];
    shard.freed[shard.next_freed++ % Shard::kFreed] = *removed;
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
  if (find_in_place(address, found) != nullptr) return true;
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

namespace {
// Two threads may find out at the same time how large a block is, and one of them use it while the other
// still clears: so the second one waits. Not the shard's lock, because whoever clears may wait for a granule
// whose race is just being told, for which all shards are looked through.
constexpr unsigned kExtendingBits = 6;
platform::Spinlock extending[1u << kExtendingBits];
}  // namespace

void heap_extend(uintptr_t address, size_t size, void (*clear)(uintptr_t, size_t)) {
  HeapBlock block;
  if (!heap_at(address, &block) || block.size >= size) return;
  platform::SpinGuard const guard(extending[hash(address) >> (64 - kExtendingBits)]);
  if (!heap_at(address, &block) || block.size >= size) return;
  clear(address + block.size, size - block.size);
  heap_remove(address, &block);
  block.size = size;
  heap_add(block);
}

namespace {

struct Blocks {
  const HeapBlock* first;
  size_t count;
};

// The block around `address`: noted in place, or among those `blocks_of` each shard.
bool search(uintptr_t address, bool live, Blocks (*blocks_of)(const Shard&), HeapBlock* found) {
  if (search_in_place(address, live, found)) return found->thread != kHiddenBlock;
  for (Shard& shard : shards) {
    platform::SpinGuard const guard(shard.lock);
    auto const [first, count] = blocks_of(shard);
    for (size_t i = 0; i < count; ++i) {
      const HeapBlock& b = first[i];
      if (b.address > kGone && address >= b.address && contains(b, address)) {
        *found = b;
        return b.thread != kHiddenBlock;
      }
    }
  }
  return false;
}

}  // namespace

bool heap_find(uintptr_t address, HeapBlock* found) {
  return search(address, true, [](const Shard& shard) { return Blocks{shard.table, shard.capacity}; }, found);
}

bool heap_find_freed(uintptr_t address, HeapBlock* found) {
  return search(address, false, [](const Shard& shard) { return Blocks{shard.freed, Shard::kFreed}; }, found);
}

void heap_fork_preparing() {
  for (platform::Spinlock& lock : extending) lock.lock();
  for (Shard& shard : shards) shard.lock.lock();
}
void heap_fork_done() {
  for (Shard& shard : shards) shard.lock.unlock();
  for (platform::Spinlock& lock : extending) lock.unlock();
}

}  // namespace deadheat::watch
