// Atomic operations: value, order and access in one step, under the granule's lock.
//
// The rules are C++20's ([atomics.order], [atomics.fences]):
//   release store      the location carries what the storing thread knows, and nothing else
//   relaxed store      the location carries what the thread's last release fence knew, or nothing
//   read-modify-write  continues the release sequence: adds to what the location carries
//   acquire load       the thread learns what the location carries
//   relaxed load       an acquire fence later on learns it
// Because the operation itself happens under the lock, a load always belongs to the store it reads from.
//
// Most atomics never carry anything: counters, flags, marks that are relaxed. As long as nobody released to a
// granule, its cell says so (`carries_nothing`), and an operation that releases nothing is an access like any
// other:
//   - Whoever is about to release makes the cell say otherwise first. A load that finds that nothing is
//     carried after it has read the value has read one that carries nothing.
//   - Stores and read-modify-writes are part of the order in which the location changes, and must know on
//     which side of the first release they stand. They hold one of some locks that are shared by address
//     (`quiet_lock`) from looking at the cell to having changed the value; who releases changes the cell
//     first, then waits for that lock to be free.
#include "runtime/abi.h"
#include "runtime/lane.h"
#include "runtime/platform/spinlock.h"
#include "runtime/watch/access.h"
#include "runtime/watch/covered.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/sync.h"

namespace deadheat::watch {
namespace {

constexpr bool acquires(int order) { return order == 1 || order == 2 || order == 4 || order == 5; }
constexpr bool releases(int order) { return order == 3 || order == 4 || order == 5; }

Record access_of_kind(const Thread* thread, AccessType type, uint8_t mask) {
  Record r;
  r.set_bits(thread->epoch().bits() | static_cast<uint64_t>(mask) << Record::kMaskShift |
             (kind_of(type).write ? Record::kWrite : 0) | Record::kAtomic);
  return r;
}

// What an atomic access does to a cell's records is nearly always one of two things: nothing, since it is
// covered, or it takes the place of the same access of an earlier label. Returns that record, `*covered` if
// it covers; null for whatever else.
// REQUIRES: the cell is locked.
Record* same_access_before(const Thread* thread, FatCell* fat, const Record& access, bool* covered) {
  constexpr uint64_t kEpoch = (uint64_t{1} << Record::kMaskShift) - 1;
  uint64_t const now = access.bits();
  uint64_t const mask = now & (uint64_t{0xff} << Record::kMaskShift);
  Record* const records = fat->records();
  Record* mine = nullptr;
  for (unsigned i = 0, count = fat->count; i < count; ++i) {
    uint64_t const old = records[i].bits();
    if (((old ^ now) & ~kEpoch) == 0 && (old & kEpoch) >> kDhClockBits == thread->slot) {
      mine = &records[i];
      continue;
    }
    if ((old & mask) == 0) continue;
    // Another one of these bytes: in peace with this one if both are atomic, or neither writes.
    bool const peaceful = (old & Record::kAtomic) != 0 || ((old | now) & Record::kWrite) == 0;
    if (!peaceful && !thread->ordered_after(Epoch::from_bits(old & kEpoch))) return nullptr;
  }
  if (mine != nullptr) {
    *covered = (mine->bits() & kEpoch) - (now & kEpoch) < (uint64_t{1} << kDhLabelWindowBits);
  }
  return mine;
}

struct alignas(64) QuietLock {
  platform::Spinlock lock;
};
constexpr unsigned kQuietLockBits = 8;
QuietLock quiet_locks[1u << kQuietLockBits];

platform::Spinlock& quiet_lock(uintptr_t address) {
  return quiet_locks[(address >> 3) * 0x9E3779B97F4A7C15ull >> (64 - kQuietLockBits)].lock;
}

// An atomic operation in progress on the granule(s) of `address`.
class AtomicAccess {
 public:
  // `may_release`: it may leave something at the location.
  AtomicAccess(const volatile void* address, unsigned size, uintptr_t pc, bool may_release)
      : thread_(current_or_adopt()),
        address_(reinterpret_cast<uintptr_t>(address)),
        size_(size),
        pc_(pc),
        // Alone, there is nobody to be ordered with, and nobody to race with. But what the location carries
        // from threads that are gone stays: it is part of what this thread knows already.
        active_(thread_ != nullptr && !__atomic_load_n(&alone, __ATOMIC_ACQUIRE)) {
    if (!active_) return;
    Inside::enter(thread_);
    ++thread_->statistics.atomics;
    chunk_ = chunk_for(address_);
    if (chunk_ == nullptr) return;
    fat_ = lock_fat(chunk_, &chunk_->cells[cell_index(address_)]);
    if (!fat_->has_syncs && (may_release || !thread_->fence_release.empty())) {
      find_or_make_sync(fat_, address_);
      platform::SpinGuard const quiet(quiet_lock(address_));
    }
  }

