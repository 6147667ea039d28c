#include "runtime/watch/known_to_all.h"

#include "runtime/watch/sync.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

uint32_t known_to_all[kSlots];
uint32_t both_acting_slots;

namespace {

bool cut_short;

// The thread that `t` will know all of before it does anything else; null if there is none. Of two that wait
// for each other one will be told so and go on, so nothing is concluded from waits for those who wait.
const Thread* awaited_by(const Thread* t) {
  if (t->joining == nullptr || t->joining->joining != nullptr ||
      __atomic_load_n(&cut_short, __ATOMIC_RELAXED))
    return nullptr;
  return t->joining;
}

// What `t` will have learnt of `slot` from the mutex that it waits for, before it does anything else. Asked
// again whether it still waits: until it says no more it has not given the mutex up again, so what the mutex
// carries is not more than what it will know.
uint32_t clock_it_will_know(const Thread* t, uint32_t slot) {
  const volatile void* const mutex = __atomic_load_n(&t->waits_with, __ATOMIC_ACQUIRE);
  if (mutex == nullptr || __atomic_load_n(&cut_short, __ATOMIC_RELAXED)) return 0;
  uint32_t const clock = clock_carried_at(mutex, slot);
  return __atomic_load_n(&t->waits_with, __ATOMIC_ACQUIRE) == mutex ? clock : 0;
}

uint32_t clock_known_to_all(const Thread* live, uint32_t slot) {
  uint32_t least = ~0u;
  for (const Thread* t = live; t != nullptr; t = t->next_live) {
    if (t->slot == slot) continue;
    uint32_t known = t->clock.get(slot);
    if (uint32_t const soon = clock_it_will_know(t, slot); soon > known) known = soon;
    if (const Thread* const other = awaited_by(t)) {
      if (other->slot == slot) continue;
      uint32_t const theirs = other->clock.get(slot);
      if (theirs > known) known = theirs;
    }
    if (known < least) least = known;
  }
  // Nobody but the owner: it is told otherwise who is alone.
  return least == ~0u ? 0 : least;
}

}  // namespace

uint32_t advance_known_to_all() {
  constexpr uint32_t kLeastWork = 4096;
  uint32_t work = kLeastWork;
  auto const advance = [&work](const Thread* live, uint32_t live_count, uint32_t slots) {
    for (uint32_t slot = 1; slot < slots; ++slot) {
      uint32_t const clock = clock_known_to_all(live, slot);
      if (clock > known_to_all[slot]) __atomic_store_n(&known_to_all[slot], clock, __ATOMIC_RELAXED);
    }
    uint64_t const cost = uint64_t{live_count} * slots;
    work = cost < (1u << 30) ? kLeastWork + static_cast<uint32_t>(cost) : 1u << 30;
  };
  with_live_threads(advance, false);
  return work;
}

void note_who_can_act(const Thread* live) {
  unsigned acting = 0;
  uint32_t slots = 0;
  for (const Thread* t = live; t != nullptr && acting < 3; t = t->next_live) {
    const Thread* const awaited = awaited_by(t);
    // Who waits for one that has ended is as good as back, and knows what that one knew, not what the others
    // do.
    if (awaited != nullptr && !awaited->finished) continue;
    ++acting;
    slots += t->slot;
  }
  __atomic_store_n(&both_acting_slots, acting == 2 ? slots : 0, __ATOMIC_RELAXED);
}

void waits_may_be_cut_short() {
  __atomic_store_n(&cut_short, true, __ATOMIC_RELAXED);
  with_live_threads([](const Thread* live, uint32_t, uint32_t) { note_who_can_act(live); });
}

}  // namespace deadheat::watch
