// What one thread alone did to a granule, byte by byte.
//
// The tables of a compressor are one thread's, and small: bytes and halves of words, written at several
// places, under ever new labels because the thread tells of its progress now and then. None of these accesses
// may be dropped, and each is a record of its own, or shares one with accesses of another call stack: a
// granule of such a table needs a FatCell, and its combinations of stacks are as many as there are granules.
//
// But of what one thread does to one byte only the latest write matters, and the latest read if that came
// later. Whoever does not know of the latest write need not be compared with anything before it, and whoever
// knows of it knows of all that. That is sixteen accesses for the eight bytes, whatever happens, and a word
// is enough for each: its call stack and its label. Nothing has to be looked at to record one more; nothing
// is searched for, put together or taken apart. The cell shows the latest label's accesses to the hooks, all
// of them, since there are only two kinds.
//
// As soon as anybody else comes, or an atomic access, all of it becomes records of a FatCell
// (lock_existing_fat), unless nothing of it is of interest any more: if all of it is superseded, or known to
// everybody, the cell is short again.
//
// Labels. A word has only the lowest bits of one; the rest follows from the latest label, which the cell
// shows. For that labels must not fall. They can (detect/spans.h): a release that was not observed is taken
// back. Then nobody knows of the present label, but also not of the higher one that was used before, and
// whoever will know of the one will know of the other, since a release publishes the highest. The two mean
// the same from now on, and the access is recorded with the higher one.
//
// Concurrency. The words are those of the thread that has made the cell say "busy" by a compare-and-swap. Who
// finds it busy waits; for some tens of instructions, during which neither signals nor fork are let in.
#pragma once

#include <stdint.h>

#include "runtime/abi.h"
#include "runtime/platform/cache_line.h"
#include "runtime/watch/cell.h"
#include "runtime/watch/history_words.h"
#include "runtime/watch/stacks.h"

namespace deadheat::watch {

struct Chunk;
struct Thread;

// The words of one granule: of each lane its latest write, then of each lane its latest read. Lanes are as
// wide as all accesses so far allow: a table of 4-byte numbers needs two of them. As long as there are only
// reads, there are only their words.
//
// The cell names them where a short cell names a pair of stacks. The cell's first half is the latest label's
// writes, if there has been one, otherwise reads; the second half is reads.
class ByteHistory {
 public:
  struct Form {
    unsigned lane_log;  // 0 to 2
    bool only_reads;

    // Is there a word for an access to these bytes?
    bool has(bool write, uint64_t bytes) const {
      return are_lanes(bytes, lane_log) && !(write && only_reads);
    }
    // The next best that has one for these bytes, too.
    Form with(bool write, uint64_t bytes) const;

    uint32_t words() const { return (only_reads ? 8u : 16u) >> lane_log; }
    static Form of(uint32_t words, bool only_reads) {
      return {static_cast<unsigned>(__builtin_ctz(only_reads ? 8 : 16) - __builtin_ctz(words)), only_reads};
    }
  };
  static constexpr unsigned kWidest = 2;

  ByteHistory(const HistoryWords& words, Form form) : words_(words.word), form_(form) {}
  static ByteHistory of(const DhCell& cell) {
    HistoryWords const words = words_of(shape_of(cell));
    return {words, Form::of(words.count, (cell.half[0] & kDhWriteBit) == 0)};
  }

  const Form& form() const { return form_; }
  void clear();
  // The same accesses. REQUIRES: the form has words for all of them.
  void copy_from(const ByteHistory& other);
  // Records an access. `label`: its clock. REQUIRES: the form has words for it.
  __attribute__((always_inline)) void record(bool write, uint64_t bytes, uint32_t label, StackId stack) {
    uint32_t const word = stack << kLabelBits | (label & kLabelMask);
    uint32_t* const words = write ? words_ : first_read();
    uint64_t const lane = (uint64_t{1} << (1u << form_.lane_log)) - 1;
#pragma clang loop unroll(disable)
    while (bytes != 0) {
      auto const first = static_cast<unsigned>(__builtin_ctzll(bytes));
      words[first >> form_.lane_log] = word;
      bytes &= ~(lane << first);
    }
  }
  // Asks for the words' line. What stands there is not looked at.
  void want() const { platform::want_line(words_); }

