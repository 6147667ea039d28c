// A plain access that was made before, at the same place, and is made again with a later label: loops whose
// threads release something in every turn consist of these. Only the label of the record changes, so neither
// the place nor the pair of stacks needs to be looked up. The rules are those of quick::change_of, for the
// case that the record stands first, and alone or, if it is a read, beside a read of another thread which
// this one does not know of.
#pragma once

#include <stdint.h>

#include "runtime/abi.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/same_place.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

enum class Again {
  kDone,
  kNo,
  kUnknown,  // perhaps: learn_again
};

// Unless it is kDone, nothing was done. No lock, nothing marked: a handler of a signal may run in between and
// change the table. It adds whole entries, so that one whose shape is the same before and after the rest was
// compared is either unchanged or about the same shape.
// REQUIRES: thread->may_be_quick()
template <bool kWrite>
__attribute__((always_inline)) inline Again access_again(Thread* thread, DhCell* cell, uint64_t bytes,
                                                         uintptr_t pc) {
  platform::want_line(cell);
  uint64_t const floor = thread->hot->floor;
  DhCell const old = load_halves(cell);
  auto const [h0, h1] = old.half;
  if (((h0 ^ (floor | (kWrite ? kDhWriteBit : 0) | bytes)) & kSameAccess) != 0) return Again::kNo;
  if ((h1 & 0xff) != 0 && (kWrite || (h1 & kDhWriteBit) != 0 || quick::ordered(thread, h1)))
    return Again::kNo;
  ShapeId const shape = shape_of(old);
  const PlacesAgain::Entry& entry = thread->places_again.entry[PlacesAgain::index(pc, shape)];
  if (__builtin_expect(entry.shape != shape, 0) || __builtin_expect(entry.pc != pc, 0) ||
      __builtin_expect(entry.frames != thread->hot->next_frame[-1].context, 0) ||
      __builtin_expect(entry.locks != thread->lockset, 0)) {
    return thread->places_again.shall_learn() ? Again::kUnknown : Again::kNo;
  }
  __asm__ volatile("" : : : "memory");
  if (__builtin_expect(entry.shape != shape, 0)) return Again::kNo;
  return quick::store(thread, cell, old, with_label(old, floor)) ? Again::kDone : Again::kNo;
}

// Remembers the place for the next time, if it is the one of the record that stands first.
__attribute__((noinline, preserve_most)) void learn_again(Thread* thread, const DhCell* cell, uintptr_t pc,
                                                          uint32_t size_and_kind);

}  // namespace deadheat::watch
