// Atomics of a recorded program: done here, under a lock of the location, so that the value, its place in the
// order of all synchronisation, and the log agree.
//
// Invisible code may use the same location without our lock. The operation itself is a real atomic one, so it
// stays correct; only its number in the order may then be off by such a neighbour, and the value that the
// program saw is logged in any case.
#include "runtime/record/atomics.h"

#include <type_traits>

#include "runtime/platform/spinlock.h"
#include "runtime/record/stream.h"

using namespace deadheat;
using namespace deadheat::record;

uint32_t __dh_rec_has_fences;

namespace {

// What all locations of one hash share, in one line of the cache. The version is raised under the lock,
// before a location is changed. Two locations that share one only make each other's loads draw a number for
// nothing.
struct alignas(64) Stripe {
  platform::Spinlock lock;
  uint64_t version;
  // REQUIRES: lock held; a location is changed next.
  void change() { __atomic_store_n(&version, version + 1, __ATOMIC_RELEASE); }
};
constexpr unsigned kStripeBits = 11;
Stripe stripes[1 << kStripeBits];

// What this thread holds: a fault of the operation itself lets go of it (atomics.h).
__thread platform::Spinlock* held;

class Hold {
 public:
  explicit Hold(Stripe& stripe) : lock_(stripe.lock) {
    lock_.lock();
    held = &lock_;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }
  ~Hold() {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    held = nullptr;
    lock_.unlock();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  platform::Spinlock& lock_;
};

uint64_t hash_of(const void* address) {
  return (reinterpret_cast<uint64_t>(address) >> 4) * UINT64_C(0x9E3779B97F4A7C15);
}
Stripe& stripe_of(const void* address) { return stripes[hash_of(address) >> (64 - kStripeBits)]; }

bool acquires(uint32_t order) {
  return order == __ATOMIC_CONSUME || order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL ||
         order == __ATOMIC_SEQ_CST;
}

// A load. If this thread has read the location's present version with a sequencer before, at least as
// strongly, then whatever orders this load has ordered that one, and it needs none. That the version is the
// same before and after means that the value is of that version: who changes the location raises it first,
// and loads are not reordered with loads.
template <class T>
uint64_t load_atomic(T* at, uint32_t order) {
  DhRecord* const record = __dh_record;
  Inside const inside(record);
  Stripe& stripe = stripe_of(at);
  auto const address = reinterpret_cast<uint64_t>(at);
  DhSeen& seen = record->seen[hash_of(at) >> 32 & (kDhSeen - 1)];
  uint64_t const wanted = acquires(order) ? 1 : 0;
  uint64_t const version = __atomic_load_n(&stripe.version, __ATOMIC_SEQ_CST);
  if (seen.address == address && seen.version_and_order >> 1 == version &&
      (seen.version_and_order & 1) >= wanted) {
    T const value = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&stripe.version, __ATOMIC_SEQ_CST) == version) {
      value_any(record, address, value, sizeof(T));
      return value;
    }
  }
  T value;
  uint64_t number;
  {
    Hold const hold(stripe);
    value = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    number = draw_number(record);
    seen = {address, stripe.version << 1 | wanted};
  }
  log_sequencer(record, number, uint32_t{kAtomicOperation} + kDhAtomicLoad, address, order | sizeof(T) << 4);
  value_any(record, address, value, sizeof(T));
  return value;
}

