#include "runtime/monitor/comb.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace deadheat::monitor {
namespace {

constexpr uintptr_t kLimit = uintptr_t{1} << 47;

// The bytes that a loop accesses, one by one.
std::set<uintptr_t> bytes_of(uintptr_t first, uint64_t size, int64_t stride, uint64_t count) {
  std::set<uintptr_t> bytes;
  for (uint64_t i = 0; i < count; ++i)
    for (uint64_t b = 0; b < size; ++b) bytes.insert(first + i * static_cast<uint64_t>(stride) + b);
  return bytes;
}

struct Loop {
  Comb comb;
  std::set<uintptr_t> bytes;
};

std::vector<Loop> all_small_loops() {
  std::vector<Loop> loops;
  for (uintptr_t first = 40; first < 50; ++first)
    for (uint64_t size = 1; size <= 4; ++size)
      for (int64_t stride = -8; stride <= 8; ++stride)
        for (uint64_t count = 1; count <= 5; ++count) {
          Loop loop{};
          EXPECT_TRUE(comb_of_loop(first, size, stride, count, kLimit, &loop.comb));
          loop.bytes = bytes_of(first, size, stride, count);
          loops.push_back(std::move(loop));
        }
  return loops;
}

TEST(Comb, HasTheBytesThatTheLoopAccessesAndNoOthers) {
  for (const Loop& loop : all_small_loops())
    for (uintptr_t byte = 0; byte < 110; ++byte) {
      ASSERT_EQ(loop.comb.contains(byte), loop.bytes.contains(byte)) << byte;
      if (!loop.bytes.contains(byte)) continue;
      Comb const tooth = loop.comb.tooth_at(byte);
      ASSERT_TRUE(tooth.is_stretch() && tooth.contains(byte));
      ASSERT_TRUE(loop.bytes.contains(tooth.address) && loop.bytes.contains(tooth.end() - 1));
    }
}

TEST(Comb, TwoLoopsMeetExactlyIfTheyHaveAByteInCommon) {
  std::vector<Loop> const loops = all_small_loops();
  uint64_t met = 0;
  for (size_t i = 0; i < loops.size(); i += 3)
    for (size_t j = 0; j < loops.size(); j += 7) {
      const Loop& a = loops[i];
      const Loop& b = loops[j];
      bool expected = false;
      for (uintptr_t byte : a.bytes) expected |= b.bytes.contains(byte);
      uintptr_t byte = 0;
      ASSERT_EQ(first_common(a.comb, b.comb, &byte), expected) << i << " " << j;
      if (!expected) continue;
      ++met;
      ASSERT_TRUE(a.bytes.contains(byte) && b.bytes.contains(byte)) << i << " " << j << " " << byte;
    }
  EXPECT_GT(met, 1000u);
}

TEST(Comb, ColumnsOfOneMatrixNeverMeet) {
  // 1000 rows of 64 bytes: column c is 4 bytes at 4c.
  for (uint64_t one = 0; one < 16; ++one)
    for (uint64_t other = 0; other < 16; ++other) {
      Comb a{};
      Comb b{};
      uintptr_t byte = 0;
      ASSERT_TRUE(comb_of_loop(4096 + 4 * one, 4, 64, 1000, kLimit, &a));
      ASSERT_TRUE(comb_of_loop(4096 + 4 * other + 999 * 64, 4, -64, 700, kLimit, &b));
      ASSERT_EQ(first_common(a, b, &byte), one == other);
      if (one == other) EXPECT_EQ(byte, b.address);
    }
}

TEST(Comb, WhatLiesFarInsideIsFound) {
  Comb comb{};
  ASSERT_TRUE(comb_of_loop(1 << 20, 8, 24, 1'000'000, kLimit, &comb));
  uintptr_t const middle = (1 << 20) + 24 * 500'000;
  uintptr_t byte = 0;
  EXPECT_TRUE(first_common(comb, {middle + 7, 17, 0, 0}, &byte));
  EXPECT_EQ(byte, middle + 7);
  EXPECT_FALSE(first_common(comb, {middle + 8, 16, 0, 0}, &byte)) << "between two teeth";
  EXPECT_TRUE(first_common({middle + 8, 17, 0, 0}, comb, &byte));
  EXPECT_EQ(byte, middle + 24);
}

TEST(Comb, LoopsThatMakeNoSenseHaveNoBytes) {
  Comb comb{};
  EXPECT_FALSE(comb_of_loop(64, 0, 8, 4, kLimit, &comb));
  EXPECT_FALSE(comb_of_loop(64, 8, 16, 0, kLimit, &comb));
  EXPECT_FALSE(comb_of_loop(64, 8, -16, 100, kLimit, &comb)) << "below address 0";
  EXPECT_FALSE(comb_of_loop(64, 8, 16, uint64_t{1} << 60, kLimit, &comb));
  EXPECT_FALSE(comb_of_loop(64, 8, 16, uint64_t{1} << 43, kLimit, &comb)) << "beyond the limit";
  EXPECT_FALSE(comb_of_loop(64, 8, INT64_MIN, 3, kLimit, &comb));
  EXPECT_TRUE(comb_of_loop(64, 8, INT64_MIN, 1, kLimit, &comb));
  EXPECT_EQ(comb.size, 8u);
}

}  // namespace
}  // namespace deadheat::monitor
