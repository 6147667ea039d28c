// An atomic operation in progress, in the general way: any location, any thread, any order.
//
// The rules are C++20's ([atomics.order], [atomics.fences]):
//   release store      the location carries what the storing thread knows, and nothing else
//   relaxed store      the location carries what the thread's last release fence knew, or nothing
//   read-modify-write  continues the release sequence: adds to what the location carries
//   acquire load       the thread learns what the location carries
//   relaxed load       an acquire fence later on learns it
//
// The granule is locked for the life of the object, and the operation itself happens meanwhile: a load always
// belongs to the store it reads from. The shorter ways (carried.h, quiet.h) decide the same for nearly all
// operations, and hand over what is left.
#pragma once

#include <stdint.h>

#include "runtime/watch/access.h"
#include "runtime/watch/sync.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

// Of the memory_orders of the C ABI: 1, 2, 4, 5; 3, 4, 5.
constexpr bool acquires(int order) { return (0x36u >> (order & 7) & 1) != 0; }
constexpr bool releases(int order) { return (0x38u >> (order & 7) & 1) != 0; }

// What is done, and to which bytes of a granule, in one number.
class Operation {
 public:
  // REQUIRES: size <= 8
  constexpr Operation(uintptr_t at, unsigned size, int order)
      : bits_(uint64_t{bytes_in_granule(at, size)} << Record::kMaskShift |
              static_cast<uint64_t>(static_cast<unsigned>(order)) << 8 | size) {}
  constexpr unsigned size() const { return bits_ & 31; }
  constexpr int order() const { return static_cast<int>(bits_ >> 8 & 7); }
  // As they stand in a record, and in a cell.
  constexpr uint64_t record_mask() const { return bits_ & Record::kMask; }
  constexpr uint64_t mask() const { return bits_ >> Record::kMaskShift; }

 private:
  uint64_t bits_;
};

// All but the stack.
inline Record atomic_record(const Thread* thread, bool write, uint8_t mask) {
  Record r;
  r.set_bits(thread->epoch().bits() | static_cast<uint64_t>(mask) << Record::kMaskShift |
             (write ? Record::kWrite : 0) | Record::kAtomic);
  return r;
}

class AtomicAccess {
 public:
  // `may_release`: it may leave something at the location.
  AtomicAccess(const volatile void* address, unsigned size, uintptr_t pc, bool may_release);
  // Takes over one that has begun: the thread is inside the runtime, and its granule is locked.
  AtomicAccess(Thread* thread, FatCell* fat, uintptr_t address, unsigned size, uintptr_t pc)
      : thread_(thread), address_(address), size_(size), pc_(pc), active_(true), fat_(fat) {}
  ~AtomicAccess();
  AtomicAccess(const AtomicAccess&) = delete;
  AtomicAccess& operator=(const AtomicAccess&) = delete;

  // The granule; null if there is none to be locked.
  FatCell* locked() const { return fat_; }

  // One of these, once the operation is done.
  void load_done(int order);
  void store_done(int order);
  void modify_done(int order);

 private:
  void learn(const SyncVar* sync, int order);
  // Of what the location carries now, no single release is all.
  void forget_releaser(SyncVar* sync);
  StackId stack() const;
  void check(AccessType type);
  void check_granule(FatCell* fat, uintptr_t granule, uint8_t mask);
  // Where an atomic is longer than a granule or lies across two, those behind the first have the access only;
  // the order is the first one's, which stays locked: what is released has to know the whole access.
  void check_other_granules();

  Thread* thread_;
  uintptr_t address_;
  unsigned size_;
  uintptr_t pc_;
  bool active_;
  AccessType type_ = AccessType::kAtomicRead;
  FatCell* fat_ = nullptr;
  Races races_{thread_};
};

}  // namespace deadheat::watch