template <class T>
uint64_t perform(T* at, T operand, uint32_t operation) {
  using Signed = std::conditional_t<
      sizeof(T) == 1, int8_t,
      std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>>;
  switch (operation) {
    case kDhAtomicStore:
      // To draw its number, behind it, is a fence.
      __atomic_store_n(at, operand, __ATOMIC_RELEASE);
      return 0;
    case kDhAtomicExchange:
      return __atomic_exchange_n(at, operand, __ATOMIC_SEQ_CST);
    case kDhAtomicAdd:
      return __atomic_fetch_add(at, operand, __ATOMIC_SEQ_CST);
    case kDhAtomicSub:
      return __atomic_fetch_sub(at, operand, __ATOMIC_SEQ_CST);
    case kDhAtomicAnd:
      return __atomic_fetch_and(at, operand, __ATOMIC_SEQ_CST);
    case kDhAtomicOr:
      return __atomic_fetch_or(at, operand, __ATOMIC_SEQ_CST);
    case kDhAtomicXor:
      return __atomic_fetch_xor(at, operand, __ATOMIC_SEQ_CST);
    case kDhAtomicNand:
      return __atomic_fetch_nand(at, operand, __ATOMIC_SEQ_CST);
    default:
      break;
  }
  T before = __atomic_load_n(at, __ATOMIC_SEQ_CST);
  for (;;) {
    bool const is_less = operation == kDhAtomicMax || operation == kDhAtomicMin
                             ? static_cast<Signed>(before) < static_cast<Signed>(operand)
                             : before < operand;
    bool const want_larger = operation == kDhAtomicMax || operation == kDhAtomicUMax;
    T const after = is_less == want_larger ? operand : before;
    if (__atomic_compare_exchange_n(at, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      return before;
  }
}

// What the location holds afterwards.
template <class T>
T outcome(T before, T operand, uint32_t operation) {
  T scratch = before;
  perform(&scratch, operand, operation);
  return scratch;
}

template <class T>
uint64_t atomic(T* at, uint64_t operand, uint32_t operation, uint32_t order) {
  if (operation == kDhAtomicLoad) return load_atomic(at, order);
  DhRecord* const record = __dh_record;
  Inside const inside(record);
  auto const address = reinterpret_cast<uint64_t>(at);
  Stripe& stripe = stripe_of(at);
  T before;
  uint64_t number;
  {
    Hold const hold(stripe);
    stripe.change();
    before = static_cast<T>(perform(at, static_cast<T>(operand), operation));
    number = draw_number(record);
  }
  log_sequencer(record, number, static_cast<uint8_t>(uint32_t{kAtomicOperation} + operation), address,
                order | sizeof(T) << 4);
  if (operation != kDhAtomicStore) value_any(record, address, before, sizeof(T));
  store_any(record, address, outcome(before, static_cast<T>(operand), operation), sizeof(T));
  return before;
}

template <class T>
uint64_t compare_exchange(T* at, uint64_t expected, uint64_t desired, uint32_t success, uint32_t failure) {
  DhRecord* const record = __dh_record;
  Inside const inside(record);
  auto const address = reinterpret_cast<uint64_t>(at);
  Stripe& stripe = stripe_of(at);
  T before = static_cast<T>(expected);
  bool done;
  uint64_t number;
  {
    Hold const hold(stripe);
    stripe.change();
    done = __atomic_compare_exchange_n(at, &before, static_cast<T>(desired), false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
    number = draw_number(record);
  }
  log_sequencer(record, number, uint32_t{kAtomicOperation} + kDhAtomicCompareExchange, address,
                (done ? success : failure) | sizeof(T) << 4 | (done ? 1u << 9 : 0));
  value_any(record, address, before, sizeof(T));
  if (done) store_any(record, address, static_cast<T>(desired), sizeof(T));
  return before;
}

}  // namespace

void* deadheat::record::let_go_of_location() {
  platform::Spinlock* const lock = held;
  held = nullptr;
  if (lock != nullptr) lock->unlock();
  return lock;
}

void deadheat::record::hold_location_again(void* lock) {
  held = static_cast<platform::Spinlock*>(lock);
  if (held != nullptr) held->lock();
}

uint64_t __dh_rec_atomic(void* address, uint64_t operand, uint32_t operation, uint32_t size, uint32_t order) {
  switch (size) {
    case 1:
      return atomic(static_cast<uint8_t*>(address), operand, operation, order);
    case 2:
      return atomic(static_cast<uint16_t*>(address), operand, operation, order);
    case 4:
      return atomic(static_cast<uint32_t*>(address), operand, operation, order);
    default:
      return atomic(static_cast<uint64_t*>(address), operand, operation, order);
  }
}

uint64_t __dh_rec_compare_exchange(void* address, uint64_t expected, uint64_t desired, uint32_t size,
                                   uint32_t success, uint32_t failure) {
  switch (size) {
    case 1:
      return compare_exchange(static_cast<uint8_t*>(address), expected, desired, success, failure);
    case 2:
      return compare_exchange(static_cast<uint16_t*>(address), expected, desired, success, failure);
    case 4:
      return compare_exchange(static_cast<uint32_t*>(address), expected, desired, success, failure);
    default:
      return compare_exchange(static_cast<uint64_t*>(address), expected, desired, success, failure);
  }
}

// 16 bytes: load, store, exchange and compare-exchange; everything else was made of these by the plan.
void __dh_rec_atomic16(void* address, const uint64_t* expected, const uint64_t* desired, uint64_t* before,
                       uint32_t operation, uint32_t order) {
  DhRecord* const record = __dh_record;
  Inside const inside(record);
  auto const number = reinterpret_cast<uint64_t>(address);
  auto* const at = static_cast<dh_u128*>(address);
  auto const wide = [](const uint64_t* words) { return static_cast<dh_u128>(words[1]) << 64 | words[0]; };
  bool const compares = operation == kDhAtomicCompareExchange;
  bool const writes = operation != kDhAtomicLoad;
  Stripe& stripe = stripe_of(address);
  dh_u128 seen = 0;
  bool done = false;
  uint64_t drawn;
  {
    Hold const hold(stripe);
    if (writes) stripe.change();
    if (compares) {
      seen = __sync_val_compare_and_swap(at, wide(expected), wide(desired));
      done = seen == wide(expected);
    } else {
      seen = __sync_val_compare_and_swap(at, dh_u128{0}, dh_u128{0});
      while (writes) {
        dh_u128 const now = __sync_val_compare_and_swap(at, seen, wide(desired));
        done = now == seen;
        seen = now;
        if (done) break;
      }
    }
    drawn = draw_number(record);
  }
  log_sequencer(record, drawn, static_cast<uint8_t>(uint32_t{kAtomicOperation} + operation), number,
                order | 16u << 4 | (compares && done ? 1u << 9 : 0));
  before[0] = static_cast<uint64_t>(seen);
  before[1] = static_cast<uint64_t>(seen >> 64);
  if (operation != kDhAtomicStore) {
    value_any(record, number, before[0], 8);
    value_any(record, number + 8, before[1], 8);
  }
  if (writes && (done || !compares)) {
    store_any(record, number, desired[0], 8);
    store_any(record, number + 8, desired[1], 8);
  }
}

void __dh_rec_fence(uint32_t order) {
  DhRecord* const record = __dh_record;
  Inside const inside(record);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  sequence(record, kFence, 0, order);
}
