#include "runtime/watch/lock_places.h"

#include "runtime/platform/modules.h"
#include "runtime/watch/library_frames.h"
#include "runtime/watch/quick.h"

namespace deadheat::watch {

LockPlace* remember_lock_place(Thread* thread, uintptr_t pc, bool shared, uint64_t context) {
  // Both stay so for code that is known as instrumented: what orders by itself is a library that is not.
  if (!is_known_as_instrumented(pc) || platform::orders_by_itself(pc)) return nullptr;
  StackId const use = site_stack(thread, pc, 1);
  StackId const acquired = site_stack(thread, pc, 0);
  if (use == 0 || acquired == 0) return nullptr;
  uint64_t const key = LockPlaces::key(pc, shared);
  LockPlace* const place = thread->lock_places.at(key, context);
  *place = {};
  place->key = key;
  place->context = context;
  place->use = use;
  place->acquired = acquired;
  return place;
}

LocksetId remember_lockset(Thread* thread, LockPlace* place, uintptr_t lock, bool shared) {
  LocksetId const with = intern_lockset(thread->cache, {thread->lockset, lock, shared, place->acquired});
  if (with == 0) return 0;
  if (lockset_of(with).lock == 0) {
    place->with_other = with;
    return with;
  }
  for (unsigned i = 0; i < 4; ++i) {
    if (place->lock[i] != 0) continue;
    place->lock[i] = lock;
    place->with[i] = with;
    break;
  }
  return with;
}

}  // namespace deadheat::watch
