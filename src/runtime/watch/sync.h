// Synchronisation objects: what an address carries from those who released to those who acquire.
//
// A SyncVar hangs on the FatCell of the granule its object lives in, so that looking one up is a shadow
// access, and memory that is freed takes its objects along. The FatCell's lock guards it.
#pragma once

#include <stdint.h>

#include "runtime/watch/shadow.h"
#include "runtime/watch/sync_clock.h"
#include "runtime/watch/thread.h"
#include "runtime/watch/vector_clock.h"

namespace deadheat::watch {

// One round of a barrier: everybody who leaves knows what everybody knew on arriving, and nothing that a
// faster thread did after it left. Lives until the last one has left.
struct BarrierGeneration {
  VectorClock clock;
  uint32_t arrived;
  uint32_t to_leave;
};

// The first cache line is all that atomics and uncontended locks look at.
struct alignas(64) SyncVar {
  SyncVar* next;
  // The last exclusive holder that released, and what it knew then: if it still knows just that, nothing
  // needs copying.
  uint64_t releaser_version;
  uint32_t releaser_slot;
  uint8_t offset;        // of the object within its granule
  bool observed;         // somebody else has acquired since
  uint8_t reader_count;  // of `reader`; 0 while there is nothing in `readers`, so that nobody need look there
  uint8_t reserved;
  SyncClock clock;  // what an acquirer learns

  // Shared locks.
  alignas(64) VectorClock readers;  // released by shared holders: learnt by the next exclusive one only
  // Some of the threads whose shared releases no writer has taken up yet, by slot.
  static constexpr unsigned kReaders = 6;
  uint32_t reader[kReaders];
  bool is_reader(uint32_t slot) const {
    // Both bounds, because it may be asked without the lock.
    for (unsigned i = 0; i < kReaders && i < reader_count; ++i) {
      if (reader[i] == slot) return true;
    }
    return false;
  }
  void add_reader(uint32_t slot) {
    if (reader_count < kReaders && !is_reader(slot)) reader[reader_count++] = slot;
  }
  // Barriers.
  uint32_t participants;
  BarrierGeneration* generation;  // the one threads are arriving at; null before the first of them
};
static_assert(sizeof(SyncVar) == 128);

void destroy_sync(SyncVar* sync);

// The object's SyncVar, made if need be, with its granule locked for the life of this.
class LockedSync {
 public:
  explicit LockedSync(const volatile void* object);
  ~LockedSync();
  LockedSync(const LockedSync&) = delete;
  LockedSync& operator=(const LockedSync&) = delete;

  explicit operator bool() const { return sync_ != nullptr; }
  SyncVar* operator->() const { return sync_; }
  SyncVar* get() const { return sync_; }
  FatCell* fat() const { return fat_; }

 private:
  FatCell* fat_ = nullptr;
  SyncVar* sync_ = nullptr;
};

SyncVar* find_or_make_sync(FatCell* fat, uintptr_t address);
SyncVar* find_sync(FatCell* fat, uintptr_t address);

void sync_acquire(Thread* thread, const volatile void* object);
void sync_release(Thread* thread, const volatile void* object, bool replace);
void sync_forget(const volatile void* object);
// What an acquirer would learn of `slot` now; 0 if that is not to be had without waiting.
uint32_t clock_carried_at(const volatile void* object, uint32_t slot);

}  // namespace deadheat::watch
