#include "runtime/watch/locks.h"

#include "runtime/platform/cache_line.h"
#include "runtime/watch/access.h"
#include "runtime/watch/filter.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/quick_lock.h"

namespace deadheat::watch {
namespace {

// The lockset names locks from the outermost inwards; releasing out of order rebuilds what lies inside.
void rebuild_lockset(Thread* thread, unsigned from) {
  for (unsigned i = from; i < thread->held_count; ++i) {
    HeldLock& h = thread->held[i];
    h.outer = thread->lockset;
    thread->lockset = intern_lockset(thread->cache, {h.outer, h.lock, h.shared, h.acquired});
  }
}

bool forget_held(Thread* thread, uintptr_t lock, bool* shared) {
  for (unsigned i = thread->held_count; i-- > 0;) {
    if (thread->held[i].lock != lock) continue;
    *shared = thread->held[i].shared;
    thread->lockset = thread->held[i].outer;
    for (unsigned j = i + 1; j < thread->held_count; ++j) thread->held[j - 1] = thread->held[j];
    --thread->held_count;
    rebuild_lockset(thread, i);
    return true;
  }
  return false;
}

void note_held(Thread* thread, uintptr_t lock, bool shared, uintptr_t pc) {
  if (thread->held_count == Thread::kHeldLocks) return;
  StackId const stack = site_stack(thread, pc, 0);
  thread->held[thread->held_count++] = {lock, stack, thread->lockset, nullptr, nullptr, shared, false};
  thread->lockset = intern_lockset(thread->cache, {thread->lockset, lock, shared, stack});
}

// Taking a lock reads it. Whoever wrote it before (made it, ended it) must be known without the help of the
// lock: `before` looks for races before anything is learnt from it. If there is none, the use is noted
// `after`.
class LockUse {
 public:
  LockUse(Thread* thread, uintptr_t lock, uintptr_t pc)
      : thread_(thread), request_{lock, 1, AccessType::kRead, pc} {
    record_.mask = 1u << (lock & 7);
    record_.stack = site_stack(thread, pc, 1);
  }

  void before(FatCell* fat) {
    if (lock_is_known(thread_, fat, request_.address)) return;
    noted_ = true;
    record_.epoch_bits = thread_->epoch().bits();
    thread_->span.note_used();
    check_in_fat(thread_, fat, granule(), record_, &races_);
  }

  void after(FatCell* fat) {
    if (noted_) return;
    record_.epoch_bits = thread_->epoch().bits();
    thread_->span.note_used();
    note_lock_use(thread_, fat, request_.address, record_.bits(), record_.stack);
  }

  // REQUIRES: nothing is locked.
  void tell() {
    if (__builtin_expect(races_.count != 0, 0)) tell_races(thread_, request_, &races_);
  }

 private:
  uintptr_t granule() const { return request_.address & ~uintptr_t{7}; }

