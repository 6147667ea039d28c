#include "runtime/watch/locks.h"

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
// lock: `before` looks for races before anything is learnt from it. If there is no write, the use is noted
// `after`.
class LockUse {
 public:
  LockUse(Thread* thread, uintptr_t lock, uintptr_t pc)
      : thread_(thread), request_{lock, 1, AccessType::kRead, pc} {
    record_.mask = 1u << (lock & 7);
    record_.stack = site_stack(thread, pc, 1);
  }

  void before(FatCell* fat) {
    written_ = !lock_was_only_read(fat);
    if (!written_) return;
    record_.epoch_bits = thread_->epoch().bits();
    thread_->span.note_used();
    check_in_fat(thread_, fat, granule(), record_, &races_);
  }

  void after(FatCell* fat) {
    if (written_) return;
    record_.epoch_bits = thread_->epoch().bits();
    thread_->span.note_used();
    note_lock_use(thread_, fat, granule(), record_);
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
  bool written_ = false;
  Races races_;
};

// The one record, of the same kind and bytes, that the new one takes the place of. There is no write, so
// that others do not matter; but if there are several that are known by now, they should go.
Record* superseded(const Thread* thread, FatCell* fat, const Record& use) {
  constexpr uint64_t kAllButEpoch = ~((uint64_t{1} << Record::kMaskShift) - 1);
  Record* const records = fat->records();
  Record* found = nullptr;
  for (unsigned i = 0; i < fat->count; ++i) {
    if (((records[i].bits() ^ use.bits()) & kAllButEpoch) != 0 || !thread->ordered_after(records[i].epoch()))
      continue;
    if (found != nullptr) return nullptr;
    found = &records[i];
  }
  return found;
}

void learn(Thread* thread, const volatile void* lock, bool shared, SyncVar* sync) {
  unsigned const release = thread->span.pending_release(lock);
  bool const new_label =
      shared ? learn_from_lock<true>(thread, release, sync) : learn_from_lock<false>(thread, release, sync);
  if (new_label) thread->publish_floor();
}

}  // namespace

void note_lock_use(Thread* thread, FatCell* fat, uintptr_t granule, const Record& use) {
  Races none;  // two reads are no race
  if (Record* const same = superseded(thread, fat, use))
    *same = use;
  else
    record_in_fat(thread, fat, granule, use, &none);
}

void publish_much_to_lock(const Thread* thread, SyncVar* sync) {
  if (sync->releaser_slot == thread->slot && sync->releaser_version == thread->version && !sync->observed)
    sync->clock.set(thread->slot, thread->clock.get(thread->slot));
  else
    sync->clock.assign(thread->clock);
}

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
