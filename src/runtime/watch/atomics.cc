// The hooks of atomic operations: value, order and access in one step.
//
// Which way an operation goes, its cell tells: where something is carried it is done under the granule's lock
// (carried.h); where nothing is, and nothing is released, it is an access like others (quiet.h); alone, it is
// just done. What is unusual goes the general way (atomic_access.h).
#include "runtime/abi.h"
#include "runtime/watch/atomic_access.h"
#include "runtime/watch/carried.h"
#include "runtime/watch/quiet.h"
#include "runtime/watch/shadow.h"

namespace deadheat::watch {
namespace {

// One byte of memory, by one instruction that compares it: an atomic load of a bool takes three. No processor
// of this kind needs more for an acquire load.
inline bool is_set(const bool* flag) {
  bool set;
  __asm__ volatile("cmpb $0, %1" : "=@ccne"(set) : "m"(*flag) : "memory");
  return set;
}

// The operations themselves, sequentially consistent: never weaker than what was asked for. 16 bytes go
// through cmpxchg16b, whatever the compiler thinks of libatomic.
template <class T>
T plain_compare_exchange(volatile T* address, T expected, T desired) {
  return __sync_val_compare_and_swap(address, expected, desired);
}
template <class T>
T plain_load(const volatile T* address) {
  if constexpr (sizeof(T) == 16)
    return plain_compare_exchange(const_cast<volatile T*>(address), T{0}, T{0});
  else
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);
}
template <class T, class F>
T plain_modify(volatile T* address, F changed) {
  T old = plain_load(address);
  for (;;) {
    T const seen = plain_compare_exchange(address, old, static_cast<T>(changed(old)));
    if (seen == old) return old;
    old = seen;
  }
}

#define DH_MODIFICATION(Name, builtin, expression)                                                    \
  struct Name {                                                                                       \
    template <class T>                                                                                \
    static T apply(volatile T* address, T operand) {                                                  \
      if constexpr (sizeof(T) == 16)                                                                  \
        return plain_modify(address, [operand](T old) -> T { return static_cast<T>((expression)); }); \
      else                                                                                            \
        return builtin(address, operand, __ATOMIC_SEQ_CST);                                           \
    }                                                                                                 \
  }
DH_MODIFICATION(Exchange, __atomic_exchange_n, (static_cast<void>(old), operand));
DH_MODIFICATION(Add, __atomic_fetch_add, old + operand);
DH_MODIFICATION(Subtract, __atomic_fetch_sub, old - operand);
DH_MODIFICATION(And, __atomic_fetch_and, old& operand);
DH_MODIFICATION(Or, __atomic_fetch_or, old | operand);
DH_MODIFICATION(Xor, __atomic_fetch_xor, old ^ operand);
DH_MODIFICATION(Nand, __atomic_fetch_nand, ~(old& operand));
#undef DH_MODIFICATION

// A store is sequentially consistent only if it must be: that is an exchange, and any other store of a
// processor of this kind releases. Who is told by a lock that it is over sees it.
template <class T>
void plain_store(volatile T* address, T value, bool sequentially_consistent) {
  if constexpr (sizeof(T) == 16)
    Exchange::apply(address, value);
  else if (sequentially_consistent)
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);
  else
    __atomic_store_n(address, value, __ATOMIC_RELEASE);
}
constexpr int kSequentiallyConsistent = 5;

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
  DhCell* const chunk = __dh_shadow[at >> kDhChunkBits];
  if (__builtin_expect(chunk == nullptr, 0)) return Way::kGeneral;
  place->cell = chunk + cell_index(at);
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
__thread uint64_t recent_loads[kRecentLoads] __attribute__((tls_model("initial-exec")));

template <class T, bool kWait>
__attribute__((noinline)) T load_carried(const volatile T* address, int order, uintptr_t pc,
                                         const DhCell* cell, FatCell* fat) {
  Thread* const thread = current_thread;
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
  switch (lock_carried<kWait>(thread, at, cell, fat, &sync)) {
    case Locked::kYes:
      return static_cast<T>(load_done(thread, fat, sync, at, what, pc, plain_load(address)));
    case Locked::kBusy:
      leave_quickly(thread, 0);
      return load_carried<T, true>(address, order, pc, cell, fat);
    case Locked::kMistaken:
      return load_elsewhere<T>(address, order, pc, fat);
    case Locked::kGateClosed:
      break;
  }
  return load_generally<T>(address, order, pc);
}

