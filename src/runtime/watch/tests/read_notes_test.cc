// What is noted instead of recorded, and what is not.
#include "runtime/watch/read_notes.h"

#include <set>

#include "gtest/gtest.h"
#include "runtime/watch/again.h"
#include "runtime/watch/atomic_access.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/sync.h"
#include "runtime/watch/tests/actors.h"

namespace deadheat::watch {
namespace {

constexpr uintptr_t kPc = 0x3000;
constexpr uint64_t kWhole = 0xff;

// Words whose cells share lines, four each.
class Words {
 public:
  Words() {
    clear_shadow(at(0), sizeof words_);
    clear_shadow(reinterpret_cast<uintptr_t>(&message_), sizeof message_);
    actors_.are(std::set<uint32_t>{0, 1});
  }

  Thread* thread(uint32_t id) { return actors_.get(id); }
  static uintptr_t at(size_t word) { return reinterpret_cast<uintptr_t>(&words_[word]); }
  static DhCell* cell(size_t word) { return existing_cell(at(word)); }

  void touch(uint32_t id, size_t word, AccessType type = AccessType::kRead) {
    check_access(thread(id), {at(word), 8, type, kPc, 0, false});
  }
  void read_atomically(uint32_t id, size_t word) {
    Thread* const t = thread(id);
    Record access = atomic_record(t, false, kWhole);
    access.stack = stack_at(t, kPc, AccessType::kAtomicRead, 8);
    Races races(t);
    FatCell* const fat = lock_fat(chunk_for(at(word)), cell(word));
    record_in_fat(t, fat, at(word), access, &races);
    unlock_fat(t, fat);
  }
  // Both learn of each other, and what they do from now on has new labels.
  void hand_over() {
    for (uint32_t id : {0u, 1u, 0u}) {
      sync_acquire(thread(id), &message_);
      sync_release(thread(id), &message_, false);
    }
  }
  bool begin(uint32_t id, size_t word) {
    return ReadNotes::begin(thread(id), at(word), cell(word), kWhole, kPc);
  }
  bool is_noted_by(uint32_t id, size_t word) {
    return has_own_note(load_halves(cell(word)), thread(id)->hot->floor, kWhole);
  }
  // The read of before once more. Is it one that may be noted?
  bool is_shared_at(int32_t until_known, uint32_t id, size_t word) {
    thread(id)->until_known = until_known;
    return access_again<false, kSameAccess>(thread(id), cell(word), kWhole, kPc) == Again::kShared;
  }
  // What both read there is noted by one of them.
  void share(size_t word, uint32_t noting) {
    touch(0, word);
    touch(1, word);
    ASSERT_TRUE(begin(noting, word));
  }

 private:
  alignas(64) static inline uint64_t words_[32];
  static inline uint64_t message_;
  Actors actors_;
};

TEST(ReadNotes, OfReadsThatStandAloneWhatIsBesideNotedOnesIsNoted) {
  for (uint32_t noting : {0u, 1u}) {
    for (uint32_t alone : {0u, 1u}) {
      Words words;
      // Beside: the first one of a line and the last one. Not beside: of the lines before and behind.
      for (size_t word : {3, 4, 7, 8}) words.touch(alone, word);
      words.share(noting == 0 ? 5 : 6, noting);
      words.hand_over();
      for (size_t word : {4, 7}) {
        EXPECT_TRUE(words.is_shared_at(62, alone, word)) << word;
        EXPECT_FALSE(words.is_noted_by(alone, word)) << word;
        EXPECT_TRUE(words.begin(alone, word)) << word;
        EXPECT_TRUE(words.is_noted_by(alone, word)) << word;
        EXPECT_FALSE(words.begin(alone, word)) << "again: " << word;
      }
      for (size_t word : {3, 8}) EXPECT_FALSE(words.is_shared_at(62, alone, word)) << word;
    }
  }
}

// Every time would cost more than it is worth.
TEST(ReadNotes, WhatIsBesideIsLookedAtNowAndThen) {
  Words words;
  words.share(1, 0);
  int looked = 0;
  for (int32_t until = 1000; until > 1000 - 64; --until) {
    words.touch(0, 0);
    words.hand_over();
    looked += words.is_shared_at(until, 0, 0) ? 1 : 0;
  }
  EXPECT_GE(looked, 1);
  EXPECT_LE(looked, 8);
}

// A note says that somebody read plainly, and nothing else.
TEST(ReadNotes, OnlyOwnPlainReadsOfAllTheBytesAreNoted) {
  Words words;
  words.touch(0, 0, AccessType::kWrite);
  words.read_atomically(0, 1);
  words.touch(1, 2);
  check_access(words.thread(0), {Words::at(3), 4, AccessType::kRead, kPc, 0, false});
  words.hand_over();
  for (size_t word : {0, 1, 2, 3}) {
    DhCell const before = load_halves(Words::cell(word));
    EXPECT_FALSE(is_fat(before)) << word;
    EXPECT_FALSE(words.begin(0, word)) << word;
    EXPECT_TRUE(is_same(load_halves(Words::cell(word)), before)) << word;
  }
}

}  // namespace
}  // namespace deadheat::watch
