// The short way through the slow path: the few transitions of a cell that make up nearly all of them.
//
// An access that the inlined hook did not find covered is, nearly always, one of these: the first one of its
// granule; one that supersedes all there is; a read beside the write it saw; more bytes of what this thread
// is just touching byte by byte. For each of them the new cell follows from the old one by a few
// instructions, if two things are known without looking far: the number of the access's call stack, and the
// number of the new pair of stacks ("shape"). Both are remembered per thread in direct-mapped tables.
// Everything else, races included, returns false having changed nothing, and goes the long way (access.cc),
// which decides the same questions for every case; the model test runs through both.
#pragma once

#include <stdint.h>

#include "runtime/abi.h"
#include "runtime/platform/cache_line.h"
#include "runtime/watch/access.h"
#include "runtime/watch/covered.h"
#include "runtime/watch/known_to_all.h"
#include "runtime/watch/quick_inside.h"
#include "runtime/watch/read_notes.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/stacks.h"
#include "runtime/watch/thread.h"
#include "runtime/watch/unwritable.h"

namespace deadheat::watch {

// How the pair of stacks of a cell follows from its old pair and the stack of the access.
enum class Move : uint32_t {
  kAfterFirst,      // (first, access)
  kBeforeFirst,     // (access, first)
  kBeforeSecond,    // (access, second)
  kAfterSecond,     // (second, access)
  kIntoFirst,       // (first with the access's bytes, second)
  kIntoSecond,      // (first, second with the access's bytes)
  kIntoFirstAlone,  // (first with the access's bytes)
};

// Fill the tables; 0 and kNoShape where that is impossible, or better not done. They keep the caller's
// registers, so that the way around them saves nothing.
__attribute__((preserve_most, noinline)) const QuickCache::Site* remember_site(Thread* thread, uintptr_t pc,
                                                                               StackId frames,
                                                                               uint32_t size_and_kind);
__attribute__((preserve_most, noinline)) ShapeId shape_after(Thread* thread, uintptr_t address,
                                                             const DhCell& old, uint32_t how, StackId stack);
__attribute__((preserve_most, noinline)) StackId intern_current_frames(Thread* thread);
// The number of the innermost frame, which has none yet, if its caller's is known and it was interned lately;
// 0 otherwise. The thread need not be inside the runtime.
__attribute__((preserve_most, noinline)) StackId number_innermost_frame(const Thread* thread);

// One slow access less until what all threads know is brought up to date (known_to_all.h).
inline void count_down_to_known(Thread* thread) {
  if (--thread->until_known < 0) thread->until_known = static_cast<int32_t>(advance_known_to_all());
}

// The same at once, for who saves no registers for it.
__attribute__((preserve_most, noinline, cold)) void bring_known_up_to_date(Thread* thread);

// With kHookSite what is touched there has always the same size.
inline constexpr uint32_t kLongestNamed = 32;  // what is longer is not named by its size
enum : uint32_t { kWriteSite = 64, kAtomicSite = 128, kHookSite = 256 };

namespace quick {

__attribute__((always_inline)) inline StackId frames(Thread* thread) {
  DhFrame* const end = thread->hot->next_frame;
  if (end <= thread->frames) return 0;
  StackId const known = end[-1].context;
  return __builtin_expect(known != 0, 1) ? known : intern_current_frames(thread);
}

// The same where the tables must not be filled: 0 if that would be needed.
__attribute__((always_inline)) inline StackId known_frames(const Thread* thread) {
  StackId const known = thread->hot->next_frame[-1].context;
  return __builtin_expect(known != 0, 1) ? known : number_innermost_frame(thread);
}

constexpr uint32_t named_size(uint64_t size) {
  return size <= kLongestNamed ? static_cast<uint32_t>(size) : 0;
}
// `size_and_kind`: a named size, and kWriteSite, kAtomicSite, kHookSite.
constexpr uint64_t site_key(uintptr_t pc, uint32_t size_and_kind) {
  return pc << 9 | ((size_and_kind & kHookSite) != 0 ? size_and_kind & ~(kWriteSite - 1) : size_and_kind);
}
constexpr uint64_t site_context(StackId frames, LocksetId locks) {
  return frames | static_cast<uint64_t>(locks) << 32;
}
// For the table: outside all frames is not 0, which is what frames have that have no number yet.
constexpr StackId kOutsideFrames = ~StackId{0};
constexpr uint64_t known_context(StackId frames, LocksetId locks) {
  return site_context(frames != 0 ? frames : kOutsideFrames, locks);
}
// Four entries of two neighbouring cache lines are looked through, the one that came last first. (With two,
// some program or other has three places that share them, by the luck of their addresses, and each comes anew
// every time.)
constexpr uint32_t kSiteWays = 4;
__attribute__((always_inline)) inline uint32_t site_index(uint64_t key, uint64_t context) {
  uint64_t const h = (key ^ context * 0x9E3779B97F4A7C15ull) * 0xD6E8FEB86659FD93ull;
  return static_cast<uint32_t>(h >> (64 - QuickCache::kSiteBits)) / kSiteWays * kSiteWays;
}

__attribute__((always_inline)) inline uint32_t move_hash(ShapeId old, uint32_t how, StackId stack) {
  return (old + (stack ^ how << 12) * 0x85EBCA77u) * 0x9E3779B1u;
}

__attribute__((always_inline)) inline bool ordered(const Thread* thread, uint64_t half) {
  return thread->ordered_after(Epoch::from_bits(half >> kDhEpochShift));
}

// Does everybody who can still race with this record know it (known_to_all.h)?
__attribute__((always_inline)) inline bool over(const Thread* thread, uint64_t half) {
  uint64_t const slot = slot_of(half);
  if (slot + thread->slot == __atomic_load_n(&both_acting_slots, __ATOMIC_RELAXED) && slot != thread->slot)
    return ordered(thread, half);
  return is_over(Epoch::from_bits(half >> kDhEpochShift));
}

// One more combination of stacks, or rather byte by byte (byte_history.h)? Locals that share a granule are
// combined as the code has them, and each of them ends by itself, which is hard to do to bytes.
inline bool shall_make_composites(const Thread* thread, uintptr_t address) {
  if (!thread->cache.has_many_composites() || !histories_worth.are_worth_it()) return true;
  return thread->has_on_stack(address) && !thread->cache.has_too_many_composites();
}

// What becomes of a cell: two halves without their shape, and how that follows.
struct Change {
  uint64_t first;
  uint64_t second;
  uint32_t how;  // a Move, and for bytes that join others, which
};
// Bytes that join others of the same thread, label and kind. Those that were there stay what they are: a byte
// that is touched at many places has one stack per label, and combinations of stacks stay few.
constexpr uint32_t joining(uint64_t others, uint64_t mask) {
  return static_cast<uint32_t>(others << 8 | (mask & ~others)) << 3;
}
constexpr uint32_t kFirstJoining = 1u << 3;
constexpr uint32_t kAlone = 7;  // no Move: the access is all there is
constexpr uint32_t kNotQuick = ~0u;

// What is left of the record `half` beside an access to the bytes `mask`: all of it, some of its bytes, 0, or
// kRacing. `kind`: kDhWriteBit, kDhAtomicBit; known to the compiler wherever speed matters, and so what can
// be left out for it (detect/access_rules.h).
constexpr uint64_t kRacing = ~uint64_t{0};
__attribute__((always_inline)) inline uint64_t left_of(const Thread* thread, uint64_t half, uint64_t floor,
                                                       uint64_t kind, uint64_t mask) {
  uint64_t const bytes = half & 0xff;
  if (bytes == 0) return 0;
  bool const conflict = ((half | kind) & kDhWriteBit) != 0 && (half & kind & kDhAtomicBit) == 0;
  if (!ordered(thread, half)) return conflict && (bytes & mask) != 0 ? kRacing : half;
  bool const weaker = (~kind & half & kDhWriteBit) == 0 && (kind & ~half & kDhAtomicBit) == 0;
  if ((weaker && (bytes & ~mask) == 0) || over(thread, half)) return 0;
  // Its own records of the present keep the bytes that are superseded: what a thread reads whole and writes
  // in parts, in turn, stays covered whole.
  bool const present = missing_in(half, floor, 0, kOutsideWindow) == 0;
  return weaker && !present ? half & ~mask : half;
}

// Has `half` the thread, label and kind of `now`?
constexpr bool is_joined_by(uint64_t half, uint64_t now) {
  return ((half ^ now) & ~(kHalfShape | 0xff)) == 0 && (half & 0xff) != 0;
}

// The cell h0, h1 after an access; kNotQuick for races, and if two records are left.
// REQUIRES: the cell is short.
__attribute__((always_inline)) inline Change change_of(const Thread* thread, uint64_t h0, uint64_t h1,
                                                       uint64_t floor, uint64_t kind, uint64_t mask) {
  constexpr auto number = [](Move move) { return static_cast<uint32_t>(move); };
  constexpr Change kNo{0, 0, kNotQuick};
  uint64_t const now = floor | kind | mask;
  if (is_joined_by(h0, now) && (h0 & 0xff & ~mask) != 0) {
    uint64_t const second = left_of(thread, h1, floor, kind, mask);
    if (second == kRacing) return kNo;
    Move const move = second == 0 && (h1 & 0xff) != 0 ? Move::kIntoFirstAlone : Move::kIntoFirst;
    return {h0 | mask, second, number(move) | joining(h0 & 0xff, mask)};
  }
  uint64_t const first = left_of(thread, h0, floor, kind, mask);
  if (first == kRacing) return kNo;
  // A plain write stands first, where its hook looks.
  auto const is_looked_for = [](uint64_t k) { return (k & (kDhWriteBit | kDhAtomicBit)) == kDhWriteBit; };
  if ((h1 & 0xff) != 0) {
    if (is_joined_by(h1, now) && (h1 & 0xff & ~mask) != 0) {
      if (first == 0) return kNo;
      return {first, h1 | mask, number(Move::kIntoSecond) | joining(h1 & 0xff, mask)};
    }
    uint64_t const second = left_of(thread, h1, floor, kind, mask);
    if (second == kRacing || (first != 0 && second != 0)) return kNo;
    if (second != 0) {
      return is_looked_for(kind) || !is_looked_for(second) ? Change{now, second, number(Move::kBeforeSecond)}
                                                           : Change{second, now, number(Move::kAfterSecond)};
    }
  }
  if (first == 0) return {now, 0, kAlone};
  return is_looked_for(kind) || !is_looked_for(first) ? Change{now, first, number(Move::kBeforeFirst)}
                                                      : Change{first, now, number(Move::kAfterFirst)};
}

}  // namespace quick

// Does an access of the current thread lie within one granule, and is it covered? `kind`: 0 or kDhWriteBit.
inline bool is_covered_in_granule(uintptr_t address, size_t size, uint64_t kind) {
  if ((address & 7) + size > 8) return false;
  const DhCell* const cell = existing_cell(address);
  return cell != nullptr && is_covered(cell, __dh_hot.floor, bytes_at(address, size) | kind);
}

// What is known of the place of an access, by way of the table; null if that is impossible.
inline const QuickCache::Site* site_of(Thread* thread, uintptr_t pc, uint32_t size_and_kind) {
  StackId const frames = quick::frames(thread);
  uint64_t const key = quick::site_key(pc, size_and_kind);
  uint64_t const context = quick::known_context(frames, thread->lockset);
  uint32_t const index = quick::site_index(key, context);
  for (uint32_t way = 0; way < quick::kSiteWays; ++way) {
    const QuickCache::Site* const site = &thread->quick.site[index + way];
    if (__builtin_expect(site->key == key && site->context == context, 1)) return site;
  }
  return remember_site(thread, pc, frames, size_and_kind);
}
inline StackId site_stack(Thread* thread, uintptr_t pc, uint32_t size_and_kind) {
  const QuickCache::Site* const site = site_of(thread, pc, size_and_kind);
  return site != nullptr ? site->stack : 0;
}

// The ways below take no lock and change nothing but the cell, so that signals and fork(2) need not be kept
// away. A handler that runs in between may change the tables, which is why what is taken from an entry is
// taken before the entry is recognised.
namespace quick {

struct Place {
  StackId stack;
  uint64_t alone_in_half[2];
};
// Where the access is made; false if that is not in the table.
__attribute__((always_inline)) inline bool find_place(const Thread* thread, uintptr_t pc,
                                                      uint32_t size_and_kind, Place* place) {
  uint64_t const key = site_key(pc, size_and_kind);
  uint64_t const context = site_context(known_frames(thread), thread->lockset);
  uint32_t const index = site_index(key, context);
  for (uint32_t way = 0; way < kSiteWays; ++way) {
    const QuickCache::Site* const site = &thread->quick.site[index + way];
    *place = {site->stack, {site->alone_in_half[0], site->alone_in_half[1]}};
    __asm__ volatile("" : : : "memory");
    if (__builtin_expect(site->key == key && site->context == context, 1)) return true;
  }
  return false;
}

// Does a plain write of all bytes leave nothing of the cell? What it is ordered after, it supersedes
// (left_of).
__attribute__((always_inline)) inline bool is_superseded(const Thread* thread, const DhCell& cell) {
  return (cell.half[0] & kDhLongBit) == 0 && ((cell.half[0] & 0xff) == 0 || ordered(thread, cell.half[0])) &&
         ((cell.half[1] & 0xff) == 0 || ordered(thread, cell.half[1]));
}

// The halves `first` and `second` with the pair of stacks that follows from `old`; false if that is not in
// the table.
__attribute__((always_inline)) inline bool find_pair(const Thread* thread, const DhCell& old, uint32_t how,
                                                     StackId stack, uint64_t first, uint64_t second,
                                                     DhCell* next) {
  ShapeId const shape = shape_of(old);
  const QuickCache::Known& known = thread->quick.known.at(move_hash(shape, how, stack));
  *next = with_shape(first, second, known.shape);
  __asm__ volatile("" : : : "memory");
  return __builtin_expect(known.old_shape == shape && known.stack == stack && known.how == how, 1);
}

__attribute__((always_inline)) inline bool store(Thread* thread, DhCell* cell, const DhCell& old,
                                                 const DhCell& next) {
  thread->span.note_used();
  ++thread->statistics.slow_accesses;
  if (__builtin_expect(--thread->until_known < 0, 0)) return false;
  return compare_and_swap_cell(cell, old, next);
}

// The cell after an access of the granule of `address` at `site`, with tables to fill. False: it is long,
// must become so, or there is a race.
__attribute__((always_inline)) inline bool next_cell(Thread* thread, uintptr_t address, const DhCell& old,
                                                     uint64_t floor, uint64_t kind, uint64_t mask,
                                                     const QuickCache::Site& site, DhCell* next) {
  if (is_fat(old)) return false;
  Change const change = change_of(thread, old.half[0], old.half[1], floor, kind, mask);
  if (change.how == kNotQuick) return false;
  ShapeId const shape =
      change.how == kAlone ? site.alone : shape_after(thread, address, old, change.how, site.stack);
  *next = with_shape(change.first, change.second, shape);
  return shape != kNoShape;
}

// The same stored, and again if somebody else was faster.
__attribute__((always_inline)) inline bool change_cell(Thread* thread, uintptr_t address, DhCell* cell,
                                                       uint64_t floor, uint64_t kind, uint64_t mask,
                                                       const QuickCache::Site& site) {
  for (int tries = 0; tries < 4; ++tries) {
    DhCell const old = load_cell(cell);
    DhCell next;
    if (!next_cell(thread, address, old, floor, kind, mask, site, &next)) return false;
    if (compare_and_swap_cell(cell, old, next)) return true;
  }
  return false;
}

enum class Outcome : uint8_t {
  kDone,
  kNotKnown,  // nothing was done: the tables do not have it, or somebody else was faster
  kNoRoom,    // nothing was done: the cell is long or must become so, or there is a race
};

// What becomes of the cell `old` if the bytes `mask` of its granule are touched at `place`, if the change of
// stacks is in the table.
template <bool kWrite>
__attribute__((always_inline)) inline Outcome next_quickly(const Thread* thread, uintptr_t address,
                                                           const DhCell& old, uint64_t mask,
                                                           const Place& place, DhCell* result) {
  auto const [h0, h1] = old.half;
  if ((h0 & kDhLongBit) != 0) return Outcome::kNoRoom;
  constexpr uint64_t kKind = kWrite ? kDhWriteBit : 0;
  uint64_t const floor = thread->hot->floor;
  Change const change = change_of(thread, h0, h1, floor, kKind, mask);
  if (__builtin_expect(change.how == kNotQuick, 0)) return Outcome::kNoRoom;
  DhCell next{{floor | kKind | mask | place.alone_in_half[0], place.alone_in_half[1]}};
  if (change.how == kAlone) {
    if ((h0 | h1) == 0) note_touched(existing_chunk(address), cell_index(address));
    if (!kWrite && h0 == kUnwritable) return Outcome::kNotKnown;  // recorded elsewhere
  } else if ((change.how & 7) == static_cast<uint32_t>(Move::kIntoFirst) &&
             ((h0 ^ next.half[0]) & kHalfShape) == 0 && h1 == next.half[1]) {
    next.half[0] = change.first;  // more bytes, touched at the same place as the others
  } else if (!find_pair(thread, {{h0, h1}}, change.how, place.stack, change.first, change.second, &next)) {
    // Who makes too many combinations of stacks goes on byte by byte (byte_history.h).
    bool const joins = change.how >= kFirstJoining;
    return joins && !shall_make_composites(thread, address) ? Outcome::kNoRoom : Outcome::kNotKnown;
  }
  *result = next;
  return Outcome::kDone;
}

// The bytes `mask` of `cell`'s granule are touched at `place`.
template <bool kWrite>
__attribute__((always_inline)) inline Outcome change_quickly(Thread* thread, uintptr_t address, DhCell* cell,
                                                             uint64_t mask, const Place& place) {
  DhCell const old = load_halves(cell);
  DhCell next;
  Outcome const outcome = next_quickly<kWrite>(thread, address, old, mask, place, &next);
  if (outcome != Outcome::kDone) return outcome;
  return store(thread, cell, old, next) ? Outcome::kDone : Outcome::kNotKnown;
}

// A line that the other processor has changed takes longer to come than all of this. What is written is
// mostly written in order; but the next line of what both read again and again would be taken away from the
// other one for nothing.
template <bool kWrite>
__attribute__((always_inline)) inline void want_lines(DhCell* cell) {
  platform::want_line(cell);
  if (kWrite) platform::want_line(cell + kCellsOfLine);
}

}  // namespace quick

inline bool ReadNotes::read_again(Thread* thread, DhCell* cell, uint64_t bytes, uintptr_t pc) {
  // What is looked at and changed here must not be changed by a signal's handler in between.
  if (!enter_quickly(thread)) return false;
  Note& note = thread->notes.note_of(cell);
  uint64_t const floor = thread->hot->floor;
  uint64_t const context = quick::site_context(thread->hot->next_frame[-1].context, thread->lockset);
  uint64_t const clock = floor >> kDhEpochShift & kClockMask;
  uint64_t stack = note.value & kStackMask;
  // Not this cell: a signal's handler has been here since the half was seen.
  if (__builtin_expect(note.cell != cell, 0) || __builtin_expect((note.value & kClockMask) >= clock, 0) ||
      __builtin_expect(note.pc != pc, 0) || __builtin_expect(note.context != context, 0)) {
    stack = read_elsewhere(thread, note, cell, pc);
    if (stack <= kIsCovered) {
      leave_keeping_registers(thread);
      return stack == kIsCovered;
    }
  }
  __atomic_exchange_n(&note.value, clock | stack, __ATOMIC_SEQ_CST);
  // Does the cell still say so, in whichever half?
  bool const done = has_own_note(load_halves(cell), floor, bytes);
  thread->span.note_used();
  ++thread->statistics.slow_accesses;
  if (thread->notes.debt_ > -kMostDebt) --thread->notes.debt_;
  if (__builtin_expect(--thread->until_known < 0, 0)) bring_known_up_to_date(thread);
  leave_keeping_registers(thread);
  return done;
}

// An access to the bytes `mask` of a granule whose stack is known already, whatever its cell. Races are told:
// `whole` is what the program did. REQUIRES: the granule has a chunk.
__attribute__((preserve_most, noinline)) void known_access(Thread* thread, uintptr_t granule, uint64_t mask,
                                                           const AccessRequest& whole, StackId stack);

// The same for who is not inside the runtime yet, but may be quick.
__attribute__((preserve_most, noinline)) void enter_for_known_access(Thread* thread, uintptr_t granule,
                                                                     uint64_t mask,
                                                                     const AccessRequest& whole,
                                                                     StackId stack);

// An access to the bytes `mask` of `cell`'s granule whose place and whose change of stacks are in the tables:
// nearly all. A short cell that has no room goes on from here, with the stack that was found; false: nothing
// was done. REQUIRES: thread->may_be_quick().
template <bool kWrite>
__attribute__((always_inline)) inline bool quickest_access(Thread* thread, uintptr_t address, DhCell* cell,
                                                           uint64_t mask, uintptr_t pc, uint64_t value) {
  quick::want_lines<kWrite>(cell);
  DhCell const seen = load_halves(cell);
  // Where there is a FatCell the access may be covered, which is asked before its place is looked for.
  if (is_fat(seen) && !is_bytewise(seen)) return false;
  quick::Place place;
  if (!quick::find_place(thread, pc, kHookSite | (kWrite ? kWriteSite : 0), &place)) return false;
  quick::Outcome const outcome = quick::change_quickly<kWrite>(thread, address, cell, mask, place);
  if (__builtin_expect(outcome == quick::Outcome::kNoRoom, 0)) {
    // The bytes of an access within one granule are next to each other.
    auto const size = static_cast<uint32_t>(__builtin_popcountll(mask));
    AccessType const type = kWrite ? AccessType::kWrite : AccessType::kRead;
    enter_for_known_access(thread, address & ~uintptr_t{7}, mask, {address, size, type, pc, value, kWrite},
                           place.stack);
    return true;
  }
  return outcome == quick::Outcome::kDone;
}

// The same for a write of a granule that nobody has touched since its memory was new, or its variable: most
// writes of what lives on the stack and is handed on by its address. If it has been touched, the
// compare-and-swap fails and nothing is done.
__attribute__((always_inline)) inline bool quickest_first_write(Thread* thread, uintptr_t address,
                                                                DhCell* cell, uint64_t mask, uintptr_t pc) {
  quick::want_lines<true>(cell);
  quick::Place place;
  if (!quick::find_place(thread, pc, kHookSite | kWriteSite, &place)) return false;
  note_touched(chunk_of(cell, address), cell_index(address));
  return quick::store(
      thread, cell, {},
      {{thread->hot->floor | kDhWriteBit | mask | place.alone_in_half[0], place.alone_in_half[1]}});
}

// REQUIRES: `cell` is of a page that nobody can write.
inline bool is_page_covered(const DhCell* cell) {
  return is_covered(cell_of_page(cell), __dh_hot.floor, 0xff);
}
// A read in such a page: of all bytes of the page's first granule, whose cell `page` is, and
// which does not cover it. REQUIRES: thread->may_be_quick().
__attribute__((always_inline)) inline bool read_of_page_quickly(Thread* thread, uintptr_t address,
                                                                DhCell* page, uint64_t bytes, uintptr_t pc) {
  constexpr uint64_t kAll = 0xff;
  uintptr_t const granule = granule_of_page(address);
  DhCell const seen = load_halves(page);
  if (has_own_note(seen, thread->hot->floor, kAll)) return ReadNotes::read_again(thread, page, kAll, pc);
  if (is_shared_read(seen, thread->slot) && thread->notes.may_begin() &&
      ReadNotes::begin(thread, granule, page, kAll, pc)) {
    return true;
  }
  quick::Place place;
  if (!quick::find_place(thread, pc, kHookSite, &place)) return false;
  quick::Outcome const outcome = quick::change_quickly<false>(thread, granule, page, kAll, place);
  if (outcome == quick::Outcome::kNoRoom) {
    auto const size = static_cast<uint32_t>(__builtin_popcountll(bytes));
    enter_for_known_access(thread, granule, kAll, {granule, size, AccessType::kRead, pc}, place.stack);
  }
  return outcome != quick::Outcome::kNotKnown;
}

namespace quick {
// Asks for the FatCells of the granules from `cell` on that an access of the bytes `mask` touches: they come
// at the same time, and while its place is looked for, instead of one after the other. (Behind the end of a
// chunk stands no cell; what is asked for then does not matter.)
__attribute__((always_inline)) inline void want_fats(const DhCell* cell, uint64_t mask) {
  for (; mask != 0; mask >>= 8, ++cell) {
    DhCell const seen = load_halves(cell);
    if (is_fat(seen) && !is_bytewise(seen)) platform::want_line(fat_of(seen));
  }
}
}  // namespace quick

inline constexpr uint32_t kMostAcross = 56;  // bytes, so that the mask of all fits into a word

// Of a range whose first bytes are covered, how many need not be looked at again? A few bytes stay whole, so
// that their place becomes known with their size; and of a longer range so much stays that it does not look
// like a short one, which would be named by a size that it has not.
constexpr size_t skipped(size_t size, size_t covered) {
  if (covered >= size) return size;
  if (size <= kMostAcross) return 0;
  size_t const most = size - kLongestNamed - 1;
  return covered < most ? covered : most;
}

// Is an access of a few bytes covered, which need not lie within one granule? REQUIRES: size <= kMostAcross
template <bool kWrite>
__attribute__((always_inline)) inline bool covered_across(uintptr_t address, size_t size) {
  const DhCell* cell = existing_cell(address);
  if (__builtin_expect(cell == nullptr || (address ^ (address + size - 1)) >> kDhChunkBits != 0, 0))
    return false;
  for (uint64_t mask = bytes_at(address, size); mask != 0; mask >>= 8, ++cell) {
    if (!is_covered(cell, __dh_hot.floor, (mask & 0xff) | (kWrite ? uint64_t{kDhWriteBit} : 0))) return false;
  }
  return true;
}

// An access of a few bytes that need not lie within one granule: each part in one of these ways. False: it
// may have been done for some of the parts. `at` as for quick_access. REQUIRES: size <= kMostAcross
template <bool kWrite>
__attribute__((always_inline)) inline bool quickest_across(Thread* thread, uintptr_t address, uint32_t size,
                                                           uintptr_t pc, uint64_t value, uint32_t at) {
  quick::Place place{};
  uint64_t mask = bytes_at(address, size);
  for (uintptr_t at_granule = address & ~uintptr_t{7}; mask != 0; mask >>= 8, at_granule += 8) {
    uintptr_t granule = at_granule;
    uint64_t bytes = mask & 0xff;
    DhCell* cell = existing_cell(granule);
    if (cell == nullptr) return false;
    if (!kWrite) find_recorded(&cell, &granule, &bytes);
    uint64_t const need = bytes | (kWrite ? uint64_t{kDhWriteBit} : 0);
    if (is_covered(cell, thread->hot->floor, need)) continue;
    quick::want_lines<kWrite>(cell);
    if (place.stack == 0) {
      quick::want_fats(cell, mask);
      if (!quick::find_place(thread, pc, quick::named_size(size) | at | (kWrite ? kWriteSite : 0), &place))
        return false;
    }
    quick::Outcome const outcome = quick::change_quickly<kWrite>(thread, granule, cell, bytes, place);
    if (outcome == quick::Outcome::kNotKnown) return false;
    if (outcome == quick::Outcome::kDone) continue;
    AccessType const type = kWrite ? AccessType::kWrite : AccessType::kRead;
    bool const has_value = kWrite && size <= sizeof value && at == kHookSite;
    enter_for_known_access(thread, granule, bytes, {address, size, type, pc, value, has_value}, place.stack);
  }
  return true;
}
// An access of at most 16 bytes. False, go the long way: it may have been done for some of its parts.
// `at`: kHookSite if all accesses made at this pc have this size, 0 otherwise.
// REQUIRES: the thread is inside the runtime; the filter is `spans` and nothing is counted.
template <bool kWrite>
__attribute__((always_inline)) inline bool quick_access(Thread* thread, uintptr_t address, uint32_t size,
                                                        uintptr_t pc, uint64_t value, uint32_t at) {
  if ((kWrite ? thread->ignore_writes : thread->ignore_reads) != 0) return false;
  uint64_t const floor = thread->hot->floor;
  if (floor == kNoFloor) return false;
  count_down_to_known(thread);
  const QuickCache::Site* const found = site_of(thread, pc, size | at | (kWrite ? kWriteSite : 0));
  if (found == nullptr) return false;
  QuickCache::Site const site = *found;
  uint64_t const kind = kWrite ? uint64_t{kDhWriteBit} : 0;
  uintptr_t at_granule = address & ~uintptr_t{7};
  for (uint64_t masks = bytes_at(address, size); masks != 0; masks >>= 8, at_granule += 8) {
    uintptr_t granule = at_granule;
    Chunk* const chunk = existing_chunk(granule);
    if (chunk == nullptr) return false;
    size_t const index = cell_index(granule);
    DhCell* cell = &chunk->cells[index];
    uint64_t mask = masks & 0xff;
    if (is_covered(cell, floor, kind | mask)) continue;
    note_touched(chunk, index);
    if (!kWrite && find_recorded(&cell, &granule, &mask) && is_covered(cell, floor, mask)) continue;
    thread->span.note_used();
    if (quick::change_cell(thread, granule, cell, floor, kind, mask, site)) continue;
    AccessType const type = kWrite ? AccessType::kWrite : AccessType::kRead;
    bool const has_value = kWrite && size <= sizeof value && at == kHookSite;
    known_access(thread, granule, mask, {address, size, type, pc, value, has_value}, site.stack);
  }
  return true;
}

}  // namespace deadheat::watch