template <class T>
__attribute__((always_inline)) inline T atomic_load(const volatile T* address, int order, uintptr_t pc) {
  if constexpr (sizeof(T) <= 8) {
    auto const at = reinterpret_cast<uintptr_t>(address);
    Place place;
    T const value = plain_load(address);
    switch (look_at(address, &place)) {
      case Way::kJustDo:
        return value;
      case Way::kQuiet: {
        // What is covered at a glance needs neither stack nor registers that must be saved.
        Operation const what = operation<T>(at, order);
        if (is_covered_atomic(place.seen, place.thread->hot->floor, what.mask())) return value;
        return static_cast<T>(quiet_load<T>(at, what, pc, place.cell));
      }
      case Way::kCarried:
        return load_carried<T, false>(address, order, pc, place.cell, place.fat());
      case Way::kGeneral:
        break;
    }
  }
  return load_generally<T>(address, order, pc);
}

template <class T, bool kWait>
__attribute__((always_inline)) inline void atomic_store(volatile T* address, T value, int order,
                                                        uintptr_t pc);
// Somebody else has it: once more, waiting for them.
template <class T>
__attribute__((noinline)) void store_waiting(volatile T* address, T value, int order, uintptr_t pc) {
  leave_quickly(current_thread, 0);
  atomic_store<T, true>(address, value, order, pc);
}
template <class T, bool kWait>
__attribute__((always_inline)) inline void atomic_store(volatile T* address, T value, int order,
                                                        uintptr_t pc) {
  if constexpr (sizeof(T) <= 8) {
    auto const at = reinterpret_cast<uintptr_t>(address);
    Place place;
    SyncVar* sync;
    switch (look_at(address, &place)) {
      case Way::kJustDo:
        return plain_store(address, value, order == kSequentiallyConsistent);
      case Way::kQuiet:
        if (releases(order)) break;
        quiet_store(at, value, storing<T>, operation<T>(at, order), pc, place.cell);
        return;
      case Way::kCarried:
        switch (lock_carried<kWait>(place.thread, at, place.cell, place.fat(), &sync)) {
          case Locked::kYes:
            plain_store(address, value, order == kSequentiallyConsistent);
            return store_done(place.thread, place.fat(), sync, at, operation<T>(at, order), pc);
          case Locked::kBusy:
            return store_waiting<T>(address, value, order, pc);
          case Locked::kMistaken:
            return store_elsewhere<T>(address, value, order, pc, place.fat());
          case Locked::kGateClosed:
            break;
        }
        break;
      case Way::kGeneral:
        break;
    }
  }
  store_generally<T>(address, value, order, pc);
}

template <class T, class Modification, bool kWait>
__attribute__((always_inline)) inline T atomic_modify(volatile T* address, T operand, int order,
                                                      uintptr_t pc);
template <class T, class Modification>
__attribute__((noinline)) T modify_waiting(volatile T* address, T operand, int order, uintptr_t pc) {
  leave_quickly(current_thread, 0);
  return atomic_modify<T, Modification, true>(address, operand, order, pc);
}
template <class T, class Modification, bool kWait>
__attribute__((always_inline)) inline T atomic_modify(volatile T* address, T operand, int order,
                                                      uintptr_t pc) {
  if constexpr (sizeof(T) <= 8) {
    auto const at = reinterpret_cast<uintptr_t>(address);
    Place place;
    SyncVar* sync;
    switch (look_at(address, &place)) {
      case Way::kJustDo:
        return Modification::apply(address, operand);
      case Way::kQuiet:
        if (releases(order)) break;
        return static_cast<T>(quiet_modify(at, operand, modification<T, Modification>,
                                           operation<T>(at, order), pc, place.cell));
      case Way::kCarried:
        switch (lock_carried<kWait>(place.thread, at, place.cell, place.fat(), &sync)) {
          case Locked::kYes:
            return static_cast<T>(modify_done(place.thread, place.fat(), sync, at, operation<T>(at, order),
                                              pc, Modification::apply(address, operand)));
          case Locked::kBusy:
            return modify_waiting<T, Modification>(address, operand, order, pc);
          case Locked::kMistaken:
            return modify_elsewhere<T, Modification>(address, operand, order, pc, place.fat());
          case Locked::kGateClosed:
            break;
        }
        break;
      case Way::kGeneral:
        break;
    }
  }
  return modify_generally<T, Modification>(address, operand, order, pc);
}