  // REQUIRES: not finished.
  void load_done(int order) {
    if (fat_ == nullptr) return;
    if (SyncVar* const sync = find_sync(fat_, address_)) learn(sync, order);
    check(AccessType::kAtomicRead);
  }

  void store_done(int order) {
    if (fat_ == nullptr) return;
    check(AccessType::kAtomicWrite);
    if (thread_->ignore_sync != 0) return;
    SyncVar* sync = find_sync(fat_, address_);
    if (releases(order)) {
      publish(thread_);
      if (sync == nullptr) sync = find_or_make_sync(fat_, address_);
      sync->clock.assign(thread_->clock);
    } else if (!thread_->fence_release.empty()) {
      if (sync == nullptr) sync = find_or_make_sync(fat_, address_);
      sync->clock.assign(thread_->fence_release);
    } else if (sync != nullptr) {
      sync->clock.clear();
    }
    if (sync != nullptr) sync->releaser_slot = 0;
  }

  void modify_done(int order) {
    if (fat_ == nullptr) return;
    SyncVar* sync = find_sync(fat_, address_);
    if (sync != nullptr) learn(sync, order);
    check(AccessType::kAtomicWrite);
    if (thread_->ignore_sync != 0) return;
    if (releases(order)) {
      publish(thread_);
      if (sync == nullptr) sync = find_or_make_sync(fat_, address_);
      sync->clock.join(thread_->clock);
    } else if (!thread_->fence_release.empty()) {
      if (sync == nullptr) sync = find_or_make_sync(fat_, address_);
      sync->clock.join(thread_->fence_release);
    }
    if (sync != nullptr) sync->releaser_slot = 0;
  }

  ~AtomicAccess() {
    if (!active_) return;
    if (fat_ != nullptr) fat_->lock.unlock();
    if (__builtin_expect(races_.count != 0, 0)) {
      tell_races(thread_, {address_, size_, type_, pc_, 0, false}, &races_);
    }
    // A 16-byte atomic's second granule carries the access only; the order is the first one's.
    if (fat_ != nullptr && size_ == 16) check_second_granule();
    Inside::leave(thread_);
  }
  AtomicAccess(const AtomicAccess&) = delete;
  AtomicAccess& operator=(const AtomicAccess&) = delete;

 private:
  void learn(SyncVar* sync, int order) {
    if (thread_->ignore_sync != 0) return;
    if (acquires(order)) {
      if (thread_->clock.join(sync->clock.view())) thread_->learnt();
    } else if (!sync->clock.all_known_to(thread_->clock)) {
      // What the thread knows already, an acquire fence has nothing to add to.
      thread_->fence_acquire.join(sync->clock.view());
    }
  }

  void check(AccessType type) {
    type_ = type;
    bool const write = kind_of(type).write;
    if ((write ? thread_->ignore_writes : thread_->ignore_reads) != 0) return;
    Record access = access_of_kind(thread_, type, bytes_in_granule(address_, size_));
    bool covered = false;
    Record* const before = same_access_before(thread_, fat_, access, &covered);
    if (covered) return;
    access.stack = site_stack(thread_, pc_, size_ | (write ? kWriteSite : 0) | kAtomicSite);
    thread_->span.note_used();
    if (before != nullptr) {
      *before = access;
      return;
    }
    if (covered_in_fat(fat_, access)) return;
    note_touched(chunk_, cell_index(address_));
    record_in_fat(thread_, fat_, address_ & ~uintptr_t{7}, access, &races_);
  }

