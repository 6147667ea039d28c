// Plain accesses that only change the record that stands first in their cell, because it was made at the same
// place: by the same thread, of the same kind, and either to the same bytes with an earlier label, or to
// other bytes with the present one. Loops whose threads release something in every turn consist of the
// former, loops over bytes and halves of words of the latter. The number of the pair of stacks stays the
// same then, so neither the place nor the pair needs to be looked up.
//
// The rules are those of quick::change_of, for the case that the record stands alone or, if it is a read,
// beside a read of another thread which this one does not know of.
#pragma once

#include <stdint.h>

#include "runtime/abi.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

// Of the difference of such a record and the access: what must be 0 if it has the same label (cell.h:
// kSameAccess, if it has the same bytes).
constexpr uint64_t kSameLabel = ~(kHalfShape | 0xff);

enum class Again {
  kDone,
  kJoined,  // the same, with bytes that were touched elsewhere
  kNo,
  kElsewhere,  // that record was made at another place, as far as is known: learn_again, replace_own_write
  kShared,     // a read that another thread makes, too: ReadNotes::begin, or as usual
};

// Is the access made at the place of that record? No lock, nothing marked: a handler of a signal may
// run in between and change the table. It adds whole entries, so that one whose shape is the same before and
// after the rest was compared is either unchanged or about the same shape.
__attribute__((always_inline)) inline Again find_place_again(const Thread* thread, uint32_t shape,
                                                             uintptr_t pc) {
  const PlacesAgain::Entry& entry = thread->places_again.entry[PlacesAgain::index(pc, shape)];
  if (__builtin_expect(entry.shape != shape, 0) || __builtin_expect(entry.pc != pc, 0) ||
      __builtin_expect(entry.frames != thread->hot->next_frame[-1].context, 0) ||
      __builtin_expect(entry.locks != thread->lockset, 0)) {
    return Again::kElsewhere;
  }
  __asm__ volatile("" : : : "memory");
  return __builtin_expect(entry.shape != shape, 0) ? Again::kNo : Again::kDone;
}

// Bytes that join those of the same label which stand first in `old`, alone, and were touched at another
// place (Move::kIntoFirst), if that was so before. REQUIRES: it is not known that they were touched at this
// one.
__attribute__((always_inline)) inline bool join_again(Thread* thread, DhCell* cell, const DhCell& old,
                                                      uint64_t bytes, uintptr_t pc) {
  uint64_t const what = JoinsAgain::what(shape_of(old), old.half[0], bytes);
  const JoinsAgain::Entry& entry = thread->joins_again.entry[JoinsAgain::index(pc, what)];
  // What becomes of it is taken before the entry is recognised, because a signal's handler may change it.
  ShapeId const shape = entry.next;
  __asm__ volatile("" : : : "memory");
  if (entry.what != what || entry.pc != pc || entry.frames != thread->hot->next_frame[-1].context ||
      entry.locks != thread->lockset) {
    return false;
  }
  DhCell const next = with_shape(old.half[0] | bytes, 0, shape);
  return quick::store(thread, cell, old, next);
}

// Unless it is kDone or kJoined, nothing was done.
// REQUIRES: thread->may_be_quick()
template <bool kWrite, uint64_t kSame>
__attribute__((always_inline)) inline Again access_again(Thread* thread, DhCell* cell, uint64_t bytes,
                                                         uintptr_t pc) {
  if (kWrite) platform::want_line(cell);
  uint64_t const floor = thread->hot->floor;
  DhCell const old = load_halves(cell);
  auto const [h0, h1] = old.half;
  uint64_t const now = floor | (kWrite ? kDhWriteBit : 0) | bytes;
  if (((h0 ^ now) & kSame) != 0) return Again::kNo;
  if constexpr (!kWrite && kSame == kSameAccess) {
    if (is_noted(h0)) return Again::kNo;
    // A label in the cell would take its line away from the other reader.
    bool const is_shared =
        (h1 & 0xff) != 0 && (h1 & (kDhWriteBit | kDhAtomicBit)) == 0 && slot_of(h1) != thread->slot;
    if (is_shared && thread->notes.may_begin()) return Again::kShared;
    if ((h1 & 0xff) == 0 && ReadNotes::is_time_to_look_beside(thread) && has_noted_beside(cell) &&
        thread->notes.may_begin()) {
      return Again::kShared;
    }
  }
  if (!kWrite) platform::want_line(cell);
  if ((h1 & 0xff) != 0 && (kWrite || (h1 & kDhWriteBit) != 0 || quick::ordered(thread, h1)))
    return Again::kNo;
  Again const found = find_place_again(thread, shape_of(old), pc);
  // A read that joins others is seldom, and not worth the registers here (read_that_joins).
  if (kWrite && kSame == kSameLabel && found == Again::kElsewhere && join_again(thread, cell, old, bytes, pc))
    return Again::kJoined;
  if (found != Again::kDone) return found;
  uint64_t const next = kSame == kSameLabel ? h0 | bytes : with_label(h0, floor);
  return quick::store(thread, cell, old, {{next, h1}}) ? Again::kDone : Again::kNo;
}

__attribute__((always_inline)) inline bool read_that_joins(Thread* thread, DhCell* cell, uint64_t bytes,
                                                           uintptr_t pc) {
  DhCell const old = load_halves(cell);
  return ((old.half[0] ^ thread->hot->floor) & kSameLabel) == 0 && (old.half[1] & 0xff) == 0 &&
         join_again(thread, cell, old, bytes, pc);
}

// The same for a read whose record stands second, behind a plain write of this thread, which stays what it
// is: what is written now and then and read in every turn. REQUIRES: thread->may_be_quick()
__attribute__((always_inline)) inline Again read_second_again(Thread* thread, DhCell* cell, uint64_t bytes,
                                                              uintptr_t pc) {
  platform::want_line(cell);
  uint64_t const floor = thread->hot->floor;
  DhCell const old = load_halves(cell);
  auto const [h0, h1] = old.half;
  if ((((h0 ^ (floor | kDhWriteBit)) & (kSameAccess & ~uint64_t{0xff})) |
       ((h1 ^ (floor | bytes)) & kSameAccess)) != 0) {
    return Again::kNo;
  }
  Again const found = find_place_again(thread, shape_of(old) | PlacesAgain::kSecond, pc);
  if (found != Again::kDone) return found;
  uint64_t const next = with_label(h1, floor);
  return quick::store(thread, cell, old, {{h0, next}}) ? Again::kDone : Again::kNo;
}

// A write of the same bytes as the one that stands there alone and was made elsewhere, by this thread:
// nothing is left of that (quick::kAlone). False: nothing was done. REQUIRES: thread->may_be_quick()
__attribute__((always_inline)) inline bool replace_own_write(Thread* thread, DhCell* cell, uint64_t bytes,
                                                             uintptr_t pc) {
  DhCell const old = load_halves(cell);
  uint64_t const now = thread->hot->floor | kDhWriteBit | bytes;
  if (((old.half[0] ^ now) & kSameAccess) != 0 || (old.half[1] & 0xff) != 0) return false;
  quick::Place place;
  if (!quick::find_place(thread, pc, kHookSite | kWriteSite, &place)) return false;
  return quick::store(thread, cell, old, {{now | place.alone_in_half[0], place.alone_in_half[1]}});
}

// Remembers the place for the next time, if it is the one of a record that stands there; and what becomes of
// that if `bytes` join it.
__attribute__((noinline, preserve_most)) void learn_again(Thread* thread, const DhCell* cell, uint64_t bytes,
                                                          uintptr_t pc, uint32_t size_and_kind);

}  // namespace deadheat::watch
