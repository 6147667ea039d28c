// Writing a thread's stream (src/recording/FORMAT.md) into its ring.
#pragma once

#include "runtime/record_abi.h"

namespace deadheat::record {

extern DhArena* arena;  // null while nothing is recorded

// What threads that are not recorded use: its ring leads nowhere, its predictor is anybody's.
struct Unrecorded {
  union {
    DhRecord record;
    uint8_t page[kDhSlotHeaderBytes];
  };
  uint8_t image[kDhImageBytes + kDhImageSlack];
};
extern Unrecorded unrecorded;
inline constexpr DhRecord& discard = unrecorded.record;

enum Tag : uint8_t {
  kTagValue = 0,  // to 3
  kTagSequencer = 4,
  kTagCallback = 5,
  kTagUnwound = 6,
  kTagLanded = 7,
  kTagJumped = 8,
  kTagAccess = 9,
  kTagNote = 10,
  kTagEnd = 11,
  kTagMoreWords = 12,
  kTagCodedSequencer = 13,
  kTagReadAndSequencer = 14,  // the same, and the thread has read one byte of its object just before
};

enum Sequencer : uint8_t {
  kAcquire,
  kRelease,
  kReleaseStore,
  kForget,
  kLockAcquired,
  kLockReleasing,
  kLockDestroyed,
  kBarrierInitialised,
  kBarrierArrive,
  kBarrierLeave,
  kThreadCreated,
  kThreadStarted,
  kThreadFinishing,
  kThreadJoined,
  kAllocated,
  kFreeing,
  kMapped,
  kUnmapping,
  kForked,
  kExec,
  kFence,
  kUsable,
  kAtomicOperation = 32,
};

// Where items of threads that are not recorded go.
extern uint8_t nowhere[kDhRingSlack * 2];
// The ring is full: waits for the writer, but never for one that is gone.
void wait_for_room(DhRecord* record);
// Logs the read that waits to be one item with the sequencer behind it (DhRecord::waiting_read): something
// else came.
void log_waiting_read(DhRecord* record);

// One item being written: header first, then the payload, committed when it goes out of scope.
class Item {
 public:
  // `may_wait`: for room; not for the last item of a stream, which the ring keeps room for.
  Item(DhRecord* record, Tag tag, bool may_wait = true) : record_(record) {
    if (__builtin_expect(record->waiting_read != 0, 0)) log_waiting_read(record);
    if (__builtin_expect(may_wait && record->written + kDhRingSlack > record->limit, 0))
      wait_for_room(record);
    start_ = __builtin_expect(record->is_off != 0, 0) ? nowhere
                                                      : record->ring + (record->written & (kDhRingBytes - 1));
    at_ = start_;
    uint64_t const run = record->run;
    record->run = 0;
    if (__builtin_expect(run < 15, 1)) {
      byte(static_cast<uint8_t>(tag | run << 4));
    } else {
      byte(static_cast<uint8_t>(tag | 15 << 4));
      varint(run - 15);
    }
  }
  ~Item() {
    if (__builtin_expect(record_->is_off != 0, 0)) return;
    __atomic_store_n(&record_->written, record_->written + static_cast<uint64_t>(at_ - start_),
                     __ATOMIC_RELEASE);
  }
  Item(const Item&) = delete;
  Item& operator=(const Item&) = delete;

  void byte(uint8_t value) { *at_++ = value; }
  // The lowest `size` bytes. All 8 are written, always: the ring has room behind every item.
  void word(uint64_t value, uint32_t size = 8) {
    __builtin_memcpy_inline(at_, &value, 8);
    at_ += size;
  }
  void varint(uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<uint8_t>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<uint8_t>(value);
  }
  void signed_varint(uint64_t value) { varint(value << 1 ^ (value >> 63 != 0 ? ~uint64_t{0} : 0)); }

 private:
  DhRecord* record_;
  uint8_t* start_;
  uint8_t* at_;
};

// A synchronisation happens now. Its number is drawn while nobody else can synchronise by the same object;
// to log it, later, is the thread's own business. Nothing if the thread is not recorded.
// A fence for the thread in any case.
inline uint64_t draw_number(const DhRecord* record) {
  if (__builtin_expect(record->is_off == 0, 1))
    return __atomic_fetch_add(&arena->next_number, 1, __ATOMIC_SEQ_CST);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return 0;
}
void log_sequencer(DhRecord* record, uint64_t number, uint8_t kind, uint64_t object, uint64_t extra);
inline void sequence(DhRecord* record, uint8_t kind, uint64_t object, uint64_t extra) {
  log_sequencer(record, draw_number(record), kind, object, extra);
}

// The end of a thread's stream.
enum EndKind : uint8_t { kThreadEnded = 0, kProcessEnded = 1, kStopped = 2 };
void end_stream(DhRecord* record, EndKind kind, int status);

// The value hook of any kind: predicted, or logged. Up to 8 bytes anywhere.
void value_any(DhRecord* record, uint64_t address, uint64_t value, uint32_t size);
void store_any(DhRecord* record, uint64_t address, uint64_t value, uint32_t size);

// While one exists, signal handlers wait; they run when the last one goes.
class Inside {
 public:
  explicit Inside(DhRecord* record) : record_(record) { ++record_->inside; }
  ~Inside() {
    if (--record_->inside == 0 && __builtin_expect(record_->attention != 0, 0)) leave();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  void leave();
  DhRecord* record_;
};

}  // namespace deadheat::record
