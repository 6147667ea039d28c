// The short way into a byte history (byte_history.h): one more access of its thread for which there is a word
// already, and that leaves the history what it is. Everything else returns false having changed nothing, and
// goes the long way (access_in_bytes).
#pragma once

#include <stdint.h>

#include "runtime/platform/cache_line.h"
#include "runtime/watch/byte_history.h"
#include "runtime/watch/bytewise_cell.h"
#include "runtime/watch/known_to_all.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/quick_inside.h"

namespace deadheat::watch {

namespace quick {

// Is the present label one that the words can have beside what they have: of the same thread, not below, and
// not beyond where labels are looked after?
constexpr bool goes_on_from(uint64_t latest, uint64_t floor) {
  constexpr unsigned kShift = kDhEpochShift + __builtin_ctz(ByteHistory::kLookAfter);
  return (latest ^ floor) >> kShift == 0 && latest >> kDhEpochShift <= floor >> kDhEpochShift;
}

}  // namespace quick

// REQUIRES: thread->may_be_quick().
template <bool kWrite>
__attribute__((always_inline)) inline bool access_in_bytes_quickly(Thread* thread, DhCell* cell,
                                                                   uint64_t bytes, uintptr_t pc) {
  constexpr uint64_t kKind = kWrite ? kDhWriteBit : 0;
  DhCell const old = load_halves(cell);
  if (!is_bytewise(old)) return false;
  ByteHistory history = ByteHistory::of(old);
  history.want();
  if (!history.form().has(kWrite, bytes)) return false;
  uint64_t const floor = thread->hot->floor;
  uint64_t const latest = bytewise::latest_half(old);
  DhCell const next = bytewise::shown_after(old, floor | kKind | bytes);
  // What supersedes all of it, or what everybody knows, leaves no history.
  if (!quick::goes_on_from(latest, floor) || quick::over(thread, latest) ||
      (kWrite && (next.half[0] & 0xff) == 0xff && history.form().lane_log == 0) || (kWrite && bytes == 0xff))
    return false;
  quick::Place place;
  if (!quick::find_place(thread, pc, kHookSite | (kWrite ? kWriteSite : 0), &place) ||
      !ByteHistory::has_room_for(place.stack))
    return false;
  if (!enter_quickly(thread)) return false;
  // A handler that ran until now may have brought another label; none does from here on.
  bool const done = thread->hot->floor == floor && bytewise::make_busy(cell, old);
  if (__builtin_expect(done, 1)) {
    history.record(kWrite, bytes, Epoch::from_bits(floor >> kDhEpochShift).clock(), place.stack);
    bytewise::end_busy(cell, next);
    thread->span.note_used();
    ++thread->statistics.slow_accesses;
    if (__builtin_expect(--thread->until_known < 0, 0)) bring_known_up_to_date(thread);
  }
  leave_keeping_registers(thread);
  return done;
}

}  // namespace deadheat::watch
