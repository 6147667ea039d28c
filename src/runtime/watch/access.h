// The slow path of an access: is it a race, and what does the granule remember from now on?
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/watch/cell.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

struct AccessRequest {
  uintptr_t address;
  size_t size;  // any
  AccessType type;
  uintptr_t pc;
  uint64_t value = 0;  // about to be written
  bool has_value = false;
  bool replaces = false;  // is recorded even where an earlier access covers it
};

// A plain access of any size and alignment. False if the filter dropped all of it.
bool check_access(Thread* thread, const AccessRequest& request);

// A variable's life ends: as a free, this is checked against what other threads did with it; then the bytes
// have no past, so that the next variable there is not taken for this one.
void end_life(Thread* thread, uintptr_t address, size_t size, uintptr_t pc);

// The part of an atomic access that is an access, with its granule already locked by the caller. Races are
// collected and told by `tell_races` once the lock is released.
// Set before a record goes because it was part of a race (quiet.h).
extern bool race_found;
// Where they are collected is the thread's, because there may be little stack: of one access at a time.
class Races {
 public:
  explicit Races(Thread* thread) : thread_(thread) {}

  void add(const Record& other, uintptr_t granule) {
    __atomic_store_n(&race_found, true, __ATOMIC_RELAXED);
    if (count < Thread::kFoundRaces) thread_->found[count++] = {other, granule};
  }
  const Race& operator[](unsigned i) const { return thread_->found[i]; }

  unsigned count = 0;

 private:
  Thread* thread_;
};
// Whether the filter drops the access to a cell that was `seen` to be long, asked without the lock; false
// also while the records are changing, and where the cell shows all there is.
bool covered_without_lock(const DhCell& seen, const DhCell* cell, const Record& access);
// The same where the cell does not show it already, if it is likely.
inline bool is_covered_in_long(Thread* thread, const DhCell& seen, const DhCell* cell, const Record& access) {
  if (repeats_only(seen, thread->slot) || !thread->covered_in_long.is_likely()) return false;
  return thread->covered_in_long.note(covered_without_lock(seen, cell, access));
}
// The same with the lock held; `access` needs no stack.
bool covered_in_fat(FatCell* fat, const Record& access);
void record_in_fat(Thread* thread, FatCell* fat, uintptr_t granule, const Record& access, Races* races);
// Both: records it unless it is covered.
void check_in_fat(Thread* thread, FatCell* fat, uintptr_t granule, const Record& access, Races* races);
// Unlocks it; its cell goes back to the short form if what it knows fits.
void unlock_fat(Thread* thread, FatCell* fat);
// An access within one granule whose cell is long and does not cover it; false if the cell is short by now.
bool long_access(Thread* thread, DhCell* cell, Record access, const AccessRequest& whole);
void tell_races(Thread* thread, const AccessRequest& request, Races* races);

constexpr detect::AccessKind kind_of(AccessType type) {
  return {type == AccessType::kWrite || type == AccessType::kAtomicWrite || type == AccessType::kFree,
          type == AccessType::kAtomicRead || type == AccessType::kAtomicWrite};
}

}  // namespace deadheat::watch
