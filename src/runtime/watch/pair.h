// Two whole granules next to each other, touched by two accesses of eight bytes at one place: what the hooks
// __dh_read8x2 and __dh_write8x2 stand for. Objects of two words are copied and initialised like that.
//
// The place is looked up once. What becomes of a cell depends on nothing but the cell and the access, so that
// two cells that are the same, as they are if the two words have always been touched together, become the
// same, too. Otherwise each changes as if its access had come alone: the two are told, recorded and
// superseded independently of each other. Exact for the same reasons as two accesses one after the other,
// between which nothing happens; each cell has its own compare-and-swap.
#pragma once

#include <stdint.h>

#include "runtime/abi.h"
#include "runtime/watch/covered.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

// Behind the last cell of a chunk stands a long one (abi.h), so that a pair of which the second lies in the
// next chunk is never done here.
//
// REQUIRES for all of them: thread->may_be_quick(); `cell` is that of `address`, a multiple of 8.
namespace pair {

constexpr uint64_t kBytes = 0xff;
template <bool kWrite>
constexpr uint32_t kSite = kHookSite | (kWrite ? kWriteSite : 0);

// Both cells, if nobody has changed them since. False: perhaps the first one.
__attribute__((always_inline)) inline bool store(Thread* thread, DhCell* cell, const DhCell& old_first,
                                                 const DhCell& old_second, const DhCell& next) {
  thread->span.note_used();
  thread->statistics.slow_accesses += 2;
  if (__builtin_expect((thread->until_known -= 2) < 0, 0)) return false;
  return compare_and_swap_cell(cell, old_first, next) && compare_and_swap_cell(cell + 1, old_second, next);
}

}  // namespace pair

// Two writes of granules that nobody has touched since their memory was new, or their variable
// (quickest_first_write). False: it may have been done for the first one.
// REQUIRES: both cells were 0 just now, so they are of one chunk.
__attribute__((always_inline)) inline bool quickest_first_pair(Thread* thread, uintptr_t address,
                                                               DhCell* cell, uintptr_t pc) {
  quick::want_lines<true>(cell);
  quick::Place place;
  if (!quick::find_place(thread, pc, pair::kSite<true>, &place)) return false;
  Chunk* const chunk = chunk_of(cell, address);
  size_t const index = cell_index(address);
  note_touched(chunk, index);
  note_touched(chunk, index + 1);
  return pair::store(
      thread, cell, {}, {},
      {{thread->hot->floor | kDhWriteBit | pair::kBytes | place.alone_in_half[0], place.alone_in_half[1]}});
}

// Two writes that supersede all there is. False: it may have been done for the first one.
__attribute__((always_inline)) inline bool quickest_write_pair(Thread* thread, DhCell* cell, uintptr_t pc) {
  quick::want_lines<true>(cell);
  DhCell const first = load_halves(cell);
  DhCell const second = load_halves(cell + 1);
  // Of a cell that is 0 its page may have to be marked: rare, if the other one is not 0.
  if (first.half[0] == 0 || second.half[0] == 0) return false;
  if (!quick::is_superseded(thread, first)) return false;
  if (!is_same(first, second) && !quick::is_superseded(thread, second)) return false;
  quick::Place place;
  if (!quick::find_place(thread, pc, pair::kSite<true>, &place)) return false;
  return pair::store(
      thread, cell, first, second,
      {{thread->hot->floor | kDhWriteBit | pair::kBytes | place.alone_in_half[0], place.alone_in_half[1]}});
}

// Two reads of cells that are the same. False: it may have been done for the first one.
__attribute__((always_inline)) inline bool quickest_read_pair(Thread* thread, uintptr_t address, DhCell* cell,
                                                              uintptr_t pc) {
  DhCell const old = load_halves(cell);
  if (!is_same(old, load_halves(cell + 1)) || (old.half[0] & kDhLongBit) != 0 ||
      (old.half[0] | old.half[1]) == 0) {
    return false;
  }
  if (is_shared_read(old, thread->slot)) return false;
  platform::want_line(cell);
  quick::Place place;
  if (!quick::find_place(thread, pc, pair::kSite<false>, &place)) return false;
  DhCell next;
  if (quick::next_quickly<false>(thread, address, old, pair::kBytes, place, &next) != quick::Outcome::kDone)
    return false;
  return pair::store(thread, cell, old, old, next);
}

// Two reads that other threads make, too, and that are noted, each for itself. False: it may have been done
// for the first one.
__attribute__((always_inline)) inline bool quickest_noted_pair(Thread* thread, DhCell* cell, uintptr_t pc) {
  uint64_t const floor = thread->hot->floor;
  return has_own_note(load_halves(cell), floor, pair::kBytes) &&
         has_own_note(load_halves(cell + 1), floor, pair::kBytes) &&
         ReadNotes::read_again(thread, cell, pair::kBytes, pc) &&
         ReadNotes::read_again(thread, cell + 1, pair::kBytes, pc);
}

// Two accesses, each for itself. `slower(i)` is called for each of them, 0 and 1, that cannot be done here;
// nothing was done for it.
template <bool kWrite, class Slower>
__attribute__((always_inline)) inline void quickest_apart(Thread* thread, uintptr_t address, DhCell* cell,
                                                          uintptr_t pc, Slower slower) {
  constexpr uint64_t kNeed = pair::kBytes | (kWrite ? uint64_t{kDhWriteBit} : 0);
  quick::Place place{};
  for (unsigned i = 0; i < 2; ++i) {
    DhCell* const part = cell + i;
    // What slower() did for the first may have ended a label.
    if (is_covered(part, thread->hot->floor, kNeed)) continue;
    DhCell const old = load_halves(part);
    if (!kWrite) {
      if (is_unwritable(part)) {
        if (!is_page_covered(part) &&
            !read_of_page_quickly(thread, address + uintptr_t{8} * i, cell_of_page(part), pair::kBytes, pc)) {
          slower(i);
        }
        continue;
      }
      bool noted = false;
      if (has_own_note(old, thread->hot->floor, pair::kBytes))
        noted = ReadNotes::read_again(thread, part, pair::kBytes, pc);
      else if (is_shared_read(old, thread->slot))
        noted = thread->notes.may_begin() &&
                ReadNotes::begin(thread, address + uintptr_t{8} * i, part, pair::kBytes, pc);
      if (noted) continue;
    }
    // Long ones have a way that needs no place.
    bool done = false;
    if (!is_fat(old)) {
      if (place.stack == 0 && !quick::find_place(thread, pc, pair::kSite<kWrite>, &place))
        place.stack = 0;  // what find_place left there is another one's
      else
        done = quick::change_quickly<kWrite>(thread, address + uintptr_t{8} * i, part, pair::kBytes, place) ==
               quick::Outcome::kDone;
    }
    if (!done) slower(i);
  }
}

}  // namespace deadheat::watch
