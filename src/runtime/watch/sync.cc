#include "runtime/watch/sync.h"

#include "runtime/platform/memory.h"
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

void lock_acquired(Thread* thread, const volatile void* lock, bool shared, uintptr_t pc) {
  if (tree_filter()) tree_acquired(thread, lock);
  auto const address = reinterpret_cast<uintptr_t>(lock);
  if (thread->held_count < Thread::kHeldLocks) {
    StackId const stack = site_stack(thread, pc, 0);
    thread->held[thread->held_count++] = {address, stack, shared};
    thread->lockset = intern_lockset(thread->cache, {thread->lockset, address, shared, stack});
  }
  LockedSync const sync(lock);
  if (!sync) return;
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