  void check_second_granule() {
    uintptr_t const second = (address_ & ~uintptr_t{7}) + 8;
    Chunk* const chunk = chunk_for(second);
    if (chunk == nullptr) return;
    Record access = access_of_kind(thread_, type_, 0xff);
    access.stack = stack_at(thread_, pc_, type_, size_);
    note_touched(chunk, cell_index(second));
    FatCell* const fat = lock_fat(chunk, &chunk->cells[cell_index(second)]);
    check_in_fat(thread_, fat, second, access, &races_);
    thread_->span.note_used();
    fat->lock.unlock();
    if (races_.count != 0) tell_races(thread_, {address_, size_, type_, pc_, 0, false}, &races_);
  }

  Thread* thread_;
  uintptr_t address_;
  unsigned size_;
  uintptr_t pc_;
  bool active_;
  AccessType type_ = AccessType::kAtomicRead;
  Chunk* chunk_ = nullptr;
  FatCell* fat_ = nullptr;
  Races races_;
};

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
template <class T, class Change>
T plain_modify(volatile T* address, Change change) {
  T old = plain_load(address);
  for (;;) {
    T const seen = plain_compare_exchange(address, old, static_cast<T>(change(old)));
    if (seen == old) return old;
    old = seen;
  }
}

// A load that is covered by what this thread did there before and has nothing to learn, without the lock.
// Whoever changes the value and what goes with it holds the lock for both, so that what was seen while the
// lock stood still belongs together.
template <class T>
bool load_without_lock(const volatile T* address, T* value) {
  if constexpr (sizeof(T) == 16) return false;
  Thread* const thread = current_thread;
  if (thread == nullptr || thread->hot->floor == kNoFloor || thread->ignore_reads != 0) return false;
  auto const at = reinterpret_cast<uintptr_t>(address);
  Chunk* const chunk = existing_chunk(at);
  if (chunk == nullptr) return false;
  DhCell* const cell = &chunk->cells[cell_index(at)];
  DhCell const seen = load_cell(cell);
  if (!is_fat(seen)) return false;
  FatCell* const fat = fat_of(seen);
  uint32_t const version = fat->lock.version();
  *value = __atomic_load_n(address, __ATOMIC_SEQ_CST);
  const SyncVar* const syncs = fat->syncs();
  if (!fat->lock.still(version)) return false;
  if (syncs != nullptr) {
    // One object in the granule, and it is this one; memory of objects stays memory of objects.
    if (syncs->next != nullptr || syncs->offset != (at & 7) || !syncs->clock.all_known_to(thread->clock)) {
      return false;
    }
  }
  Record const access = access_of_kind(thread, AccessType::kAtomicRead, bytes_in_granule(at, sizeof(T)));
  return covered_without_lock(fat, cell, access) && fat->lock.still(version);
}

// An access to a granule that carries nothing.
class QuietAccess {
 public:
  QuietAccess(const volatile void* address, unsigned size)
      : thread_(current_thread), address_(reinterpret_cast<uintptr_t>(address)), size_(size) {
    if (size > 8 || thread_ == nullptr || !thread_->may_be_quick() ||
        __atomic_load_n(&alone, __ATOMIC_ACQUIRE))
      return;
    chunk_ = existing_chunk(address_);
    if (chunk_ != nullptr) cell_ = &chunk_->cells[cell_index(address_)];
  }

  bool possible() const { return cell_ != nullptr; }
  Thread* thread() const { return thread_; }
  bool is_quiet() {
    seen_ = load_cell(cell_);
    return carries_nothing(seen_);
  }