  // Is there nothing older than `oldest`? `latest`: of the cell.
  bool is_all_since(uint32_t oldest, uint32_t latest) const;
  // Were all bytes last written at one place? REQUIRES: not only reads.
  bool is_written_at_one_place() const;
  // Are lanes of this width wide enough for what stands here?
  bool fits_into_lanes(unsigned lane_log) const;
  // Are all bytes that were ever touched among these?
  bool has_only(uint64_t bytes) const;

  // Writes what can still matter as records, the oldest first; returns how many. `latest`: of the cell.
  // Without a `cache` each call stack gets a record of its own.
  static constexpr unsigned kMostRecords = 16;
  unsigned records(Epoch latest, InternCache* cache, Record* out) const;

#ifdef DEADHEAT_LAST_CLOCK  // a test's, who has no time for thousands of labels
  static constexpr unsigned kLabelBits = 3;
#else
  static constexpr unsigned kLabelBits = 12;
#endif
  static constexpr StackId kStacks = 1u << (32 - kLabelBits);
  static constexpr bool has_room_for(StackId stack) { return stack != 0 && stack < kStacks; }
  // Labels are looked after each time they pass a multiple of this: nothing older than it may stand here
  // then, so that all labels are within kLabelBits of the latest until the next time.
  static constexpr uint32_t kLookAfter = 1u << (kLabelBits - 1);

 private:
  static constexpr uint32_t kLabelMask = (1u << kLabelBits) - 1;
  static uint32_t label_of(uint32_t word, uint32_t latest) { return latest - ((latest - word) & kLabelMask); }

  // Are these bytes whole lanes of this width?
  static constexpr bool are_lanes(uint64_t bytes, unsigned lane_log) {
    uint64_t const first = lane_log == 0 ? 0xff : lane_log == 1 ? 0x55 : 0x11;
    return (bytes & first) * ((1u << (1u << lane_log)) - 1) == bytes;
  }

  // Of a byte; 0: none.
  uint32_t written(unsigned byte) const { return form_.only_reads ? 0 : words_[byte >> form_.lane_log]; }
  uint32_t read(unsigned byte) const { return first_read()[byte >> form_.lane_log]; }
  uint32_t* first_read() const { return words_ + (form_.only_reads ? 0 : 8u >> form_.lane_log); }

  uint32_t* words_;
  Form form_;
};

// Whether it is worth it: a history that somebody else comes to has to be made records of after all, and what
// is filled byte by byte to be handed over is better off with records from the beginning. Counted over all
// threads, roughly; when most are handed over, one of some is tried all the same, lest that change.
class HistoriesWorth {
 public:
  bool are_worth_it() const { return handed_over_ <= made_ / 4 + kFew; }
  bool is_worth_a_try() { return are_worth_it() || ++refused_ % kTryAgain == 0; }
  void note_made() { add_one(&made_); }
  void note_handed_over() { add_one(&handed_over_); }

 private:
  static constexpr uint32_t kFew = 1024;
  static constexpr uint32_t kTryAgain = 16;
  static void add_one(uint32_t* count) {
    __atomic_store_n(count, __atomic_load_n(count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
  }

  uint32_t made_;
  uint32_t handed_over_;
  uint32_t refused_;
};
extern HistoriesWorth histories_worth;

// What an access of `thread` does to a bytewise cell that was seen as `old`. False: nothing was done, and the
// cell must be an ordinary long one for this access (lock_fat). REQUIRES: the thread is inside the runtime.
bool access_in_bytes(Thread* thread, DhCell* cell, const DhCell& old, const Record& access);

// Makes a short cell bytewise that has no room for one more access of its thread. False: nothing was done; it
// is not the thread's alone, for instance.
bool make_bytewise(Thread* thread, Chunk* chunk, DhCell* cell, const DhCell& old, const Record& access);

// The cell's history is an empty FatCell's from now on, which is locked. Null: it was busy, or is not what
// was seen any more.
__attribute__((noinline)) FatCell* make_fat_from_bytes(DhCell* cell, const DhCell& old);

// Until whoever has the words is done, which is soon unless it has lost the processor.
void wait_while_busy(const DhCell* cell);

// Forgets all of it. False: it was busy, or is not what was seen any more.
bool clear_bytewise(DhCell* cell, const DhCell& old);
// The same if this thread has touched no other bytes.
bool forget_in_bytes(const Thread* thread, DhCell* cell, const DhCell& old, uint64_t bytes);

}  // namespace deadheat::watch
