#include "runtime/watch/sync.h"

#include "runtime/platform/memory.h"
#include "runtime/watch/access.h"
#include "runtime/watch/filter.h"
#include "runtime/watch/quick.h"

namespace deadheat::watch {

void destroy_sync(SyncVar* sync) {
  sync->clock.destroy();
  sync->readers.destroy();
  platform::destroy(sync);
}

SyncVar* find_sync(FatCell* fat, uintptr_t address) {
  for (SyncVar* s = fat->syncs(); s != nullptr; s = s->next) {
    if (s->offset == (address & 7)) return s;
  }
  return nullptr;
}

SyncVar* find_or_make_sync(FatCell* fat, uintptr_t address) {
  if (SyncVar* const found = find_sync(fat, address)) return found;
  auto* const sync = platform::make<SyncVar>();
  sync->offset = address & 7;
  sync->next = fat->syncs();
  fat->set_syncs(sync);
  if (carries_nothing(*fat->owner)) fat->show();
  return sync;
}

LockedSync::LockedSync(const volatile void* object) {
  auto const address = reinterpret_cast<uintptr_t>(object);
  Chunk* const chunk = chunk_for(address);
  if (chunk == nullptr) return;
  fat_ = lock_fat(chunk, &chunk->cells[cell_index(address)]);
  sync_ = find_or_make_sync(fat_, address);
}

LockedSync::~LockedSync() {
  if (fat_ != nullptr) fat_->lock.unlock();
}

void sync_acquire(Thread* thread, const volatile void* object) {
  if (tree_filter()) tree_message(thread);
  LockedSync const sync(object);
  if (!sync) return;
  if (thread->clock.join(sync->clock.view())) thread->learnt();
  sync->observed = true;
}

void sync_release(Thread* thread, const volatile void* object, bool replace) {
  publish(thread);
  LockedSync const sync(object);
  if (!sync) return;
  if (replace)
    sync->clock.assign(thread->clock);
  else
    sync->clock.join(thread->clock);
  sync->releaser_slot = 0;
}

void sync_forget(const volatile void* object) {
  auto const address = reinterpret_cast<uintptr_t>(object);
  Chunk* const chunk = existing_chunk(address);
  if (chunk == nullptr) return;
  FatCell* const fat = lock_existing_fat(&chunk->cells[cell_index(address)]);
  if (fat == nullptr) return;
  SyncVar* before = nullptr;
  for (SyncVar* s = fat->syncs(); s != nullptr; before = s, s = s->next) {
    if (s->offset != (address & 7)) continue;
    if (before != nullptr)
      before->next = s->next;
    else
      fat->set_syncs(s->next);
    destroy_sync(s);
    break;
  }
  fat->lock.unlock();
}

// --- Locks
// ----------------------------------------------------------------------------------------------------------

namespace {

// The lockset names locks from the outermost inwards; releasing out of order rebuilds what lies inside.
void rebuild_lockset(Thread* thread) {
  LocksetId set = 0;
  for (unsigned i = 0; i < thread->held_count; ++i) {
    const HeldLock& h = thread->held[i];
    set = intern_lockset(thread->cache, {set, h.lock, h.shared, h.acquired});
  }
  thread->lockset = set;
}

bool forget_held(Thread* thread, uintptr_t lock, bool* shared) {
  for (unsigned i = thread->held_count; i-- > 0;) {
    if (thread->held[i].lock != lock) continue;
    *shared = thread->held[i].shared;
    bool const innermost = i + 1 == thread->held_count;
    LocksetId const rest = innermost && thread->lockset != 0 ? lockset_of(thread->lockset).rest : 0;
    for (unsigned j = i + 1; j < thread->held_count; ++j) thread->held[j - 1] = thread->held[j];
    --thread->held_count;
    if (innermost)
      thread->lockset = rest;
    else
      rebuild_lockset(thread);
    return true;
  }
  return false;
}

}  // namespace

namespace {

void note_held(Thread* thread, uintptr_t lock, bool shared, uintptr_t pc) {
  if (thread->held_count == Thread::kHeldLocks) return;
  StackId const stack = site_stack(thread, pc, 0);
  thread->held[thread->held_count++] = {lock, stack, shared};
  thread->lockset = intern_lockset(thread->cache, {thread->lockset, lock, shared, stack});
}

// Taking a lock reads it. Whoever wrote it before (made it, ended it) must be known without the help of the
// lock: `before` looks for races before anything is learnt from it. `after`, an exclusive holder knows
// everybody who used the lock, so that the newest use stands for all of them: who knows of it knows of them.
class LockUse {
 public:
  LockUse(Thread* thread, uintptr_t lock, uintptr_t pc)
      : thread_(thread), request_{lock, 1, AccessType::kRead, pc} {
    record_.mask = 1u << (lock & 7);
    record_.stack = site_stack(thread, pc, 1);
  }