  Thread* thread_;
  AccessRequest request_;
  Record record_;
  bool noted_ = false;
  Races races_{thread_};
};

// The one record, of the same kind and bytes, that the new one takes the place of. Others do not matter,
// since a read takes no write's place; but if there are several that are known by now, they should go.
Record* superseded(const Thread* thread, FatCell* fat, const Record& use) {
  Record* const records = fat->records();
  Record* found = nullptr;
  for (unsigned i = 0; i < fat->count; ++i) {
    if (((records[i].bits() ^ use.bits()) & ~Record::kEpoch) != 0 ||
        !thread->ordered_after(records[i].epoch()))
      continue;
    if (found != nullptr) return nullptr;
    found = &records[i];
  }
  return found;
}

void learn(Thread* thread, const volatile void* lock, bool shared, SyncVar* sync) {
  bool const unobserved = shared ? learn_from_lock<true>(thread, sync) : learn_from_lock<false>(thread, sync);
  if (thread->span.acquire_lock(lock, unobserved)) thread->publish_floor();
}

}  // namespace

bool lock_is_known(const Thread* thread, FatCell* fat, uintptr_t lock) {
  const Record* const records = fat->records();
  for (unsigned i = 0; i < fat->count; ++i) {
    const Record& r = records[i];
    if (r.write != 0 && (r.mask >> (lock & 7) & 1) != 0 && !thread->ordered_after(r.epoch())) return false;
  }
  return true;
}

void note_lock_use(Thread* thread, FatCell* fat, uintptr_t lock, uint64_t use, StackId stack) {
  Record record;
  record.set_bits(use);
  record.stack = stack;
  Races none(thread);
  if (Record* const same = superseded(thread, fat, record))
    *same = record;
  else
    record_in_fat(thread, fat, lock & ~uintptr_t{7}, record, &none);
}

void publish_much_to_lock(const Thread* thread, SyncVar* sync) {
  if (sync->releaser_slot == thread->slot && sync->releaser_version == thread->version && !sync->observed)
    sync->clock.set(thread->slot, thread->clock.get(thread->slot));
  else
    sync->clock.assign(thread->clock);
}

// --- Taking a lock again
// ------------------------------------------------------------------------------------------------
//
// A lock that its last holder takes again, or readers while there is no writer, usually changes nothing that
// others can see: its use and what its release tells stand there already, from the last time. Then nothing is
// locked or written: all of it is looked at between two looks at the lock's version, and is as it was at one
// moment in between, as if the lock had been held for that moment. (What a release finds there stays there
// until the lock is really released: to change it takes having the lock.) That is tried where this thread's
// last release of the lock is pending, since only then can it have been the last one to have it.

namespace {

// The SyncVar of the lock, without locking anything; null if it is not seen at a glance. `version` is the
// FatCell's: whatever is read from the SyncVar holds if that is still the same afterwards.
inline const SyncVar* look_at_sync(const FatCell* fat, const DhCell* cell, uintptr_t lock,
                                   uint32_t* version) {
  *version = fat->lock.version();
  if (__atomic_load_n(&fat->owner, __ATOMIC_RELAXED) != cell || !fat->has_syncs) return nullptr;
  const SyncVar* const sync = fat->first_sync();
  // Followed only if it is one: memory of such objects stays memory of such objects.
  if (__builtin_expect(!fat->lock.still(*version), 0)) return nullptr;
  return __builtin_expect(sync->offset == (lock & 7), 1) ? sync : nullptr;
}

// Is there nothing to learn and nothing to be noted when this thread takes the lock again? `use`: its record
// if there were.
template <bool kShared>
inline bool taken_unchanged(const Thread* thread, const FatCell* fat, const DhCell* cell, uintptr_t lock,
                            uint64_t use) {
  uint32_t version;
  const SyncVar* const sync = look_at_sync(fat, cell, lock, &version);
  if (sync == nullptr) return false;
  // A record of this thread, of the label that this is or a later one.
  auto const covers = [use](uint64_t record) { return record >= use && (record ^ use) >> kDhClockBits == 0; };
  if constexpr (kShared) {
    const uint32_t* const few = sync->clock.eight_at_most();
    if (!sync->is_reader(thread->slot) || !sync->observed || few == nullptr ||
        eight::any_larger(thread->clock.entries(), few))
      return false;
    unsigned const count = fat->count;
    if (fat->is_elsewhere() || count >= FatCell::kFew) return false;
    bool covered = false;
    uint64_t kinds = 0;
    for (unsigned i = 0; i < count; ++i) {
      uint64_t const record = fat->few[i].bits();
      covered |= covers(record);
      kinds |= record;
    }
    if (!covered || (kinds & Record::kWrite) != 0) return false;
  } else {
    if (sync->releaser_slot != thread->slot || sync->observed || !fat->has_one_and_syncs() ||
        !covers(fat->few[0].bits()))
      return false;
  }
  return fat->lock.still(version);
}

// Does the lock carry already what this thread's release would tell, now that it has used the label `used`?
template <bool kShared>
inline bool released_unchanged(const Thread* thread, const FatCell* fat, const DhCell* cell, uintptr_t lock,
                               uint32_t used) {
  uint32_t version;
  const SyncVar* const sync = look_at_sync(fat, cell, lock, &version);
  if (sync == nullptr || thread->slot >= eight::kEntries) return false;
  if constexpr (kShared) {
    if (!sync->is_reader(thread->slot) || sync->readers.empty() || sync->readers.size() > eight::kEntries)
      return false;
    const uint32_t* const told = sync->readers.entries();
    // As above.
    if (!fat->lock.still(version)) return false;
    if (told[thread->slot] != used || thread->clock.size() > eight::kEntries ||
        eight::any_larger(told, thread->clock.entries()))
      return false;
  } else {
    const uint32_t* const told = sync->clock.eight_at_most();
    if (sync->releaser_slot != thread->slot || sync->releaser_version != thread->version || sync->observed ||
        sync->reader_count != 0 || told == nullptr || told[thread->slot] != used)
      return false;
  }
  return fat->lock.still(version);
}

}  // namespace

namespace quick {

template <bool kShared>
bool take_again(Thread* thread, uintptr_t lock, DhCell* cell, FatCell* fat) {
  unsigned const release = thread->span.pending_release(reinterpret_cast<const void*>(lock));
  if (!kShared) platform::want_line(fat);
  uint64_t const use = read_of_lock(lock) | Epoch(thread->slot, thread->span.label_without(release)).bits();
  if (!taken_unchanged<kShared>(thread, fat, cell, lock, use)) return false;
  if (thread->span.take_back(release, true)) thread->publish_quick_floor();
  return true;
}
template bool take_again<false>(Thread*, uintptr_t, DhCell*, FatCell*);
template bool take_again<true>(Thread*, uintptr_t, DhCell*, FatCell*);

template <bool kShared>
bool take_lock(Thread* thread, uintptr_t lock, const LockPlace* place, LocksetId with, DhCell* cell,
               FatCell* fat) {
  fat->lock.lock();
  SyncVar* const sync = sync_of_lock(fat, cell, lock);
  if (sync == nullptr || !lock_is_known(thread, fat, lock)) {
    fat->lock.unlock();
    return false;
  }
  unsigned const release = thread->span.pending_release(reinterpret_cast<const void*>(lock));
  bool const unobserved = learn_from_lock<kShared>(thread, sync);
  if (release != thread->span.kNone && thread->span.take_back(release, unobserved))
    thread->publish_quick_floor();
  thread->span.note_used();
  note_lock_use(thread, fat, lock, read_of_lock(lock) | thread->epoch().bits(), place->use);
  fat->lock.unlock();
  // What a reader tells is likely to be what it told the last time.
  hold(thread, lock, place, with, cell, fat, kShared, kShared && release != thread->span.kNone);
  return true;
}
template bool take_lock<false>(Thread*, uintptr_t, const LockPlace*, LocksetId, DhCell*, FatCell*);
template bool take_lock<true>(Thread*, uintptr_t, const LockPlace*, LocksetId, DhCell*, FatCell*);

template <bool kShared>
bool release_again(Thread* thread, const volatile void* lock) {
  HeldLock& held = thread->held[thread->held_count - 1];
  if (released_unchanged<kShared>(thread, held.fat, held.cell, held.lock, thread->span.used())) {
    no_longer_held(thread, lock, held.outer);
    return true;
  }
  held.unchanged = false;
  return quick_lock_releasing<kShared>(thread, lock);
}
template bool release_again<false>(Thread*, const volatile void*);
template bool release_again<true>(Thread*, const volatile void*);

}  // namespace quick

// --- What interposers tell
// ------------------------------------------------------------------------------------------------

void lock_acquired(Thread* thread, const volatile void* lock, bool shared, bool is_read, uintptr_t pc) {
  if (thread->not_quick == 0 && is_read &&
      (shared ? quick_lock_acquired<true>(thread, lock, pc) : quick_lock_acquired<false>(thread, lock, pc)))
    return;
  if (tree_filter()) tree_acquired(thread, lock);
  auto const address = reinterpret_cast<uintptr_t>(lock);
  if (!is_read || thread->ignore_reads != 0) {
    note_held(thread, address, shared, pc);
    LockedSync const sync(lock);
    if (sync) learn(thread, lock, shared, sync.get());
    return;
  }
  LockUse use(thread, address, pc);  // of a lock that was not held yet
  note_held(thread, address, shared, pc);
  {
    LockedSync const sync(lock);
    if (!sync) return;
    use.before(sync.fat());
    learn(thread, lock, shared, sync.get());
    use.after(sync.fat());
  }
  use.tell();
}

void shared_lock_held(Thread* thread, const volatile void* lock, uintptr_t pc) {
  note_held(thread, reinterpret_cast<uintptr_t>(lock), true, pc);
}

void lock_forgotten(Thread* thread, const volatile void* lock) {
  bool shared = false;
  forget_held(thread, reinterpret_cast<uintptr_t>(lock), &shared);
}

void lock_releasing(Thread* thread, const volatile void* lock) {
  if (thread->not_quick == 0 && thread->held_count != 0 &&
      (releases_shared(thread) ? quick_lock_releasing<true>(thread, lock)
                               : quick_lock_releasing<false>(thread, lock)))
    return;
  if (tree_filter()) tree_released(thread, lock);
  bool shared = false;
  if (!forget_held(thread, reinterpret_cast<uintptr_t>(lock), &shared)) {
    // Taken for writing while nobody was there to be told (this thread was alone), or one of too many: added
    // to what the lock carries.
    sync_release(thread, lock, false);
    return;
  }
  uint32_t const before = thread->span.label();
  thread->clock.set(thread->slot, spans_filter() ? thread->span.release_lock(lock) : thread->span.release());
  {
    LockedSync const sync(lock);
    if (sync && shared)
      publish_to_lock<true>(thread, sync.get());
    else if (sync)
      publish_to_lock<false>(thread, sync.get());
  }
  if (thread->span.label() != before) {
    ++thread->statistics.labels;
    renew_slot_if_needed(thread);
    thread->publish_floor();
  }
}

}  // namespace deadheat::watch
