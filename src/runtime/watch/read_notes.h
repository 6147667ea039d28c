// Notes of shared reads: what two threads only read stays where it is.
//
// Where labels change all the time, each thread reads the same configuration, table or list anew with each
// label, and each time it would write its own half of the cell: the line travels between the processors, 100
// to 300 ns for each read. Instead a half may say "see the reader's notes" (its clock is kNotedClock), once
// both halves are reads of two threads and one of them repeats its own; or once one thread alone reads there,
// and others note what is beside it, in the same line of cells. The reader then notes the label and the call
// stack of its latest read in a table of its own, and the cell is not written again.
//
// Who must know more than that somebody read there makes the cell long first, and then looks into the notes
// (`resolve`, from make_fat; nobody else takes a half apart that is noted). The reader, having noted, looks
// whether its half still says so; otherwise it records the read as usual. Both do the former by a locked
// instruction, so that one of the two sees the other:
//
//   reader                                   somebody who judges
//     note := label and stack (exchange)       cell := long (compare and swap, locked)
//     does the half still say "noted"?         read the note
//
// To all others a noted half is a read of that thread which they do not know of: unordered, and kept. A note
// stays until its half says so no more: before its place in the table is needed for another cell, before the
// thread ends and before it gets another slot its halves are made exact again (`settle`), by making the cell
// long and short again. Notes that no half speaks of mean nothing.
//
// Where the read is made is noted, too, so that a read at the same place needs no look-up.
//
// A noted half covers nothing as far as hooks can see, so that what is read very often within one label is
// better off with an exact half: it gets that back (kOftenCovered). Whether notes are worth it at all is kept
// account of (`debt_`).
#pragma once

#include <stdint.h>

#include "runtime/watch/cell.h"

namespace deadheat::watch {

struct Chunk;
struct Thread;

inline constexpr uint64_t kClockMask = (uint64_t{1} << kDhClockBits) - 1;
inline constexpr uint32_t kNotedClock = kClockMask;
static_assert((kNotedClock & kNoClock) != 0 && kLastClock + (1u << kDhLabelWindowBits) < kNoClock,
              "no label, and covered by no floor");

// Is the latest label of this access in its thread's notes?
constexpr bool is_noted(uint64_t half) {
  return (half >> kDhEpochShift & kClockMask) == kNotedClock && (half & 0xff) != 0;
}
constexpr bool has_noted(const DhCell& short_cell) {
  return is_noted(short_cell.half[0]) || is_noted(short_cell.half[1]);
}

// Does one of the halves say that the thread of `floor` has noted its last read of just these bytes?
constexpr bool has_own_note(const DhCell& short_cell, uint64_t floor, uint64_t bytes) {
  uint64_t const noted = floor | kClockMask << kDhEpochShift | bytes;
  return ((short_cell.half[0] ^ noted) & ~kHalfShape) == 0 ||
         ((short_cell.half[1] ^ noted) & ~kHalfShape) == 0;
}
// Are both halves plain reads, one of the thread of `slot`, the other one not? Such a read may be worth a
// note.
constexpr bool is_shared_read(const DhCell& cell, uint64_t slot) {
  auto const [h0, h1] = cell.half;
  if (((h0 | h1) & (kDhWriteBit | kDhAtomicBit | kDhLongBit)) != 0 || (h0 & 0xff) == 0 || (h1 & 0xff) == 0)
    return false;
  return (slot_of(h0) == slot) != (slot_of(h1) == slot);
}

// Is anything noted in the line of cells that this one stands in? Then threads share what is beside it, and
// whoever writes a label here takes the line away from them.
__attribute__((noinline, preserve_most)) bool has_noted_beside(const DhCell* cell);

class ReadNotes {
 public:
  // A read of just the bytes whose last read by this thread is noted. False: it must be recorded, in
  // whatever way the cell then allows.
  // REQUIRES: thread->may_be_quick().
  __attribute__((always_inline)) static inline bool read_again(Thread* thread, DhCell* cell, uint64_t bytes,
                                                               uintptr_t pc);
  // Now and then. Of an odd number, and a prime: a loop has so many reads in each turn that all of them are
  // met in time, and not always the same one.
  template <class AnyThread>
  static bool is_time_to_look_beside(const AnyThread* thread) {
    constexpr int32_t kEvery = 31;
    return thread->until_known % kEvery == 0;
  }
  // Whether one more note is likely to be worth it.
  bool may_begin() {
    if (__builtin_expect(debt_ < kMostDebt, 1)) return true;
    if (++refused_ % kTryAgain != 0) return false;
    debt_ -= kPrice;
    return true;
  }
  // The same where it is not noted yet: done only if it can be.
  // REQUIRES: thread->may_be_quick(); may_begin() has just said yes.
  __attribute__((preserve_most, noinline)) static bool begin(Thread* thread, uintptr_t address, DhCell* cell,
                                                             uint64_t bytes, uintptr_t pc);

  // Puts what was noted into a record that says so. REQUIRES: the cell is long by now, and locked.
  static void resolve(const DhCell* cell, Record* record);

  // No half says any more that something is noted here. `acting` is who does it; `owner`, whose notes these
  // are, does nothing meanwhile.
  void settle_all(Thread* acting, const Thread* owner);

  // Whose slot this is from now on; null: nobody's.
  static void is_slot_of(uint32_t slot, ReadNotes* notes);

 private:
  struct Note {
    DhCell* cell;
    Chunk* chunk;
    uint64_t value;  // clock, stack, and how often it covered a read since
    // Where the stack is from, as find_place looks for it (quick.h).
    uintptr_t pc;
    uint64_t context;
  };
  static constexpr unsigned kBits = 9;
  static constexpr unsigned kStackShift = kDhClockBits;
  static constexpr unsigned kTimesShift = kStackShift + kStackIdBits;
  static constexpr uint64_t kStackMask = ((uint64_t{1} << kStackIdBits) - 1) << kStackShift;
  static constexpr uint64_t kOftenCovered = 16;
  // What a new note, and one that took another's place, must earn by reads that wrote nothing but the note.
  static constexpr int32_t kPrice = 8;
  static constexpr int32_t kPriceOfPlace = 64;
  static constexpr int32_t kMostDebt = 1 << 10;
  static constexpr uint32_t kTryAgain = 256;

  Note& note_of(const DhCell* cell) {
    auto const number = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(cell) / sizeof(DhCell));
    return note_[number * 0x9E3779B1u >> (32 - kBits)];
  }
  // What is to be noted of a read that is not made where the last one was: its stack, and the note is of that
  // place from now on; or kIsCovered; or 0: nothing, it must be recorded.
  __attribute__((preserve_most, noinline)) static uint64_t read_elsewhere(Thread* thread, Note& note,
                                                                          const DhCell* cell, uintptr_t pc);
  static constexpr uint64_t kIsCovered = 1;  // stacks stand further up
  static void covered(Thread* thread, Note& note);
  static void settle(Thread* acting, const Thread* owner, const Note& note);

  Note note_[1u << kBits];
  bool any_;  // has there been one
  int32_t debt_;
  uint32_t refused_;
};

}  // namespace deadheat::watch
