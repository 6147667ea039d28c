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

// Whether this thread's own last release of the lock has been observed since, for the spans of its labels.
void enter_critical_section(Thread* thread, const volatile void* lock, bool unobserved) {
  uint32_t const before = thread->span.label();
  thread->span.acquire_lock(lock, unobserved);
  if (thread->span.label() != before) thread->publish_floor();
}

// Taking a lock reads it. Whoever wrote it before (made it, ended it) must be known without the help of the
// lock: `before` looks for races before anything is learnt from it. `after`, everybody who used the lock is
// known, so that the newest use stands for all of them: who knows of it knows of them.
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
    if (written_) check_in_fat(thread_, fat, granule(), record_, &races_);
  }

  void after(FatCell* fat) {
    record_.epoch_bits = thread_->epoch().bits();
    thread_->span.note_used();
    Record* const only = fat->records();
    constexpr uint64_t kAllButEpoch = ~((uint64_t{1} << Record::kMaskShift) - 1);
    if (fat->count == 1 && ((only->bits() ^ record_.bits()) & kAllButEpoch) == 0 &&
        thread_->ordered_after(only->epoch())) {
      *only = record_;
      return;
    }
    if (!written_) record_in_fat(thread_, fat, granule(), record_, &races_);
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

void learn_and_enter(Thread* thread, const volatile void* lock, const LockedSync& sync) {
  bool const own = sync->releaser_slot == thread->slot;
  bool const unobserved = own && !sync->observed;
  if (!unobserved) {
    bool learnt = thread->clock.join(sync->clock.view());
    learnt |= thread->clock.join(sync->readers);
    if (learnt) thread->learnt();
  }
  enter_critical_section(thread, lock, unobserved);
  if (!own) sync->observed = true;
}

}  // namespace

void lock_acquired(Thread* thread, const volatile void* lock, bool is_object, uintptr_t pc) {
  if (tree_filter()) tree_acquired(thread, lock);
  auto const address = reinterpret_cast<uintptr_t>(lock);
  if (!is_object || thread->ignore_reads != 0) {
    note_held(thread, address, false, pc);
    LockedSync const sync(lock);
    if (sync) learn_and_enter(thread, lock, sync);
    return;
  }
  LockUse use(thread, address, pc);  // of a lock that was not held yet
  note_held(thread, address, false, pc);
  {
    LockedSync const sync(lock);
    if (!sync) return;
    use.before(sync.fat());
    learn_and_enter(thread, lock, sync);
    use.after(sync.fat());
  }
  use.tell();
}

void shared_lock_acquired(Thread* thread, const volatile void* lock, uintptr_t pc) {
  if (tree_filter()) tree_acquired(thread, lock);
  note_held(thread, reinterpret_cast<uintptr_t>(lock), true, pc);
  LockedSync const sync(lock);
  if (!sync) return;
  // A reader's release is for the next writer, whose own release forgets the readers: as long as this thread
  // is among them, no writer has been there since.
  bool const unobserved = sync->is_reader(thread->slot);
  if (thread->clock.join(sync->clock.view())) thread->learnt();
  enter_critical_section(thread, lock, unobserved);
  sync->observed = true;
}

void lock_releasing(Thread* thread, const volatile void* lock) {
  if (tree_filter()) tree_released(thread, lock);
  bool shared = false;
  if (!forget_held(thread, reinterpret_cast<uintptr_t>(lock), &shared)) {
    // Taken while nobody was there to be told (this thread was alone), for reading or for writing, or one of
    // too many: added to what the lock carries, which is right for both.
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
