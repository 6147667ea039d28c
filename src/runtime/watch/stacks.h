// Call stacks, locksets and pairs of stacks, each interned once and named by a number.
//
// Every record in shadow memory names the full call stack of its access, so that a report never lacks the
// older side. That is affordable because stacks form a tree (a node is a caller and a return address) that
// grows with the program's code, not with its running time. Recursion would make it grow with the depth of
// the data: a return address that already stands three times on a path is folded into its last occurrence
// there.
//
// A node is one of
//   frame      parent: the caller's frame node;  word: the return address
//   access     parent: the frame node;           word: the pc;  aux: what kind of access, and the lockset
//   composite  parent: a stack;                  word: another stack; aux: the bytes of the granule that are
//   the latter's lockset    parent: a lockset;                word: a lock's address; aux: the stack that
//   took it (in its own table)
//
// Interning is lock-free and insert-only; each thread has a small direct-mapped cache in front.
#pragma once

#include <stdint.h>

#include "runtime/watch/roomy_table.h"

namespace deadheat::watch {

using StackId = uint32_t;  // 0: none
inline constexpr unsigned kStackIdBits = 28;
using LocksetId = uint32_t;  // 0: the empty set
using ShapeId = uint32_t;    // names a pair of stacks; 0: (none, none)

inline constexpr ShapeId kNoShape = ~0u;  // the table of pairs is full
inline constexpr uint32_t kShapeBits = 24;

enum class AccessType : uint8_t { kRead, kWrite, kAtomicRead, kAtomicWrite, kFree };

struct AccessInfo {
  StackId frames;  // the frame node the access stands in
  uintptr_t pc;
  AccessType type;
  uint32_t size;  // 0: a range
  LocksetId locks;

  friend bool operator==(const AccessInfo&, const AccessInfo&) = default;
};

// A lockset must grow with the program's code, as stacks do, not with its data: a program that takes one of a
// million locks at one place would otherwise fill the tables with pairs of them. So only the first few locks
// taken at a place keep their addresses; all further ones share an entry whose `lock` is 0 and that still
// says where the lock was taken. Locksets are what reports tell of the past, nothing is decided by them.
struct LocksetEntry {
  LocksetId rest;
  uintptr_t lock;  // 0: one of many
  bool shared;
  StackId acquired;
};

// Direct-mapped; one per thread.
struct InternCache {
  struct Node {
    uint64_t word;
    uint32_t parent;
    uint32_t aux;
    uint32_t id;
    uint32_t reserved;
  };
  struct Shape {
    StackId first, second;
    ShapeId id;
  };
  // Frames have a table of their own, few lines that stay in the cache: the first access of each function
  // that is entered asks for its frame, and would wait for it if it stood among places and composites.
  struct Frame {
    uintptr_t return_address;
    StackId caller;
    StackId id;  // 0: nothing known here
  };
  static constexpr unsigned kFrameBits = 9;
  Frame frame[1u << kFrameBits];
  static uint32_t frame_index(StackId caller, uintptr_t return_address) {
    uint64_t const h = (return_address + caller * 0xC2B2AE3D27D4EB4Full) * 0x9E3779B97F4A7C15ull;
    return static_cast<uint32_t>(h >> (64 - kFrameBits));
  }

  // A place where locks are taken: see LocksetEntry.
  struct Place {
    LocksetId rest;
    StackId acquired;  // 0: nothing known here
    uint64_t mode;
    uint64_t lock[4];
    LocksetId id[4];
    LocksetId many;  // of all further ones, 0 if not known yet
  };
  static constexpr uint32_t kPlaces = 64;
  Place place[kPlaces];
  RoomyTable<Node, 10, 13> node;
  RoomyTable<Shape, 10, 14> shape;
  uint32_t asked_in_vain;  // these tables, and QuickCache::known
  uint32_t composites_made;