  void before(FatCell* fat) {
    const Record* const records = fat->records();
    uint64_t kinds = 0;
    for (unsigned i = 0; i < fat->count; ++i) kinds |= records[i].bits();
    written_ = (kinds & Record::kWrite) != 0;
    record_.epoch_bits = thread_->epoch().bits();
    if (!written_) return;
    thread_->span.note_used();
    check_in_fat(thread_, fat, granule(), record_, &races_);
  }

  void after(FatCell* fat) {
    if (written_) return;
    record_.epoch_bits = thread_->epoch().bits();
    thread_->span.note_used();
    if (Record* const same = superseded(fat))
      *same = record_;
    else
      record_in_fat(thread_, fat, granule(), record_, &races_);
  }

  // REQUIRES: nothing is locked.
  void tell() {
    if (__builtin_expect(races_.count != 0, 0)) tell_races(thread_, request_, &races_);
  }

 private:
  uintptr_t granule() const { return request_.address & ~uintptr_t{7}; }

  // The one record, of the same kind and bytes, that the new one takes the place of. There is no write, so
  // that others do not matter; but if there are several that are known by now, they should go.
  Record* superseded(FatCell* fat) const {
    constexpr uint64_t kAllButEpoch = ~((uint64_t{1} << Record::kMaskShift) - 1);
    Record* const records = fat->records();
    Record* found = nullptr;
    for (unsigned i = 0; i < fat->count; ++i) {
      if (((records[i].bits() ^ record_.bits()) & kAllButEpoch) != 0 ||
          !thread_->ordered_after(records[i].epoch())) {
        continue;
      }
      if (found != nullptr) return nullptr;
      found = &records[i];
    }
    return found;
  }

  Thread* thread_;
  AccessRequest request_;
  Record record_;
  bool written_ = false;
  Races races_;
};

void learn(Thread* thread, const volatile void* lock, bool shared, const LockedSync& sync) {
  bool const own = !shared && sync->releaser_slot == thread->slot;
  // A reader's release is for the next writer, whose own release forgets the readers: as long as this thread
  // is among them, no writer has been there since.
  bool const unobserved = shared ? sync->is_reader(thread->slot) : own && !sync->observed;
  if (shared || !unobserved) {
    bool learnt = thread->clock.join(sync->clock.view());
    if (!shared) learnt |= thread->clock.join(sync->readers);
    if (learnt) thread->learnt();
  }
  uint32_t const before = thread->span.label();
  thread->span.acquire_lock(lock, unobserved);
  if (thread->span.label() != before) thread->publish_floor();
  if (!own) sync->observed = true;
}

}  // namespace

void lock_acquired(Thread* thread, const volatile void* lock, bool shared, bool is_read, uintptr_t pc) {
  if (tree_filter()) tree_acquired(thread, lock);
  auto const address = reinterpret_cast<uintptr_t>(lock);
  if (!is_read || thread->ignore_reads != 0) {
    note_held(thread, address, shared, pc);
    LockedSync const sync(lock);
    if (sync) learn(thread, lock, shared, sync);
    return;
  }
  LockUse use(thread, address, pc);  // of a lock that was not held yet
  note_held(thread, address, shared, pc);
  {
    LockedSync const sync(lock);
    if (!sync) return;
    use.before(sync.fat());
    learn(thread, lock, shared, sync);
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
    if (sync && shared) {
      sync->readers.join(thread->clock);
      sync->add_reader(thread->slot);
    } else if (sync) {
      sync->reader_count = 0;
      if (sync->releaser_slot == thread->slot && sync->releaser_version == thread->version &&
          !sync->observed) {
        sync->clock.set(thread->slot, thread->clock.get(thread->slot));
      } else {
        sync->clock.assign(thread->clock);
        sync->readers.clear();
        sync->releaser_slot = thread->slot;
        sync->releaser_version = thread->version;
      }
      sync->observed = false;
    }
  }
  if (thread->span.label() != before) {
    ++thread->statistics.labels;
    renew_slot_if_needed(thread);
    thread->publish_floor();
  }
}

}  // namespace deadheat::watch
