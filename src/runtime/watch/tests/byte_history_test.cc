// What one thread alone did to a granule, and what others are told of it.
#include "runtime/watch/byte_history.h"

#include <gtest/gtest.h>

#include "runtime/watch/access.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/sync.h"
#include "runtime/watch/tests/actors.h"

namespace deadheat::watch {
namespace {

constexpr uint32_t kWorker = 1;
constexpr uint32_t kOther = 2;

class WatchByteHistory : public testing::Test {
 protected:
  WatchByteHistory() {
    actors_.are(std::vector<uint32_t>{kWorker, kOther});
    told.clear();
    clear_shadow(at(0), sizeof granule_);
  }
  ~WatchByteHistory() override { clear_shadow(at(0), sizeof granule_); }

  uintptr_t at(unsigned byte) const { return reinterpret_cast<uintptr_t>(&granule_[byte]); }
  DhCell* cell() const { return &chunk_for(at(0))->cells[cell_index(at(0))]; }
  uint32_t words() const { return words_of(shape_of(*cell())).count; }

  void access(uint32_t who, AccessType type, unsigned byte, size_t size, uintptr_t pc) {
    Thread* const thread = actors_.enter(who);
    Inside const inside(thread);
    check_access(thread, {at(byte), size, type, pc});
  }
  void write(unsigned byte, size_t size, uintptr_t pc) {
    access(kWorker, AccessType::kWrite, byte, size, pc);
  }
  void read(unsigned byte, size_t size, uintptr_t pc) { access(kWorker, AccessType::kRead, byte, size, pc); }
  // Somebody may know of all that was done so far, but not of what comes.
  void release() { publish(actors_.enter(kWorker)); }

  // The other one knows of all that was done so far.
  void tell_other() {
    sync_release(actors_.enter(kWorker), message_, true);
    sync_acquire(actors_.enter(kOther), message_);
  }

  // Where the worker made the access that races with one of another thread to this byte; 0: nowhere.
  uintptr_t races_with(AccessType type, unsigned byte) {
    told.clear();
    access(kOther, type, byte, 1, 0x9000);
    uintptr_t const pc = told.empty() ? 0 : told.begin()->earlier_pc;
    EXPECT_LE(told.size(), 1u);
    told.clear();
    return pc;
  }

 private:
  Actors actors_;
  alignas(64) char granule_[8] = {};
  alignas(64) char message_[8] = {};
};

TEST_F(WatchByteHistory, KeepsTheLatestWriteOfEachByte) {
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned b = 0; b < 8; ++b) {
      write(b, 1, 0x1000 + 0x100 * round + b);
      release();
    }
  }
  ASSERT_TRUE(is_bytewise(*cell()));
  EXPECT_EQ(words(), 16u);
  for (unsigned b = 0; b < 8; ++b) EXPECT_EQ(races_with(AccessType::kRead, b), 0x1200u + b);
  EXPECT_FALSE(is_bytewise(*cell()));
}

TEST_F(WatchByteHistory, KeepsReadsOnlyBehindTheWrite) {
  for (unsigned b = 0; b < 8; ++b) write(b, 1, 0x1000 + b);
  release();
  for (unsigned b = 0; b < 4; ++b) read(b, 1, 0x2000 + b);
  release();
  write(1, 1, 0x3001);
  ASSERT_TRUE(is_bytewise(*cell()));
  EXPECT_EQ(races_with(AccessType::kRead, 0), 0x1000u);
  EXPECT_EQ(races_with(AccessType::kRead, 1), 0x3001u);
  EXPECT_EQ(races_with(AccessType::kRead, 5), 0x1005u);
}

