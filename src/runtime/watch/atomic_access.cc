#include "runtime/watch/atomic_access.h"

#include "runtime/watch/quick.h"
#include "runtime/watch/quiet.h"
#include "runtime/watch/shadow.h"

namespace deadheat::watch {

AtomicAccess::AtomicAccess(const volatile void* address, unsigned size, uintptr_t pc, bool may_release)
    : thread_(current_or_adopt()),
      address_(reinterpret_cast<uintptr_t>(address)),
      size_(size),
      pc_(pc),
      // Alone, there is nobody to be ordered with, and nobody to race with. But what the location carries
      // from threads that are gone stays: it is part of what this thread knows already.
      active_(thread_ != nullptr && !__atomic_load_n(&alone, __ATOMIC_ACQUIRE)) {
  if (!active_) return;
  Inside::enter(thread_);
  thread_->atomic_access = this;
  ++thread_->statistics.atomics;
  Chunk* const chunk = chunk_for(address_);
  if (chunk == nullptr) return;
  fat_ = lock_fat(chunk, &chunk->cells[cell_index(address_)]);
  if (!fat_->has_syncs && (may_release || !thread_->fence_release.empty())) {
    find_or_make_sync(fat_, address_);
    wait_for_quiet_operations(thread_, fat_, address_);
  }
}

AtomicAccess::~AtomicAccess() {
  if (!active_) return;
  if (fat_ != nullptr) unlock_fat(thread_, fat_);
  renew_slot_if_needed(thread_);
  if (__builtin_expect(races_.count != 0, 0)) {
    tell_races(thread_, {address_, size_, type_, pc_, 0, false}, &races_);
  }
  thread_->atomic_access = nullptr;
  Inside::leave(thread_);
}

void AtomicAccess::load_done(int order) {
  if (fat_ == nullptr) return;
  if (const SyncVar* const sync = find_sync(fat_, address_)) learn(sync, order);
  check(AccessType::kAtomicRead);
}

void AtomicAccess::store_done(int order) {
  if (fat_ == nullptr) return;
  check(AccessType::kAtomicWrite);
  if (thread_->ignore_sync != 0) return;
  SyncVar* sync = find_sync(fat_, address_);
  if (releases(order)) {
    publish_in_granule(thread_);
    if (sync == nullptr) sync = find_or_make_sync(fat_, address_);
    sync->clock.assign(thread_->clock);
  } else if (!thread_->fence_release.empty()) {
    if (sync == nullptr) sync = find_or_make_sync(fat_, address_);
    sync->clock.assign(thread_->fence_release);
  } else if (sync != nullptr) {
    sync->clock.clear();
  }
  forget_releaser(sync);
}

void AtomicAccess::modify_done(int order) {
  if (fat_ == nullptr) return;
  SyncVar* sync = find_sync(fat_, address_);
  if (sync != nullptr) learn(sync, order);
  check(AccessType::kAtomicWrite);
  if (thread_->ignore_sync != 0) return;
  if (releases(order)) {
    publish_in_granule(thread_);
    if (sync == nullptr) sync = find_or_make_sync(fat_, address_);
    sync->clock.join(thread_->clock);
  } else if (!thread_->fence_release.empty()) {
    if (sync == nullptr) sync = find_or_make_sync(fat_, address_);
    sync->clock.join(thread_->fence_release);
  }
  forget_releaser(sync);
}

void AtomicAccess::forget_releaser(SyncVar* sync) {
  if (sync == nullptr) return;
  sync->releaser_slot = 0;
  fat_->set_last_release({});
}

void AtomicAccess::learn(const SyncVar* sync, int order) {
  if (thread_->ignore_sync != 0) return;
  if (acquires(order)) {
    if (thread_->clock.join(sync->clock.view())) thread_->learnt();
  } else if (!sync->clock.all_known_to(thread_->clock)) {
    // What the thread knows already, an acquire fence has nothing to add to.
    thread_->fence_acquire.join(sync->clock.view());
  }
}

StackId AtomicAccess::stack() const {
  // A site has room for small sizes only.
  if (size_ >= kWriteSite) return stack_at(thread_, pc_, type_, size_);
  return site_stack(thread_, pc_, size_ | (kind_of(type_).write ? kWriteSite : 0) | kAtomicSite);
}

void AtomicAccess::check(AccessType type) {
  type_ = type;
  bool const write = kind_of(type).write;
  if ((write ? thread_->ignore_writes : thread_->ignore_reads) != 0) return;
  check_granule(fat_, address_ & ~uintptr_t{7}, bytes_in_granule(address_, size_ < 8 ? size_ : 8));
  if (__builtin_expect((address_ & 7) + size_ > 8, 0)) check_other_granules();
}

void AtomicAccess::check_granule(FatCell* fat, uintptr_t granule, uint8_t mask) {
  Record access = atomic_record(thread_, kind_of(type_).write, mask);
  if (covered_in_fat(fat, access)) return;
  access.stack = stack();
  thread_->span.note_used();
  record_in_fat(thread_, fat, granule, access, &races_);
}

// In ascending order, as always if more than one granule is locked: nobody waits in a circle.
void AtomicAccess::check_other_granules() {
  uintptr_t const end = address_ + size_;
  for (uintptr_t granule = (address_ & ~uintptr_t{7}) + 8; granule < end; granule += 8) {
    Chunk* const chunk = chunk_for(granule);
    if (chunk == nullptr) continue;
    FatCell* const fat = lock_fat(chunk, &chunk->cells[cell_index(granule)]);
    check_granule(fat, granule, bytes_in_granule(granule, end - granule < 8 ? end - granule : 8));
    unlock_fat(thread_, fat);
  }
}

}  // namespace deadheat::watch