template <class T>
__attribute__((noinline)) T compare_exchange_quietly(volatile T* address, T expected, T desired, int success,
                                                     int failure, uintptr_t pc) {
  Thread* const thread = current_thread;
  auto const at = reinterpret_cast<uintptr_t>(address);
  DhCell* const cell = &existing_chunk(at)->cells[cell_index(at)];
  Operation const what = operation<T>(at, success);
  if (!begin_quiet(thread, at, what, pc, cell))
    return compare_exchange_generally(address, expected, desired, success, failure, pc);
  T const old = plain_compare_exchange(address, expected, desired);
  end_quiet(thread, at, what, pc, cell, old == expected);
  return old;
}

template <class T, bool kWait>
__attribute__((always_inline)) inline T atomic_compare_exchange(volatile T* address, T expected, T desired,
                                                                int success, int failure, uintptr_t pc);
template <class T>
__attribute__((noinline)) T compare_exchange_waiting(volatile T* address, T expected, T desired, int success,
                                                     int failure, uintptr_t pc) {
  leave_quickly(current_thread, 0);
  return atomic_compare_exchange<T, true>(address, expected, desired, success, failure, pc);
}
template <class T, bool kWait>
__attribute__((always_inline)) inline T atomic_compare_exchange(volatile T* address, T expected, T desired,
                                                                int success, int failure, uintptr_t pc) {
  if constexpr (sizeof(T) <= 8) {
    auto const at = reinterpret_cast<uintptr_t>(address);
    Place place;
    SyncVar* sync;
    switch (look_at(address, &place)) {
      case Way::kJustDo:
        return plain_compare_exchange(address, expected, desired);
      case Way::kQuiet:
        if (releases(success)) break;
        return compare_exchange_quietly(address, expected, desired, success, failure, pc);
      case Way::kCarried:
        switch (lock_carried<kWait>(place.thread, at, place.cell, place.fat(), &sync)) {
          case Locked::kYes: {
            T const old = plain_compare_exchange(address, expected, desired);
            if (old == expected) {
              return static_cast<T>(
                  modify_done(place.thread, place.fat(), sync, at, operation<T>(at, success), pc, old));
            }
            return static_cast<T>(
                load_done(place.thread, place.fat(), sync, at, operation<T>(at, failure), pc, old));
          }
          case Locked::kBusy:
            return compare_exchange_waiting<T>(address, expected, desired, success, failure, pc);
          case Locked::kMistaken:
            return compare_exchange_elsewhere<T>(address, expected, desired, success | failure << 3, pc,
                                                 place.fat());
          case Locked::kGateClosed:
            break;
        }
        break;
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
#define DH_MODIFY(N, T, hook, Modification)                           \
  T __dh_atomic_##hook##N(volatile T* a, T v, int order) {            \
    return atomic_modify<T, Modification, false>(a, v, order, DH_PC); \
  }
#define DH_ATOMICS(N, T)                                                                                   \
  T __dh_atomic_load##N(const volatile T* a, int order) { return atomic_load<T>(a, order, DH_PC); }        \
  void __dh_atomic_store##N(volatile T* a, T v, int order) { atomic_store<T, false>(a, v, order, DH_PC); } \
  T __dh_atomic_compare_exchange##N(volatile T* a, T expected, T desired, int success, int failure) {      \
    return atomic_compare_exchange<T, false>(a, expected, desired, success, failure, DH_PC);               \
  }                                                                                                        \
  DH_MODIFY(N, T, exchange, Exchange)                                                                      \
  DH_MODIFY(N, T, fetch_add, Add)                                                                          \
  DH_MODIFY(N, T, fetch_sub, Subtract)                                                                     \
  DH_MODIFY(N, T, fetch_and, And)                                                                          \
  DH_MODIFY(N, T, fetch_or, Or)                                                                            \
  DH_MODIFY(N, T, fetch_xor, Xor)                                                                          \
  DH_MODIFY(N, T, fetch_nand, Nand)
DH_ATOMICS(8, uint8_t)
DH_ATOMICS(16, uint16_t)
DH_ATOMICS(32, uint32_t)
DH_ATOMICS(64, uint64_t)
DH_ATOMICS(128, dh_u128)

// The compiler's own instruction runs between these two; the granule stays locked meanwhile.
namespace {
struct Open {
  alignas(AtomicAccess) char storage[sizeof(AtomicAccess)];
};
__thread Open open_access __attribute__((tls_model("initial-exec")));
}  // namespace

inline void* operator new(size_t, Open* at) { return at->storage; }

void __dh_atomic_begin(const volatile void* address, size_t size, int) {
  new (&open_access) AtomicAccess(address, static_cast<unsigned>(size), DH_PC, true);
}
void __dh_atomic_end(const volatile void*, size_t, int order) {
  auto* const access = reinterpret_cast<AtomicAccess*>(open_access.storage);
  access->modify_done(order);
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