TEST_F(WatchByteHistory, LanesAreAsWideAsAccessesAllow) {
  write(0, 4, 0x1000);
  release();
  read(0, 4, 0x1001);
  release();
  write(4, 4, 0x1002);
  release();
  ASSERT_TRUE(is_bytewise(*cell()));
  EXPECT_EQ(words(), 4u) << "two lanes, read and written";
  write(0, 2, 0x2001);
  EXPECT_EQ(words(), 8u);
  release();
  read(7, 1, 0x2002);
  EXPECT_EQ(words(), 16u);
  EXPECT_EQ(races_with(AccessType::kRead, 6), 0x1002u);
  EXPECT_EQ(races_with(AccessType::kRead, 7), 0x1002u);
  EXPECT_EQ(races_with(AccessType::kRead, 1), 0x2001u);
  EXPECT_EQ(races_with(AccessType::kRead, 2), 0x1000u);
}

TEST_F(WatchByteHistory, OnlyReadsNeedHalfAsMuch) {
  read(0, 2, 0x1000);
  release();
  read(2, 2, 0x1001);
  release();
  read(4, 4, 0x1002);
  release();
  ASSERT_TRUE(is_bytewise(*cell()));
  EXPECT_EQ(words(), 4u) << "four lanes, only read";
  read(0, 4, 0x1003);
  release();
  write(4, 4, 0x1004);
  EXPECT_EQ(words(), 4u) << "two lanes, read and written";
  read(1, 1, 0x1005);
  EXPECT_EQ(words(), 16u);
  EXPECT_EQ(races_with(AccessType::kRead, 0), 0u);
  EXPECT_EQ(races_with(AccessType::kWrite, 0), 0x1003u);
  EXPECT_EQ(races_with(AccessType::kWrite, 1), 0x1005u);
  EXPECT_EQ(races_with(AccessType::kWrite, 7), 0x1004u);
}

TEST_F(WatchByteHistory, IsShortAgainWhenWrittenWhole) {
  uint64_t const before = histories_in_use();
  for (unsigned i = 0; i < 20; ++i) {
    write(i % 8, 1, 0x1000 + i);
    if (i % 2 == 0) release();
  }
  ASSERT_TRUE(is_bytewise(*cell()));
  EXPECT_EQ(histories_in_use(), before + 1);
  write(0, 8, 0x2000);
  EXPECT_FALSE(is_fat(*cell()));
  EXPECT_EQ(histories_in_use(), before);
  EXPECT_EQ(races_with(AccessType::kRead, 5), 0x2000u);
}

TEST_F(WatchByteHistory, IsShortAgainWhenAllBytesWereWrittenAtOnePlace) {
  for (unsigned i = 0; i < 5; ++i) {
    write(i, 1, 0x1000 + i);
    release();
  }
  ASSERT_TRUE(is_bytewise(*cell()));
  for (unsigned b = 0; b < 8; ++b) write(b, 1, 0x2000);
  EXPECT_FALSE(is_fat(*cell()));
  EXPECT_EQ(races_with(AccessType::kRead, 5), 0x2000u);
}

TEST_F(WatchByteHistory, IsForgottenWithItsMemory) {
  uint64_t const before = histories_in_use();
  for (unsigned i = 0; i < 5; ++i) {
    write(i, 1, 0x1000 + i);
    release();
  }
  EXPECT_EQ(histories_in_use(), before + 1);
  clear_shadow(at(0), 8);
  EXPECT_EQ(histories_in_use(), before);
  EXPECT_EQ(races_with(AccessType::kRead, 1), 0u);
}

// Of a label only the lowest bits are kept.
TEST_F(WatchByteHistory, OldLabelsStayOld) {
  for (unsigned i = 0; i < 4; ++i) {
    write(i, 1, 0x1000 + i);
    release();
  }
  ASSERT_TRUE(is_bytewise(*cell()));
  tell_other();
  for (unsigned i = 0; i < 3u << ByteHistory::kLabelBits; ++i) {
    write(7, 1, 0x2000);
    release();
  }
  EXPECT_EQ(races_with(AccessType::kRead, 2), 0u);
  EXPECT_EQ(races_with(AccessType::kRead, 7), 0x2000u);
}

}  // namespace
}  // namespace deadheat::watch
