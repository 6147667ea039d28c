// The hooks of atomic operations: value, order and access in one step.
//
// Which way an operation goes, its cell tells: where something is carried it is done under the granule's lock
// (carried.h); where nothing is, and nothing is released, it is an access like others (quiet.h); alone, it is
// just done. What is unusual goes the general way (atomic_access.h).
#include "runtime/abi.h"
#include "runtime/watch/atomic_access.h"
#include "runtime/watch/atomic_values.h"
#include "runtime/watch/carried.h"
#include "runtime/watch/quiet.h"
#include "runtime/watch/shadow.h"

namespace deadheat::watch {
namespace {

template <class T, class Modification>
uint64_t modification(uintptr_t address, uint64_t operand) {
  return Modification::apply(reinterpret_cast<volatile T*>(address), static_cast<T>(operand));
}
template <class T>
uint64_t storing(uintptr_t address, uint64_t operand) {
  plain_store(reinterpret_cast<volatile T*>(address), static_cast<T>(operand), false);
  return 0;
}

enum class Way {
  kJustDo,   // there is no other thread
  kQuiet,    // nothing is carried
  kCarried,  // something may be
  kGeneral
};
struct Place {
  Thread* thread;
  DhCell* cell;
  DhCell seen;

  FatCell* fat() const { return reinterpret_cast<FatCell*>(seen.half[1]); }
};
template <class T>
__attribute__((always_inline)) inline Way look_at(const volatile T* address, Place* place) {
  auto const at = reinterpret_cast<uintptr_t>(address);
  Thread* const thread = place->thread = current_thread;
  if (__builtin_expect(thread == nullptr, 0)) return Way::kGeneral;
  if (__builtin_expect(is_set(&alone), 0)) return Way::kJustDo;
  if (__builtin_expect(!thread->may_be_quick() || at % sizeof(T) != 0, 0)) return Way::kGeneral;
  place->cell = existing_cell(at);
  if (__builtin_expect(place->cell == nullptr, 0)) return Way::kGeneral;
  place->seen = load_cell(place->cell);
  return carries_nothing(place->seen) ? Way::kQuiet : Way::kCarried;
}
// REQUIRES: look_at did not say kGeneral: the address is aligned.
template <class T>
constexpr Operation operation(uintptr_t at, int order) {
  return Operation(sizeof(T) == 8 ? 0 : at, sizeof(T), order);
}

template <class T>
__attribute__((noinline)) T load_generally(const volatile T* address, int order, uintptr_t pc) {
  AtomicAccess access(address, sizeof(T), pc, false);
  T const value = plain_load(address);
  access.load_done(order);
  return value;
}
template <class T>
__attribute__((noinline)) void store_generally(volatile T* address, T value, int order, uintptr_t pc) {
  AtomicAccess access(address, sizeof(T), pc, releases(order));
  plain_store(address, value, order == kSequentiallyConsistent);
  access.store_done(order);
}
template <class T, class Modification>
__attribute__((noinline)) T modify_generally(volatile T* address, T operand, int order, uintptr_t pc) {
  AtomicAccess access(address, sizeof(T), pc, releases(order));
  T const old = Modification::apply(address, operand);
  access.modify_done(order);
  return old;
}
template <class T>
__attribute__((noinline)) T compare_exchange_generally(volatile T* address, T expected, T desired,
                                                       int success, int failure, uintptr_t pc) {
  AtomicAccess access(address, sizeof(T), pc, releases(success));
  T const old = plain_compare_exchange(address, expected, desired);
  if (old == expected)
    access.modify_done(success);
  else
    access.load_done(failure);
  return old;
}

// What was locked is not what was looked for.
void let_go_of(FatCell* fat) {
  fat->lock.unlock();
  Inside::leave(current_thread);
}
template <class T>
__attribute__((noinline, cold)) T load_elsewhere(const volatile T* address, int order, uintptr_t pc,
                                                 FatCell* fat) {
  let_go_of(fat);
  return load_generally<T>(address, order, pc);
}
template <class T>
__attribute__((noinline, cold)) void store_elsewhere(volatile T* address, T value, int order, uintptr_t pc,
                                                     FatCell* fat) {
  let_go_of(fat);
  store_generally<T>(address, value, order, pc);
}
template <class T, class Modification>
__attribute__((noinline, cold)) T modify_elsewhere(volatile T* address, T operand, int order, uintptr_t pc,
                                                   FatCell* fat) {
  let_go_of(fat);
  return modify_generally<T, Modification>(address, operand, order, pc);
}
template <class T>
__attribute__((noinline, cold)) T compare_exchange_elsewhere(volatile T* address, T expected, T desired,
                                                             int orders, uintptr_t pc, FatCell* fat) {
  let_go_of(fat);
  return compare_exchange_generally<T>(address, expected, desired, orders & 7, orders >> 3, pc);
}

// Loads of the present label from locations that carry something, some of them: address and floor.
constexpr unsigned kRecentLoads = 16;
__thread uint64_t recent_loads[kRecentLoads] __attribute__((tls_model("local-exec")));

// Where something is carried; again with kWait if somebody else has it.
template <class T, bool kWait = false>
__attribute__((noinline)) T load_carried(const volatile T* address, int order, uintptr_t pc,
                                         const DhCell* cell) {
  Thread* const thread = current_thread;
  DhCell const seen = load_cell(cell);
  if (__builtin_expect(carries_nothing(seen), 0)) return load_generally<T>(address, order, pc);
  FatCell* const fat = reinterpret_cast<FatCell*>(seen.half[1]);
  auto const at = reinterpret_cast<uintptr_t>(address);
  Operation const what = operation<T>(at, order);
  // The first load of a label is not covered, usually, but the next ones are.
  uint64_t* const recent = &recent_loads[at / 8 % kRecentLoads];
  uint64_t const this_one = at ^ thread->hot->floor;
  if (!kWait && *recent == this_one) {
    uint32_t const version = fat->lock.version();
    T const value = plain_load(address);
    if (nothing_to_do(thread, fat, version, cell, at, what) && fat->lock.still(version)) return value;
  }
  *recent = this_one;
  SyncVar* sync;
  switch (lock_carried<kWait, Needs::kSyncToLearn>(thread, at, cell, fat, &sync)) {
    case Locked::kYes:
      return static_cast<T>(load_done(thread, fat, sync, at, what, order, pc, plain_load(address)));
    case Locked::kBusy:
      leave_quickly(thread, 0);
      return load_carried<T, true>(address, order, pc, cell);
    case Locked::kMistaken:
      return load_elsewhere<T>(address, order, pc, fat);
    case Locked::kGateClosed:
      break;
  }
  return load_generally<T>(address, order, pc);
}

template <class T, bool kWait = false>
__attribute__((noinline)) void store_carried(volatile T* address, T value, int order, uintptr_t pc,
                                             const DhCell* cell, FatCell* fat) {
  Thread* const thread = current_thread;
  auto const at = reinterpret_cast<uintptr_t>(address);
  SyncVar* sync;
  switch (lock_carried<kWait>(thread, at, cell, fat, &sync)) {
    case Locked::kYes:
      plain_store(address, value, order == kSequentiallyConsistent);
      return store_done(thread, fat, sync, at, operation<T>(at, order), order, pc);
    case Locked::kBusy:
      leave_quickly(thread, 0);
      return store_carried<T, true>(address, value, order, pc, cell, fat);
    case Locked::kMistaken:
      return store_elsewhere<T>(address, value, order, pc, fat);
    case Locked::kGateClosed:
      break;
  }
  store_generally<T>(address, value, order, pc);
}

template <class T, class Modification, bool kWait = false>
__attribute__((noinline)) T modify_carried(volatile T* address, T operand, int order, uintptr_t pc,
                                           const DhCell* cell, FatCell* fat) {
  Thread* const thread = current_thread;
  auto const at = reinterpret_cast<uintptr_t>(address);
  SyncVar* sync;
  switch (lock_carried<kWait>(thread, at, cell, fat, &sync)) {
    case Locked::kYes: {
      T const old = Modification::apply(address, operand);
      return static_cast<T>(modify_done(thread, fat, sync, at, operation<T>(at, order), order, pc, old));
    }
    case Locked::kBusy:
      leave_quickly(thread, 0);
      return modify_carried<T, Modification, true>(address, operand, order, pc, cell, fat);
    case Locked::kMistaken:
      return modify_elsewhere<T, Modification>(address, operand, order, pc, fat);
    case Locked::kGateClosed:
      break;
  }
  return modify_generally<T, Modification>(address, operand, order, pc);
}

// `orders`: of success, and eight times that of failure.
template <class T, bool kWait = false>
__attribute__((noinline)) T compare_exchange_carried(volatile T* address, T expected, T desired, int orders,
                                                     uintptr_t pc, DhCell* cell) {
  Thread* const thread = current_thread;
  auto const at = reinterpret_cast<uintptr_t>(address);
  int const success = orders & 7;
  int const failure = orders >> 3;
  DhCell const seen = load_cell(cell);
  if (__builtin_expect(!carries_nothing(seen), 1)) {
    FatCell* const fat = reinterpret_cast<FatCell*>(seen.half[1]);
    SyncVar* sync;
    switch (lock_carried<kWait>(thread, at, cell, fat, &sync)) {
      case Locked::kYes: {
        T const old = plain_compare_exchange(address, expected, desired);
        if (old == expected) {
          return static_cast<T>(
              modify_done(thread, fat, sync, at, operation<T>(at, success), success, pc, old));
        }
        return static_cast<T>(load_done(thread, fat, sync, at, operation<T>(at, failure), failure, pc, old));
      }
      case Locked::kBusy:
        leave_quickly(thread, 0);
        return compare_exchange_carried<T, true>(address, expected, desired, orders, pc, cell);
      case Locked::kMistaken:
        return compare_exchange_elsewhere<T>(address, expected, desired, orders, pc, fat);
      case Locked::kGateClosed:
        break;
    }
  }
  return compare_exchange_generally<T>(address, expected, desired, success, failure, pc);
}

template <class T>
__attribute__((noinline)) T compare_exchange_quietly(volatile T* address, T expected, T desired, int orders,
                                                     uintptr_t pc, DhCell* cell) {
  Thread* const thread = current_thread;
  auto const at = reinterpret_cast<uintptr_t>(address);
  Operation const what = operation<T>(at, orders & 7);
  if (!begin_quiet(thread, at, what, pc, cell))
    return compare_exchange_generally(address, expected, desired, orders & 7, orders >> 3, pc);
  T const old = plain_compare_exchange(address, expected, desired);
  end_quiet(thread, at, what, pc, cell, old == expected);
  return old;
}

// The hooks: which way? All go on by calls in tail position, so that no register needs to be kept.
template <class T>
__attribute__((always_inline)) inline T atomic_load(const volatile T* address, int order, uintptr_t pc) {
  if constexpr (sizeof(T) <= 8) {
    auto const at = reinterpret_cast<uintptr_t>(address);
    const Thread* const thread = current_thread;
    DhCell* const cell = existing_cell(at);
    if (__builtin_expect(thread == nullptr || cell == nullptr, 0))
      return load_generally<T>(address, order, pc);
    // Value first, then the halves: one that is an access says that nothing was carried when it was looked
    // at.
    T const value = plain_load(address);
    uint64_t const h0 = __atomic_load_n(&cell->half[0], __ATOMIC_RELAXED);
    bool const quiet = carries_nothing({{h0, 0}});
    Operation const what = operation<T>(at, order);
    if (quiet) {
      uint64_t const h1 = __atomic_load_n(&cell->half[1], __ATOMIC_RELAXED);
      if (is_covered_atomic({{h0, h1}}, thread->hot->floor, what.mask())) return value;
    }
    if (__builtin_expect(is_set(&alone), 0)) return value;
    if (__builtin_expect(!thread->may_be_quick() || at % sizeof(T) != 0, 0))
      return load_generally<T>(address, order, pc);
    if constexpr (sizeof(T) == sizeof(void*)) want_what_is_at(value);
    if (quiet) return static_cast<T>(quiet_load<T>(at, what, pc, cell));
    return load_carried<T>(address, order, pc, cell);
  } else {
    return load_generally<T>(address, order, pc);
  }
}

template <class T>
__attribute__((always_inline)) inline void atomic_store(volatile T* address, T value, int order,
                                                        uintptr_t pc) {
  if constexpr (sizeof(T) <= 8) {
    auto const at = reinterpret_cast<uintptr_t>(address);
    Place place;
    switch (look_at(address, &place)) {
      case Way::kJustDo:
        return plain_store(address, value, order == kSequentiallyConsistent);
      case Way::kQuiet:
        if (releases(order)) break;
        quiet_store(at, value, storing<T>, operation<T>(at, order), pc, place.cell);
        return;
      case Way::kCarried:
        return store_carried<T>(address, value, order, pc, place.cell, place.fat());
      case Way::kGeneral:
        break;
    }
  }
  store_generally<T>(address, value, order, pc);
}

template <class T, class Modification>
__attribute__((always_inline)) inline T atomic_modify(volatile T* address, T operand, int order,
                                                      uintptr_t pc) {
  if constexpr (sizeof(T) <= 8) {
    auto const at = reinterpret_cast<uintptr_t>(address);
    Place place;
    switch (look_at(address, &place)) {
      case Way::kJustDo:
        return Modification::apply(address, operand);
      case Way::kQuiet:
        if (releases(order)) break;
        return static_cast<T>(quiet_modify(at, operand, modification<T, Modification>,
                                           operation<T>(at, order), pc, place.cell));
      case Way::kCarried:
        return modify_carried<T, Modification>(address, operand, order, pc, place.cell, place.fat());
      case Way::kGeneral:
        break;
    }
  }
  return modify_generally<T, Modification>(address, operand, order, pc);
}

template <class T>
__attribute__((always_inline)) inline T atomic_compare_exchange(volatile T* address, T expected, T desired,
                                                                int success, int failure, uintptr_t pc) {
  if constexpr (sizeof(T) <= 8) {
    Place place;
    switch (look_at(address, &place)) {
      case Way::kJustDo:
        return plain_compare_exchange(address, expected, desired);
      case Way::kQuiet:
        if (releases(success)) break;
        return compare_exchange_quietly(address, expected, desired, success | failure << 3, pc, place.cell);
      case Way::kCarried:
        return compare_exchange_carried(address, expected, desired, success | failure << 3, pc, place.cell);
      case Way::kGeneral:
        break;
    }
  }
  return compare_exchange_generally(address, expected, desired, success, failure, pc);
}

}  // namespace
}  // namespace deadheat::watch

