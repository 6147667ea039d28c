#include "runtime/watch/sync.h"

#include "runtime/platform/memory.h"
#include "runtime/watch/filter.h"

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
  fat_->set_last_release({});
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

uint32_t clock_carried_at(const volatile void* object, uint32_t slot) {
  auto const address = reinterpret_cast<uintptr_t>(object);
  Chunk* const chunk = existing_chunk(address);
  if (chunk == nullptr) return 0;
  DhCell* const cell = &chunk->cells[cell_index(address)];
  DhCell const seen = load_cell(cell);
  if (!is_fat(seen) || is_bytewise(seen)) return 0;
  FatCell* const fat = fat_of(seen);
  if (!fat->lock.try_lock()) return 0;
  uint32_t clock = 0;
  if (fat->owner == cell) {
    if (const SyncVar* const sync = find_sync(fat, address)) {
      ClockView const carried = sync->clock.view();
      if (slot < carried.size) clock = carried.clock[slot];
    }
  }
  fat->lock.unlock();
  return clock;
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

}  // namespace deadheat::watch