  // After the operation; `is_quiet` was true. A plain access of the same kind covers an atomic one, too.
  bool is_covered(bool write) const {
    uint64_t const need = bytes_in_granule(address_, size_) | (write ? uint64_t{kDhWriteBit} : 0);
    uint64_t const floor = thread_->hot->floor;
    return missing_in(seen_.half[0], floor, need, kOutsideWindow) == 0 ||
           missing_in(seen_.half[1], floor, need, kOutsideWindow) == 0;
  }

  void record(bool write, uintptr_t pc) {
    ++thread_->statistics.atomics;
    thread_->span.note_used();
    note_touched(chunk_, cell_index(address_));
    const QuickCache::Site* const site =
        site_of(thread_, pc, size_ | (write ? uint32_t{kWriteSite} : 0) | kAtomicSite);
    AccessType const type = write ? AccessType::kAtomicWrite : AccessType::kAtomicRead;
    AccessRequest const whole{address_, size_, type, pc};
    uint8_t const bytes = bytes_in_granule(address_, size_);
    if (site != nullptr && is_fat(seen_)) {
      Record access = access_of_kind(thread_, type, bytes);
      access.stack = site->stack;
      if (covered_without_lock(fat_of(seen_), cell_, access) || long_access(thread_, cell_, access, whole))
        return;
    } else if (site != nullptr) {
      uint64_t const kind = (write ? uint64_t{kDhWriteBit} : 0) | kDhAtomicBit;
      quick::Change const change =
          quick::change_of(thread_, seen_.half[0], seen_.half[1], thread_->hot->floor, kind, bytes);
      ShapeId shape = kNoShape;
      if (change.how == quick::kAlone)
        shape = site->alone;
      else if (change.how != quick::kNotQuick)
        shape = shape_after(thread_, seen_, change.how, site->stack);
      if (shape != kNoShape &&
          compare_and_swap_cell(cell_, seen_, with_shape(change.first, change.second, shape)))
        return;
    }
    known_access(thread_, address_ & ~uintptr_t{7}, bytes, whole, site != nullptr ? site->stack : 0);
  }

 private:
  Thread* thread_;
  uintptr_t address_;
  unsigned size_;
  Chunk* chunk_ = nullptr;
  DhCell* cell_ = nullptr;
  DhCell seen_;
};

// REQUIRES: atomic_load has asked whether it is covered.
template <class T>
bool quiet_load(const volatile T* address, uintptr_t pc, T* value) {
  if constexpr (sizeof(T) == 16) return false;
  QuietAccess access(address, sizeof(T));
  if (!access.possible()) return false;
  *value = __atomic_load_n(address, __ATOMIC_SEQ_CST);
  if (!access.is_quiet()) return false;
  Inside const inside(access.thread());
  access.record(false, pc);
  return true;
}

// Does `operation`, which says whether it has written, unless something is or may be carried there.
template <class T, class Operation>
bool quiet_write(volatile T* address, bool may_release, uintptr_t pc, Operation operation) {
  if (may_release) return false;
  QuietAccess access(address, sizeof(T));
  if (!access.possible() || !access.thread()->fence_release.empty()) return false;
  Inside const inside(access.thread());
  bool wrote;
  {
    platform::SpinGuard const guard(quiet_lock(reinterpret_cast<uintptr_t>(address)));
    if (!access.is_quiet()) return false;
    wrote = operation();
  }
  if (!access.is_covered(wrote)) access.record(wrote, pc);
  return true;
}

template <class T>
__attribute__((noinline)) T load_uncovered(const volatile T* address, int order, uintptr_t pc) {
  T quickly;
  if (quiet_load(address, pc, &quickly) || load_without_lock(address, &quickly)) return quickly;
  AtomicAccess access(address, sizeof(T), pc, false);
  T const value = plain_load(address);
  access.load_done(order);
  return value;
}
// What is covered at a glance needs neither stack nor registers that must be saved.
template <class T>
T atomic_load(const volatile T* address, int order, uintptr_t pc) {
  if constexpr (sizeof(T) <= 8) {
    QuietAccess access(address, sizeof(T));
    if (access.possible()) {
      T const value = __atomic_load_n(address, __ATOMIC_SEQ_CST);
      if (access.is_quiet() && access.is_covered(false)) return value;
    }
  }
  return load_uncovered(address, order, pc);
}
template <class T>
void atomic_store(volatile T* address, T value, int order, uintptr_t pc) {
  if (quiet_write(address, releases(order), pc, [=] {
        if constexpr (sizeof(T) != 16) __atomic_store_n(address, value, __ATOMIC_SEQ_CST);
        return true;
      }))
    return;
  AtomicAccess access(address, sizeof(T), pc, releases(order));
  // What was known before the store is what it publishes, and the access comes before anybody can see it.
  access.store_done(order);
  if constexpr (sizeof(T) == 16)
    plain_modify(address, [value](T) { return value; });
  else
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);
}
template <class T, class Change>
T atomic_modify(volatile T* address, int order, uintptr_t pc, Change change) {
  T old;
  if (quiet_write(address, releases(order), pc, [&] {
        old = plain_modify(address, change);
        return true;
      }))
    return old;
  AtomicAccess access(address, sizeof(T), pc, releases(order));
  old = plain_modify(address, change);
  access.modify_done(order);
  return old;
}
template <class T>
T atomic_compare_exchange(volatile T* address, T expected, T desired, int success, int failure,
                          uintptr_t pc) {
  T old;
  if (quiet_write(address, releases(success), pc, [&] {
        old = plain_compare_exchange(address, expected, desired);
        return old == expected;
      }))
    return old;
  AtomicAccess access(address, sizeof(T), pc, releases(success));
  old = plain_compare_exchange(address, expected, desired);
  if (old == expected)
    access.modify_done(success);
  else
    access.load_done(failure);
  return old;
}

}  // namespace
}  // namespace deadheat::watch

