// How much shadow gets memory for what is touched.
#include <sys/mman.h>

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

// Memory whose shadow is touched here and there.
class JumpedAboutIn {
 public:
  // Far from others: behind huge pages more of them are begun. It stays mapped: what comes to stand at its
  // place would find its shadow.
  JumpedAboutIn() {
    void* const mapped =
        mmap(nullptr, 3 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory_ = static_cast<char*>(mapped) + kBytes;
  }

  // Touches every `nth` page of the shadow, in no order. How many have no memory when they are?
  size_t touch_one_of(size_t nth) {
    size_t asked = 0;
    for (size_t i = 0; i < kPages; ++i) {
      size_t const page = i * 1021 % kPages;
      if (page % nth != 0) continue;
      uintptr_t const address = reinterpret_cast<uintptr_t>(memory_) + page * kPageCells * 8;
      Chunk* const chunk = chunk_for(address);
      if (state_of(address) == kUntouched) ++asked;
      note_touched(chunk, cell_index(address));
    }
    return asked;
  }
  size_t pages_with_memory() const {
    size_t count = 0;
    for (size_t page = 0; page < kPages; ++page)
      count += state_of(reinterpret_cast<uintptr_t>(memory_) + page * kPageCells * 8) != kUntouched ? 1 : 0;
    return count;
  }

  static constexpr size_t kBytes = size_t{8} << 20;
  static constexpr size_t kPages = kBytes / (kPageCells * 8);

 private:
  static uint8_t state_of(uintptr_t address) {
    const Chunk* const chunk = existing_chunk(address);
    if (chunk == nullptr) return kUntouched;
    return __atomic_load_n(&chunk->page_state[cell_index(address) / kPageCells], __ATOMIC_RELAXED);
  }
  char* memory_;
};

TEST(ShadowPages, WhoJumpsAboutEverywhereDoesNotAskForEachPage) {
  JumpedAboutIn table;
  EXPECT_LE(table.touch_one_of(1), JumpedAboutIn::kPages * 2 / 5);
  EXPECT_EQ(table.pages_with_memory(), JumpedAboutIn::kPages);
}

TEST(ShadowPages, FewTouchesOfALargeTableCostWhatTheyTouch) {
  for (size_t nth : {5, 16}) {
    JumpedAboutIn table;
    size_t const asked = table.touch_one_of(nth);
    EXPECT_EQ(asked, (JumpedAboutIn::kPages + nth - 1) / nth);
    EXPECT_EQ(table.pages_with_memory(), asked);
  }
}

}  // namespace
}  // namespace deadheat::watch
