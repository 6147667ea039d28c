// Blocks of the heap, those noted in place and those in the table.
#include "runtime/watch/heap.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace deadheat::watch {
namespace {

alignas(4096) char memory[64 << 10];
uintptr_t at(size_t offset) { return reinterpret_cast<uintptr_t>(memory) + offset; }

TEST(Heap, KnowsBlocksByTheirBeginningAndByWhatTheyContain) {
  size_t offset = 24 << 10;
  for (size_t size : {0, 1, 24, 1024, 1025, 5000}) {
    SCOPED_TRACE(size);
    HeapBlock const block{at(offset + 16), size, 7, 3};
    offset += 6 << 10;
    HeapBlock found{};
    EXPECT_FALSE(heap_at(block.address, &found));
    heap_add(block);
    ASSERT_TRUE(heap_at(block.address, &found));
    EXPECT_EQ(found.size, size);
    EXPECT_EQ(found.stack, 7u);
    EXPECT_EQ(found.thread, 3u);
    EXPECT_FALSE(heap_at(block.address - 16, &found));
    EXPECT_FALSE(heap_at(block.address + 8, &found));
    EXPECT_FALSE(heap_find(block.address - 1, &found));
    for (size_t inside : {size_t{0}, size / 2, size == 0 ? 0 : size - 1}) {
      ASSERT_TRUE(heap_find(block.address + inside, &found)) << inside;
      EXPECT_EQ(found.address, block.address);
    }
    EXPECT_FALSE(heap_find(block.address + (size != 0 ? size : 1), &found));
    ASSERT_TRUE(heap_remove(block.address, &found));
    EXPECT_EQ(found.size, size);
    EXPECT_FALSE(heap_remove(block.address, &found));
    EXPECT_FALSE(heap_find(block.address, &found));
    ASSERT_TRUE(heap_find_freed(block.address + size / 2, &found));
    EXPECT_EQ(found.size, size);
    EXPECT_EQ(found.stack, 7u);
    EXPECT_EQ(found.thread, 3u);
  }
}

// Not glibc's, but there are allocators that do this.
TEST(Heap, KnowsBlocksThatAreCloserThanGlibcPutsThem) {
  HeapBlock found{};
  for (size_t i = 0; i < 16; ++i) heap_add({at(8192 + 8 * i), 8, static_cast<StackId>(i + 1), 0});
  for (size_t i = 0; i < 16; ++i) {
    ASSERT_TRUE(heap_find(at(8192 + 8 * i + 7), &found));
    EXPECT_EQ(found.stack, i + 1);
  }
  for (size_t i = 0; i < 16; ++i) {
    ASSERT_TRUE(heap_remove(at(8192 + 8 * i), &found));
    EXPECT_EQ(found.stack, i + 1);
    EXPECT_FALSE(heap_at(at(8192 + 8 * i), &found));
  }
}

// Where a block was freed, another one may begin elsewhere within what one note stands for.
TEST(Heap, ForgetsAFreedBlockWhenTheNextOneComes) {
  HeapBlock found{};
  heap_add({at(16384), 24, 5, 1});
  ASSERT_TRUE(heap_remove(at(16384), &found));
  heap_add({at(16384 + 16), 8, 6, 2});
  ASSERT_TRUE(heap_at(at(16384 + 16), &found));
  EXPECT_EQ(found.stack, 6u);
  EXPECT_FALSE(heap_at(at(16384), &found));
  EXPECT_FALSE(heap_find_freed(at(16384 + 16), &found));
  ASSERT_TRUE(heap_remove(at(16384 + 16), &found));
}

TEST(Heap, SaysWhichBlocksAreNotTheProgram) {
  HeapBlock found{};
  heap_add({at(12288), 64, 0, kHiddenBlock});
  EXPECT_TRUE(heap_at(at(12288), &found));
  EXPECT_FALSE(heap_find(at(12288 + 5), &found));
  EXPECT_TRUE(heap_remove(at(12288), &found));
}

}  // namespace
}  // namespace deadheat::watch
