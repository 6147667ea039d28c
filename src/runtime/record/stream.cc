#include "runtime/record/stream.h"

#include <linux/futex.h>
#include <time.h>

#include "runtime/lane.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/syscalls.h"

namespace deadheat::record {

DhArena* arena;
Unrecorded unrecorded;

uint8_t nowhere[kDhRingSlack * 2];

namespace {

long futex(uint32_t* word, int operation, uint32_t value, const timespec* timeout = nullptr) {
  return platform::syscall6(SYS_futex, reinterpret_cast<long>(word), operation, value,
                            reinterpret_cast<long>(timeout));
}

}  // namespace

__attribute__((noinline, cold)) void wait_for_room(DhRecord* record) {
  if (record->is_off != 0) return;  // there may be no arena at all
  uint32_t beat = __atomic_load_n(&arena->writer_beat, __ATOMIC_ACQUIRE);
  for (unsigned silent = 0; record->is_off == 0;) {
    if (__atomic_load_n(&arena->stop, __ATOMIC_ACQUIRE) != kDhRun) {
      end_stream(record, kStopped, 0);
      return;
    }
    uint64_t const consumed = __atomic_load_n(&record->consumed, __ATOMIC_ACQUIRE);
    record->limit = consumed + kDhRingBytes - kDhRingSlack;
    if (record->written + kDhRingSlack <= record->limit) return;
    __atomic_store_n(&record->waiting, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&arena->writer_wake, 1, __ATOMIC_RELEASE);
    futex(&arena->writer_wake, FUTEX_WAKE, 1);
    timespec const wait = {0, 20'000'000};
    if (__atomic_load_n(&record->consumed, __ATOMIC_ACQUIRE) == consumed)
      futex(&record->waiting, FUTEX_WAIT, 1, &wait);
    uint32_t const now = __atomic_load_n(&arena->writer_beat, __ATOMIC_ACQUIRE);
    silent = now == beat ? silent + 1 : 0;
    beat = now;
    if (silent == 250) __atomic_store_n(&arena->stop, kDhStopWriterGone, __ATOMIC_RELEASE);
  }
}

__attribute__((noinline, cold)) void log_waiting_read(DhRecord* record) {
  uint64_t const address = record->waiting_read;
  uint64_t const run = record->run - record->waiting_read_run;
  record->waiting_read = 0;
  record->run = record->waiting_read_run;
  {
    Item item(record, kTagAccess);
    item.byte(0);
    item.signed_varint(address - record->last_object);
    item.varint(1);
    item.varint(0);
  }
  record->last_object = address;
  record->run = run;
}

void end_stream(DhRecord* record, EndKind kind, int status) {
  if (record->is_off != 0) return;
  {
    Item item(record, kTagEnd, /*may_wait=*/false);
    item.byte(kind);
    item.signed_varint(static_cast<uint64_t>(static_cast<int64_t>(status)));
  }
  __atomic_store_n(&record->is_off, 1u, __ATOMIC_RELEASE);
}

void log_sequencer(DhRecord* record, uint64_t number, uint8_t kind, uint64_t object, uint64_t extra) {
  if (record->is_off != 0) return;
  DhCoding* const coding = record->coding;
  bool const has_read =
      record->waiting_read == object && object != 0 && record->waiting_read_run == record->run;
  if (has_read)
    record->waiting_read = 0;
  else if (__builtin_expect(record->waiting_read != 0, 0))
    log_waiting_read(record);  // now: what the object is compared with changes
  const DhCodedSequencer* const predicted = dh_predicted(coding);
  uint64_t const step = number - record->next_number;
  bool const is_kind_predicted = predicted->kind == kind && predicted->extra == extra;
  uint32_t const object_is = predicted->object == object     ? kDhObjectPredicted
                             : coding->held[0] == object     ? kDhObjectHeld
                             : record->last_object == object ? kDhObjectLast
                                                             : kDhObjectExplicit;
  // The last sequencer of a thread has all of the hash, and so has a fault: which store it was is found by
  // it.
  bool const is_whole = kind == kThreadFinishing || (kind == kAcquire && extra != 0);
  bool const has_hash = is_whole || record->hash != record->last_hash;
  {
    Item item(record, has_read ? kTagReadAndSequencer : kTagCodedSequencer);
    item.byte(static_cast<uint8_t>(object_is | (is_kind_predicted ? kDhKindPredicted : 0) |
                                   (has_hash ? kDhHashFollows : 0) |
                                   (step < kDhLongStep ? step : kDhLongStep) << kDhStepShift));
    if (step >= kDhLongStep) item.varint(step - kDhLongStep);
    if (!is_kind_predicted) {
      item.byte(kind);
      item.varint(extra);
    }
    if (object_is == kDhObjectExplicit) item.signed_varint(object - record->last_object);
    if (is_whole)
      item.word(record->hash);
    else if (has_hash)
      item.byte(dh_record_short_digest(record->hash));
  }
  dh_coding_advance(coding, kind, object, extra);
  record->next_number = number + 1;
  record->last_object = object;
  record->last_hash = record->hash;
  ++record->regions;
}

// --- The predictor

namespace {

uint64_t low_bytes(uint64_t value, uint32_t size) {
  return size >= 8 ? value : value & ((uint64_t{1} << (8 * size)) - 1);
}

// The bytes of the predictor for an access of 1 to 8 bytes. All 8 are there, always.
struct Place {
  uint8_t* at;
  uint64_t mask;