  // Whoever has made so many combinations of stacks makes them from its data, not from its code: they would
  // be as many as the granules it touches.
  static constexpr uint32_t kMostComposites = 1u << 11;
  bool has_many_composites() const { return composites_made >= kMostComposites; }
  // And so many, for who is known to make few.
  bool has_too_many_composites() const { return composites_made >= 8 * kMostComposites; }

  static uint32_t node_hash(uint64_t word, uint32_t parent, uint32_t aux) {
    uint64_t const h = (word + aux * 0x85EBCA77ull) * 0x9E3779B97F4A7C15ull + parent * 0xC2B2AE3D27D4EB4Full;
    return static_cast<uint32_t>(h >> 32);
  }
  static uint32_t shape_hash(StackId first, StackId second) {
    return first * 0x9E3779B1u ^ second * 0x85EBCA77u;
  }
};

// What quick.h remembers; one per thread.
struct QuickCache {
  // One place in the code, called from one place, under the same locks.
  struct Site {
    uint64_t key;      // pc, kind and size
    uint64_t context;  // frame node, lockset
    StackId stack;
    ShapeId alone;  // the pair of this stack and none, and how it stands in the two halves of a cell
    uint32_t alone_in_half[2];
  };
  // The pair of stacks that follows from another.
  struct Known {
    ShapeId old_shape;
    StackId stack;
    uint32_t how;
    ShapeId shape;  // 0: nothing known here
  };
  static constexpr unsigned kSiteBits = 12;
  alignas(64) Site site[1u << kSiteBits];  // four of two cache lines are one set
  RoomyTable<Known, 12, 16> known;
};
static_assert(sizeof(QuickCache::Site) == 32 && sizeof(QuickCache::Known) == 16);

StackId intern_frame(InternCache& cache, StackId caller, uintptr_t return_address);
// The same if it stands in the cache, 0 otherwise. Nothing is changed, and a signal's handler may intern
// while this looks: an entry whose number is the same before and after its key was compared had that number
// for it.
inline StackId known_frame(const InternCache& cache, StackId caller, uintptr_t return_address) {
  const InternCache::Frame& hit = cache.frame[InternCache::frame_index(caller, return_address)];
  StackId const id = __atomic_load_n(&hit.id, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  bool const is_it = hit.return_address == return_address && hit.caller == caller;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return is_it && __atomic_load_n(&hit.id, __ATOMIC_RELAXED) == id ? id : 0;
}
StackId intern_access(InternCache& cache, const AccessInfo& access);
// The stack that is `over` for the bytes in `over_mask` and `base` for those in `base_mask`.
StackId intern_composite(InternCache& cache, StackId base, uint8_t base_mask, StackId over,
                         uint8_t over_mask);
// The stack that is `stacks[b]` for each byte b of `bytes`; and the other way round.
StackId intern_stack_of_bytes(InternCache& cache, const StackId (&stacks)[8], uint8_t bytes);
// Is it the same for all bytes?
bool is_of_one_place(StackId stack);
void stacks_of_bytes(StackId stack, uint8_t bytes, StackId (&stacks)[8]);
// Is the former in the cache?
bool knows_composite(InternCache& cache, StackId base, uint8_t base_mask, StackId over, uint8_t over_mask);
LocksetId intern_lockset(InternCache& cache, const LocksetEntry& entry);
ShapeId intern_shape_slow(InternCache& cache, StackId first, StackId second);

inline ShapeId intern_shape(InternCache& cache, StackId first, StackId second) {
  const InternCache::Shape& hit = cache.shape.at(InternCache::shape_hash(first, second));
  if (hit.first == first && hit.second == second) return hit.id;
  return intern_shape_slow(cache, first, second);
}

struct StackPair {
  StackId first, second;
};
StackPair shape_stacks(ShapeId shape);

// The access behind a stack id, for one byte of the granule it was recorded for.
AccessInfo access_of(StackId stack, unsigned byte);
LocksetEntry lockset_of(LocksetId set);
// Return addresses, innermost first; returns how many were written.
unsigned frames_of(StackId frames, uintptr_t* out, unsigned max);

uint64_t interned_stacks();
uint64_t interned_shapes();

}  // namespace deadheat::watch
