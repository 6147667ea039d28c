// Ranges that a thread has walked over whole: what a loop around a loop asks about again and again.
//
// A loop over an array is one check of a range. The loop around it checks the same range once per round, and
// every time each granule is found covered: for the rows of a matrix that is as much work as the program's
// own. So a thread remembers ranges it found or made covered, and the floor they were covered under. While
// that is its floor, they are: what covers an access are records of this thread, of labels at or above the
// floor, and nobody takes them away:
//
//  - The thread's own later accesses supersede them by records that cover no less.
//  - Another thread's access supersedes them if it is ordered after them, for which it must have observed a
//    release since; the floor is above them then (detect/spans.h). Or if it races with them: that race is
//    told, and what is dropped afterwards could only be told as another race on the same location.
//  - Memory that ends its life and begins a new one is forgotten. If another thread ended it, that is ordered
//    after what was done there, or a race, as above. If it was this thread, it has counted it (`lives`).
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat::watch {

// `count` pieces of `size` bytes, the first at `address`, each `stride` bytes behind the one before.
struct Walk {
  uintptr_t address;
  size_t size;
  int64_t stride;
  uint64_t count;
  bool write;
};

class WalkedRanges {
 public:
  // Shorter ones are walked in no time.
  static constexpr size_t kWorthRemembering = 1024;

  struct Entry {
    uintptr_t address;
    uint64_t floor;  // 0: nothing
    uint32_t size;
    uint32_t count_and_kind;
    int32_t stride;
    uint32_t lives;
  };

  // What to remember of a walk that begins now; false if it is too long to be told from others.
  bool entry_of(const Walk& walk, uint64_t floor, Entry* entry) const {
    *entry = {walk.address,
              floor,
              static_cast<uint32_t>(walk.size),
              static_cast<uint32_t>(walk.count << 1) | (walk.write ? 1u : 0u),
              static_cast<int32_t>(walk.stride),
              lives_};
    return entry->size == walk.size && entry->count_and_kind >> 1 == walk.count &&
           entry->stride == walk.stride;
  }
  bool has(const Entry& entry) const {
    const Entry* const two = entries_[index(entry)];
    return __builtin_memcmp(&two[0], &entry, sizeof entry) == 0 ||
           __builtin_memcmp(&two[1], &entry, sizeof entry) == 0;
  }
  void add(const Entry& entry) {
    Entry* const two = entries_[index(entry)];
    two[1] = two[0];
    two[0] = entry;
  }

  // The thread forgets what it did to some memory.
  void forget() {
    if (__builtin_expect(++lives_ == 0, 0)) forget_entries();
  }

 private:
  // A thousand sets of two: the rows of a matrix that share a place with one other stay both.
  static constexpr unsigned kBits = 10;
  __attribute__((preserve_most, noinline, cold)) void forget_entries() {
    for (Entry(&two)[2] : entries_) two[0] = two[1] = {};
  }
  static size_t index(const Entry& entry) {
    uint64_t const key = entry.address + (static_cast<uint64_t>(entry.count_and_kind) << 48) + entry.size;
    return (key * 0x9E3779B97F4A7C15ull) >> (64 - kBits);
  }

  uint32_t lives_ = 0;
  Entry entries_[size_t{1} << kBits][2];
};
static_assert(sizeof(WalkedRanges::Entry) == 32);

}  // namespace deadheat::watch