  Place(DhRecord* record, uint64_t address, uint32_t size)
      : at(dh_image_at(record, address)), mask(low_bytes(~uint64_t{0}, size)) {}

  uint64_t word() const {
    uint64_t bytes;
    __builtin_memcpy_inline(&bytes, at, 8);
    return bytes;
  }
  bool holds(uint64_t value) const { return (word() & mask) == value; }
  void set(uint64_t value) const {
    uint64_t const bytes = (word() & ~mask) | value;
    __builtin_memcpy_inline(at, &bytes, 8);
  }
};

}  // namespace

void value_any(DhRecord* record, uint64_t address, uint64_t value, uint32_t size) {
  value = low_bytes(value, size);
  Place const place(record, address, size);
  if (place.holds(value)) {
    ++record->run;
    return;
  }
  place.set(value);
  ++record->loads;
  // In as few bytes as hold it: most of what comes from outside is small.
  uint32_t const log = static_cast<uint32_t>(value >> 8 != 0) + static_cast<uint32_t>(value >> 16 != 0) +
                       static_cast<uint32_t>(value >> 32 != 0);
  Item item(record, static_cast<Tag>(kTagValue + log));
  item.word(value, 1u << log);
}

void store_any(DhRecord* record, uint64_t address, uint64_t value, uint32_t size) {
  value = low_bytes(value, size);
  record->hash = dh_record_mix(record->hash, address, value);
  Place(record, address, size).set(value);
}

// --- Signals that wait

void Inside::leave() {
  if (record_->invisible != 0) __dh_rec_attend(record_);
}

}  // namespace deadheat::record

using namespace deadheat;
using namespace deadheat::record;

// A moment for signal handlers is a value hook, or any time while invisible code runs.
void __dh_rec_attend(DhRecord* record) {
  if (record->inside != 0) return;
  __atomic_store_n(&record->attention, uint64_t{0}, __ATOMIC_RELAXED);
  if (lane::signals_pending == 0 || lane::deliver_pending_signals == nullptr) return;
  uint32_t const was_invisible = record->invisible;
  uint32_t const depth = record->depth;
  record->invisible = 1;
  lane::deliver_pending_signals();
  record->invisible = was_invisible;
  record->depth = depth;
}

void __dh_rec_load_slow(DhRecord* record, uint64_t address, uint64_t value, uint32_t size) {
  // Signals wait while visible code runs: nothing interrupts this that would look at the record.
  if (__builtin_expect(record->attention != 0, 0)) __dh_rec_attend(record);
  value_any(record, address, value, size);
}

void __dh_rec_load_words_slow(DhRecord* record, uint64_t address, DhPair words) {
  __dh_rec_load_slow(record, address, words[0], 8);
  __dh_rec_load_slow(record, address + 8, words[1], 8);
}

void __dh_rec_store_words_slow(DhRecord* record, uint64_t address, DhPair words) {
  Place(record, address, 8).set(words[0]);
  Place(record, address + 8, 8).set(words[1]);
}

void __dh_rec_load_any(const void* address, uint64_t value, uint32_t size) {
  __dh_rec_load_slow(__dh_record, reinterpret_cast<uint64_t>(address), value, size);
}

void __dh_rec_store_any(void* address, uint64_t value, uint32_t size) {
  store_any(__dh_record, reinterpret_cast<uint64_t>(address), value, size);
}
