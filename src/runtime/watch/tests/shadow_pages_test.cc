// How much shadow gets memory for what is touched.
#include "gtest/gtest.h"
#include "runtime/watch/shadow.h"

namespace deadheat::watch {
namespace {

size_t pages_with_memory(const Chunk* chunk) {
  size_t count = 0;
  for (uint8_t const state : chunk->page_state) count += state != kUntouched ? 1 : 0;
  return count;
}

TEST(ShadowPages, BuffersThatAreNotFilledCostWhatIsUsed) {
  Chunk* const chunk = chunk_for(uintptr_t{0x2a} << 40);
  ASSERT_NE(chunk, nullptr);
  constexpr size_t kBuffer = 66;  // pages
  constexpr size_t kUsed = 20;
  size_t used = 0;
  for (size_t first = 0; first + kBuffer <= kChunkPages; first += kBuffer) {
    for (size_t page = first; page < first + kUsed; ++page) {
      note_touched(chunk, page * kPageCells);
      ++used;
    }
  }
  EXPECT_LE(pages_with_memory(chunk), used + used / 4);
}

TEST(ShadowPages, WhatIsUsedOneAfterTheOtherIsAskedForInTime) {
  Chunk* const chunk = chunk_for(uintptr_t{0x2b} << 40);
  ASSERT_NE(chunk, nullptr);
  size_t asked = 0;
  for (size_t page = 0; page < 500; ++page) {
    if (__atomic_load_n(&chunk->page_state[page], __ATOMIC_RELAXED) == kUntouched) ++asked;
    note_touched(chunk, page * kPageCells);
  }
  EXPECT_LE(asked, 32u);
}

}  // namespace
}  // namespace deadheat::watch
