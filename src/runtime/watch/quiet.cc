#include "runtime/watch/quiet.h"

#include "runtime/platform/syscalls.h"
#include "runtime/watch/join_in_place.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/quick_inside.h"
#include "runtime/watch/same_place.h"

namespace deadheat::watch {
namespace {

// By slot; 0: at none.
struct alignas(64) QuietGranule {
  uintptr_t granule;
};
QuietGranule quiet_granule[kSlots];

constexpr uintptr_t granule_of(uintptr_t address) { return address & ~uintptr_t{7}; }

template <bool kWrite>
constexpr uint64_t kKind = (kWrite ? uint64_t{kDhWriteBit} : 0) | kDhAtomicBit;
template <bool kWrite>
constexpr uint32_t site_of_size(unsigned size) {
  return size | (kWrite ? uint32_t{kWriteSite} : 0) | kAtomicSite;
}

// Pairs of stacks whose first is the one of that place.
__thread SamePlaces first_places __attribute__((tls_model("local-exec")));

// What counters come to: the access that stands first, made again, at the same place, with a later label,
// beside nothing or another atomic one. Then only the label changes.
template <bool kWrite>
__attribute__((always_inline)) inline bool is_same_access(const DhCell& old, uint64_t floor, Operation what) {
  return ((old.half[0] ^ (floor | kKind<kWrite> | what.mask())) & kSameAccess) == 0 &&
         ((old.half[1] & 0xff) == 0 || (old.half[1] & kDhAtomicBit) != 0);
}
template <bool kWrite>
__attribute__((always_inline)) inline bool is_same_place(const Thread* thread, Operation what, uintptr_t pc,
                                                         const DhCell& old) {
  return first_places.has(thread, shape_of(old), pc, site_of_size<kWrite>(what.size()));
}
// Do bytes join others that were touched at the same place? Then the pair of stacks stays what it is,
// whatever the bytes are: combinations of bytes are too many for the table of pairs.
__attribute__((always_inline)) inline bool joins_its_own(const DhCell& old, const quick::Change& change,
                                                         StackId stack) {
  auto const move = static_cast<Move>(change.how & 7);
  if (move == Move::kIntoFirst) return shape_stacks(shape_of(old)).first == stack;
  return move == Move::kIntoSecond && shape_stacks(shape_of(old)).second == stack;
}

// The cell after the access, as quickest_access (quick.h) finds it for plain ones; false if the tables do not
// have it. REQUIRES: the thread is inside the runtime.
template <bool kWrite>
__attribute__((always_inline)) inline bool find_next(const Thread* thread, uintptr_t address, Operation what,
                                                     uintptr_t pc, const DhCell& old, DhCell* next) {
  if (is_fat(old)) return false;
  uint64_t const floor = thread->hot->floor;
  quick::Change const change =
      quick::change_of(thread, old.half[0], old.half[1], floor, kKind<kWrite>, what.mask());
  if (change.how == quick::kNotQuick) return false;
  quick::Place place;
  if (!quick::find_place(thread, pc, site_of_size<kWrite>(what.size()), &place)) return false;
  if (change.how == quick::kAlone) {
    *next = {{change.first | place.alone_in_half[0], place.alone_in_half[1]}};
    if ((old.half[0] | old.half[1]) == 0) note_touched(existing_chunk(address), cell_index(address));
  } else if (joins_its_own(old, change, place.stack)) {
    *next = {{change.first, change.second != 0 ? change.second : old.half[1]}};
    return true;
  } else {
    if (!quick::find_pair(thread, old, change.how, place.stack, change.first, change.second, next))
      return false;
    if (change.how != static_cast<uint32_t>(Move::kBeforeFirst) &&
        change.how != static_cast<uint32_t>(Move::kBeforeSecond))
      return true;
  }
  // It stands first.
  first_places.add(thread, shape_of(*next), pc, site_of_size<kWrite>(what.size()));
  return true;
}

}  // namespace

uintptr_t quiet_granule_of(const Thread* thread) { return quiet_granule[thread->slot].granule; }
void set_quiet_granule_of(const Thread* thread, uintptr_t granule) {
  __atomic_exchange_n(&quiet_granule[thread->slot].granule, granule, __ATOMIC_SEQ_CST);
}

namespace {

// Makes the tables have it. False: that would not help.
template <bool kWrite>
bool fill_tables(Thread* thread, uintptr_t address, Operation what, uintptr_t pc, const DhCell* cell) {
  Inside const inside(thread);
  const QuickCache::Site* const site = site_of(thread, pc, site_of_size<kWrite>(what.size()));
  DhCell const old = load_cell(cell);
  if (site == nullptr || is_fat(old)) return false;
  DhCell next;
  return quick::next_cell(thread, address, old, thread->hot->floor, kKind<kWrite>, what.mask(), *site, &next);
}

__attribute__((always_inline)) inline void leave_granule(Thread* thread) {
  __atomic_store_n(&quiet_granule[thread->slot].granule, uintptr_t{0}, __ATOMIC_RELEASE);
}

// Enters the granule, with the access recorded. False: nothing was done.
// REQUIRES: the thread is inside the runtime.
template <bool kWrite>
bool enter_granule(Thread* thread, uintptr_t address, Operation what, uintptr_t pc, DhCell* cell) {
  uint64_t const need = what.mask() | (kWrite ? uint64_t{kDhWriteBit} : 0);
  uint64_t const floor = thread->hot->floor;
  uintptr_t* const at = &quiet_granule[thread->slot].granule;
  DhCell const old = load_halves(cell);
  if (is_covered_atomic(old, floor, need)) {
    __atomic_exchange_n(at, granule_of(address), __ATOMIC_SEQ_CST);
    DhCell const now = load_cell(cell);
    if (__builtin_expect(carries_nothing(now) && is_covered_atomic(now, floor, need), 1)) return true;
  } else {
    DhCell next;
    if (!find_next<kWrite>(thread, address, what, pc, old, &next)) return false;
    thread->span.note_used();
    __atomic_store_n(at, granule_of(address), __ATOMIC_RELAXED);
    if (__builtin_expect(compare_and_swap_cell(cell, old, next), 1)) return true;
  }
  leave_granule(thread);
  return false;
}

// The same with tables to fill, and again if somebody else was faster.
template <bool kWrite>
bool enter_granule_slowly(Thread* thread, uintptr_t address, Operation what, uintptr_t pc, DhCell* cell) {
  for (int tries = 0; tries < 4; ++tries) {
    if (enter_granule<kWrite>(thread, address, what, pc, cell)) return true;
    if (is_fat(load_cell(cell)) || !fill_tables<kWrite>(thread, address, what, pc, cell)) return false;
  }
  return false;
}

// The FatCell of a long cell where nothing is carried, locked; null if that is not so. The call stack is
// found while its line is on the way; 0 if it is not in the table.
template <bool kWrite>
__attribute__((always_inline)) inline FatCell* lock_quiet(const Thread* thread, const DhCell* cell,
                                                          Operation what, uintptr_t pc, StackId* stack) {
  DhCell const seen = load_cell(cell);
  if (__builtin_expect(!is_fat(seen) || is_by_pointer(seen) || is_bytewise(seen), 0)) return nullptr;
  FatCell* const fat = fat_of(seen);
  platform::want_line(fat);
  quick::Place place;
  *stack = quick::find_place(thread, pc, site_of_size<kWrite>(what.size()), &place) ? place.stack : 0;
  fat->lock.lock();
  if (__builtin_expect(fat->owner == cell && !fat->has_syncs, 1)) return fat;
  fat->lock.unlock();
  return nullptr;
}

// REQUIRES: it is not covered. `is_new`: InPlace::kNew.
template <bool kWrite>
__attribute__((noinline)) void record_and_unlock(Thread* thread, FatCell* fat, uintptr_t address,
                                                 Operation what, uintptr_t pc, bool is_new) {
  Record access = atomic_record(thread, kWrite, static_cast<uint8_t>(what.mask()));
  access.stack = site_stack(thread, pc, site_of_size<kWrite>(what.size()));
  thread->span.note_used();
  if (is_new && add_in_place(thread, fat, access)) return fat->lock.unlock();
  Races races(thread);
  record_in_fat(thread, fat, granule_of(address), access, &races);
  unlock_fat(thread, fat);
  if (__builtin_expect(races.count != 0, 0)) {
    tell_races(thread,
               {address, what.size(), kWrite ? AccessType::kAtomicWrite : AccessType::kAtomicRead, pc},
               &races);
  }
}

// Records the access in a FatCell that is locked, and unlocks it.
template <bool kWrite>
__attribute__((always_inline)) inline void note_and_unlock(Thread* thread, FatCell* fat, uintptr_t address,
                                                           Operation what, uintptr_t pc, StackId stack) {
  constexpr uint64_t kKindOfRecord = (kWrite ? Record::kWrite : 0) | Record::kAtomic;
  uint64_t const now = thread->epoch().bits() | what.record_mask() | kKindOfRecord;
  InPlace const done = join_in_place(thread, fat, now, stack);
  if (__builtin_expect(done == InPlace::kNo || done == InPlace::kNew, 0))
    return record_and_unlock<kWrite>(thread, fat, address, what, pc, done == InPlace::kNew);
  thread->span.note_used();
  fat->lock.unlock();
}

template <bool kStore>
__attribute__((noinline)) uint64_t change_slowly(uintptr_t address, uint64_t operand, Change change,
                                                 Operation what, uintptr_t pc, DhCell* cell) {
  Thread* const thread = current_thread;
  {
    Inside const inside(thread);
    uint64_t value;
    bool done = false;
    if (!thread->fence_release.empty()) {
      // What it publishes is the general way's business.
    } else if (enter_granule_slowly<true>(thread, address, what, pc, cell)) {
      value = change(address, operand);
      leave_granule(thread);
      done = true;
    }
    if (done) {
      ++thread->statistics.atomics;
      return value;
    }
  }
  AtomicAccess access(reinterpret_cast<void*>(address), what.size(), pc, false);
  uint64_t const value = change(address, operand);
  if (kStore)
    access.store_done(what.order());
  else
    access.modify_done(what.order());
  return value;
}

// In a long cell, under its lock. REQUIRES: the thread is inside the runtime.
template <bool kStore>
__attribute__((noinline)) uint64_t change_in_long(uintptr_t address, uint64_t operand, Change change,
                                                  Operation what, uintptr_t pc, DhCell* cell) {
  Thread* const thread = current_thread;
  StackId stack;
  FatCell* const fat = __builtin_expect(thread->fence_release.empty(), 1)
                           ? lock_quiet<true>(thread, cell, what, pc, &stack)
                           : nullptr;
  if (__builtin_expect(fat == nullptr, 0)) {
    leave_quickly(thread, 0);
    return change_slowly<kStore>(address, operand, change, what, pc, cell);
  }
  ++thread->statistics.atomics;
  uint64_t const value = change(address, operand);
  note_and_unlock<true>(thread, fat, address, what, pc, stack);
  return leave_quickly(thread, value);
}

template <bool kStore>
__attribute__((always_inline)) inline uint64_t change_quietly(uintptr_t address, uint64_t operand,
                                                              Change change, Operation what, uintptr_t pc,
                                                              DhCell* cell) {
  Thread* const thread = current_thread;
  if (__builtin_expect(!enter_quickly(thread), 0))
    return change_slowly<kStore>(address, operand, change, what, pc, cell);
  // From here on no handler of a signal can give the thread another label.
  uint64_t const floor = thread->hot->floor;
  DhCell const old = load_halves(cell);
  if (__builtin_expect(!is_same_access<true>(old, floor, what), 0) ||
      __builtin_expect(!thread->fence_release.empty(), 0)) {
    if (is_fat(old)) return change_in_long<kStore>(address, operand, change, what, pc, cell);
    leave_quickly(thread, 0);
    return change_slowly<kStore>(address, operand, change, what, pc, cell);
  }
  uintptr_t* const at = &quiet_granule[thread->slot].granule;
  if (old.half[0] >= floor) {  // of this label: covered
    __atomic_exchange_n(at, granule_of(address), __ATOMIC_SEQ_CST);
    DhCell const now = load_cell(cell);
    if (__builtin_expect(!is_same_access<true>(now, floor, what), 0)) {
      __atomic_store_n(at, uintptr_t{0}, __ATOMIC_RELEASE);
      leave_quickly(thread, 0);
      return change_slowly<kStore>(address, operand, change, what, pc, cell);
    }
  } else {
    if (__builtin_expect(!is_same_place<true>(thread, what, pc, old), 0)) {
      leave_quickly(thread, 0);
      return change_slowly<kStore>(address, operand, change, what, pc, cell);
    }
    thread->span.note_used();
    __atomic_store_n(at, granule_of(address), __ATOMIC_RELAXED);
    if (__builtin_expect(!compare_and_swap_cell(cell, old, {{with_label(old.half[0], floor), old.half[1]}}),
                         0)) {
      __atomic_store_n(at, uintptr_t{0}, __ATOMIC_RELEASE);
      leave_quickly(thread, 0);
      return change_slowly<kStore>(address, operand, change, what, pc, cell);
    }
  }
  ++thread->statistics.atomics;
  uint64_t const value = change(address, operand);
  __atomic_store_n(at, uintptr_t{0}, __ATOMIC_RELEASE);
  return leave_quickly(thread, value);
}

// Records an access in a long cell; false if it is short.
template <bool kWrite>
bool record_in_long(Thread* thread, uintptr_t address, Operation what, uintptr_t pc, DhCell* cell) {
  DhCell const old = load_cell(cell);
  if (!is_fat(old)) return false;
  Record access = atomic_record(thread, kWrite, static_cast<uint8_t>(what.mask()));
  if (covered_without_lock(old, cell, access)) return true;
  access.stack = site_stack(thread, pc, site_of_size<kWrite>(what.size()));
  return access.stack != 0 &&
         long_access(thread, cell, access,
                     {address, what.size(), kWrite ? AccessType::kAtomicWrite : AccessType::kAtomicRead, pc});
}

// Each does it, or hands over to the next one. REQUIRES: the thread is inside the runtime.
template <bool kWrite>
__attribute__((noinline)) void record_slowest(Thread* thread, uintptr_t address, Operation what, uintptr_t pc,
                                              DhCell* cell) {
  note_touched(existing_chunk(address), cell_index(address));
  const QuickCache::Site* const site = site_of(thread, pc, site_of_size<kWrite>(what.size()));
  if (site != nullptr &&
      quick::change_cell(thread, address, cell, thread->hot->floor, kKind<kWrite>, what.mask(), *site)) {
    return;
  }
  known_access(thread, granule_of(address), what.mask(),
               {address, what.size(), kWrite ? AccessType::kAtomicWrite : AccessType::kAtomicRead, pc},
               site != nullptr ? site->stack : 0);
}
template <bool kWrite>
__attribute__((noinline)) void record_in_long_cell(Thread* thread, uintptr_t address, Operation what,
                                                   uintptr_t pc, DhCell* cell) {
  if (!record_in_long<kWrite>(thread, address, what, pc, cell))
    record_slowest<kWrite>(thread, address, what, pc, cell);
}
template <bool kWrite>
__attribute__((noinline)) void record_slowly(Thread* thread, uintptr_t address, Operation what, uintptr_t pc,
                                             DhCell* cell) {
  DhCell const old = load_halves(cell);
  if (is_fat(old)) return record_in_long_cell<kWrite>(thread, address, what, pc, cell);
  DhCell next;
  if (!find_next<kWrite>(thread, address, what, pc, old, &next) || !compare_and_swap_cell(cell, old, next))
    record_slowest<kWrite>(thread, address, what, pc, cell);
}

template <class T>
__attribute__((noinline, cold)) uint64_t load_generally(uintptr_t address, Operation what, uintptr_t pc) {
  auto* const at = reinterpret_cast<const volatile T*>(address);
  AtomicAccess access(at, sizeof(T), pc, false);
  T const value = __atomic_load_n(at, __ATOMIC_SEQ_CST);
  access.load_done(what.order());
  return value;
}

void wait_for(uint32_t slot, uintptr_t granule) {
  for (unsigned spins = 0; __atomic_load_n(&quiet_granule[slot].granule, __ATOMIC_ACQUIRE) == granule;
       ++spins) {
    if (spins < 64)
      __builtin_ia32_pause();
    else
      platform::sys_yield();
  }
}

// The access is recorded, and the thread inside the runtime.
template <class T>
__attribute__((always_inline)) inline uint64_t load_recorded(Thread* thread, uintptr_t address,
                                                             Operation what, uintptr_t pc, DhCell* cell) {
  T const value = __atomic_load_n(reinterpret_cast<const volatile T*>(address), __ATOMIC_SEQ_CST);
  bool const quiet = carries_nothing(load_cell(cell));
  if (__builtin_expect(!quiet, 0)) {
    leave_quickly(thread, 0);
    return load_generally<T>(address, what, pc);
  }
  return leave_quickly(thread, value);
}
// Loads of the present label from long cells, some of them: address and floor. The first one is not covered,
// usually, but the next ones are, and take no lock.
constexpr unsigned kRecentLoads = 16;
__thread uint64_t recent_loads[kRecentLoads] __attribute__((tls_model("local-exec")));

template <class T>
__attribute__((noinline)) uint64_t load_slowly(uintptr_t address, Operation what, uintptr_t pc, DhCell* cell);

// In a long cell, under its lock: what is loaded then carries nothing if nothing is carried there.
// REQUIRES: the thread is inside the runtime.
template <class T>
__attribute__((noinline)) uint64_t load_in_long(uintptr_t address, Operation what, uintptr_t pc,
                                                DhCell* cell) {
  Thread* const thread = current_thread;
  uint64_t* const recent = &recent_loads[address % kRecentLoads];
  uint64_t const this_one = address ^ thread->hot->floor;
  StackId stack;
  FatCell* const fat =
      __builtin_expect(*recent != this_one, 1) ? lock_quiet<false>(thread, cell, what, pc, &stack) : nullptr;
  *recent = this_one;
  if (__builtin_expect(fat == nullptr, 0)) return load_slowly<T>(address, what, pc, cell);
  T const value = __atomic_load_n(reinterpret_cast<const volatile T*>(address), __ATOMIC_SEQ_CST);
  note_and_unlock<false>(thread, fat, address, what, pc, stack);
  return leave_quickly(thread, value);
}

template <class T>
__attribute__((noinline)) uint64_t load_slowly(uintptr_t address, Operation what, uintptr_t pc,
                                               DhCell* cell) {
  Thread* const thread = current_thread;
  record_slowly<false>(thread, address, what, pc, cell);
  return load_recorded<T>(thread, address, what, pc, cell);
}

}  // namespace

template <class T>
uint64_t quiet_load(uintptr_t address, Operation what, uintptr_t pc, DhCell* cell) {
  Thread* const thread = current_thread;
  if (!enter_quickly(thread)) return load_generally<T>(address, what, pc);
  thread->span.note_used();
  ++thread->statistics.atomics;
  DhCell const old = load_halves(cell);
  uint64_t const floor = thread->hot->floor;
  if (!is_same_access<false>(old, floor, what) || !is_same_place<false>(thread, what, pc, old) ||
      !compare_and_swap_cell(cell, old, {{with_label(old.half[0], floor), old.half[1]}})) {
    return is_fat(old) ? load_in_long<T>(address, what, pc, cell) : load_slowly<T>(address, what, pc, cell);
  }
  return load_recorded<T>(thread, address, what, pc, cell);
}
template uint64_t quiet_load<uint8_t>(uintptr_t, Operation, uintptr_t, DhCell*);
template uint64_t quiet_load<uint16_t>(uintptr_t, Operation, uintptr_t, DhCell*);
template uint64_t quiet_load<uint32_t>(uintptr_t, Operation, uintptr_t, DhCell*);
template uint64_t quiet_load<uint64_t>(uintptr_t, Operation, uintptr_t, DhCell*);

uint64_t quiet_store(uintptr_t address, uint64_t operand, Change change, Operation what, uintptr_t pc,
                     DhCell* cell) {
  return change_quietly<true>(address, operand, change, what, pc, cell);
}
uint64_t quiet_modify(uintptr_t address, uint64_t operand, Change change, Operation what, uintptr_t pc,
                      DhCell* cell) {
  return change_quietly<false>(address, operand, change, what, pc, cell);
}

bool begin_quiet(Thread* thread, uintptr_t address, Operation what, uintptr_t pc, DhCell* cell) {
  Inside::enter(thread);
  // It reads in any case.
  if (thread->fence_release.empty() && enter_granule_slowly<false>(thread, address, what, pc, cell))
    return true;
  Inside::leave(thread);
  return false;
}

void end_quiet(Thread* thread, uintptr_t address, Operation what, uintptr_t pc, DhCell* cell, bool wrote) {
  leave_granule(thread);
  ++thread->statistics.atomics;
  if (wrote && !is_covered_atomic(load_cell(cell), thread->hot->floor, what.mask() | kDhWriteBit)) {
    thread->span.note_used();
    record_slowly<true>(thread, address, what, pc, cell);
  }
  Inside::leave(thread);
}

void wait_for_quiet_operations(const Thread* thread, FatCell* fat, uintptr_t address) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (__builtin_expect(__atomic_load_n(&race_found, __ATOMIC_RELAXED), 0)) {
    uint32_t slots = 0;
    with_live_threads([&slots](const Thread*, uint32_t, uint32_t used) { slots = used; });
    for (uint32_t slot = 1; slot < slots; ++slot) {
      if (slot != thread->slot) wait_for(slot, granule_of(address));
    }
    return;
  }
  const Record* const records = fat->records();
  for (unsigned i = 0; i < fat->count; ++i) {
    uint32_t const slot = records[i].epoch().slot();
    if (slot != thread->slot) wait_for(slot, granule_of(address));
  }
}

}  // namespace deadheat::watch