using namespace deadheat::watch;

#define DH_PC reinterpret_cast<uintptr_t>(__builtin_return_address(0))
#define DH_ATOMICS(N, T)                                                                              \
  T __dh_atomic_load##N(const volatile T* a, int order) { return atomic_load<T>(a, order, DH_PC); }   \
  void __dh_atomic_store##N(volatile T* a, T v, int order) { atomic_store<T>(a, v, order, DH_PC); }   \
  T __dh_atomic_exchange##N(volatile T* a, T v, int order) {                                          \
    return atomic_modify<T>(a, order, DH_PC, [v](T) { return v; });                                   \
  }                                                                                                   \
  T __dh_atomic_compare_exchange##N(volatile T* a, T expected, T desired, int success, int failure) { \
    return atomic_compare_exchange<T>(a, expected, desired, success, failure, DH_PC);                 \
  }                                                                                                   \
  T __dh_atomic_fetch_add##N(volatile T* a, T v, int order) {                                         \
    return atomic_modify<T>(a, order, DH_PC, [v](T o) { return o + v; });                             \
  }                                                                                                   \
  T __dh_atomic_fetch_sub##N(volatile T* a, T v, int order) {                                         \
    return atomic_modify<T>(a, order, DH_PC, [v](T o) { return o - v; });                             \
  }                                                                                                   \
  T __dh_atomic_fetch_and##N(volatile T* a, T v, int order) {                                         \
    return atomic_modify<T>(a, order, DH_PC, [v](T o) { return o & v; });                             \
  }                                                                                                   \
  T __dh_atomic_fetch_or##N(volatile T* a, T v, int order) {                                          \
    return atomic_modify<T>(a, order, DH_PC, [v](T o) { return o | v; });                             \
  }                                                                                                   \
  T __dh_atomic_fetch_xor##N(volatile T* a, T v, int order) {                                         \
    return atomic_modify<T>(a, order, DH_PC, [v](T o) { return o ^ v; });                             \
  }                                                                                                   \
  T __dh_atomic_fetch_nand##N(volatile T* a, T v, int order) {                                        \
    return atomic_modify<T>(a, order, DH_PC, [v](T o) { return ~(o & v); });                          \
  }
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