using namespace deadheat::watch;

#define DH_PC reinterpret_cast<uintptr_t>(__builtin_return_address(0))
#define DH_MODIFY(N, T, hook, Modification)                    \
  T __dh_atomic_##hook##N(volatile T* a, T v, int order) {     \
    return atomic_modify<T, Modification>(a, v, order, DH_PC); \
  }
#define DH_ATOMICS(N, T)                                                                              \
  T __dh_atomic_load##N(const volatile T* a, int order) { return atomic_load<T>(a, order, DH_PC); }   \
  void __dh_atomic_store##N(volatile T* a, T v, int order) { atomic_store<T>(a, v, order, DH_PC); }   \
  T __dh_atomic_compare_exchange##N(volatile T* a, T expected, T desired, int success, int failure) { \
    return atomic_compare_exchange<T>(a, expected, desired, success, failure, DH_PC);                 \
  }                                                                                                   \
  DH_MODIFY(N, T, exchange, Exchange)                                                                 \
  DH_MODIFY(N, T, fetch_add, Add)                                                                     \
  DH_MODIFY(N, T, fetch_sub, Subtract)                                                                \
  DH_MODIFY(N, T, fetch_and, And)                                                                     \
  DH_MODIFY(N, T, fetch_or, Or)                                                                       \
  DH_MODIFY(N, T, fetch_xor, Xor)                                                                     \
  DH_MODIFY(N, T, fetch_nand, Nand)
DH_ATOMICS(8, uint8_t)
DH_ATOMICS(16, uint16_t)
DH_ATOMICS(32, uint32_t)
DH_ATOMICS(64, uint64_t)
DH_ATOMICS(128, dh_u128)

// The compiler's own instruction runs between these two, or libatomic; the first granule stays locked
// meanwhile.
namespace {
struct Open {
  alignas(AtomicAccess) char storage[sizeof(AtomicAccess)];
};
__thread Open open_access __attribute__((tls_model("local-exec")));
}  // namespace

inline void* operator new(size_t, Open* at) { return at->storage; }

void __dh_atomic_begin(const volatile void* address, size_t size, DhHeldOperation operation, int order) {
  bool const may_release = operation != kDhHeldLoad && releases(order);
  new (&open_access) AtomicAccess(address, static_cast<unsigned>(size), DH_PC, may_release);
}
void __dh_atomic_end(const volatile void*, size_t, DhHeldOperation operation, int order) {
  auto* const access = reinterpret_cast<AtomicAccess*>(open_access.storage);
  switch (operation) {
    case kDhHeldLoad:
      access->load_done(order);
      break;
    case kDhHeldStore:
      access->store_done(order);
      break;
    case kDhHeldUpdate:
      access->modify_done(order);
      break;
  }
  access->~AtomicAccess();
}

void __dh_atomic_fence(int order) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  Thread* const thread = current_or_adopt();
  if (thread == nullptr || thread->ignore_sync != 0) return;
  Inside const inside(thread);
  if (acquires(order) && thread->clock.join(thread->fence_acquire)) thread->learnt();
  if (releases(order)) {
    publish(thread);
    thread->fence_release.assign(thread->clock);
  }
}
void __dh_atomic_signal_fence(int) { __asm__ volatile("" : : : "memory"); }
