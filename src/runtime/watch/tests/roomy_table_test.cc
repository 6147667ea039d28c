#include "runtime/watch/roomy_table.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/watch/tests/actors.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {
namespace {

using Table = RoomyTable<uint32_t, 2, 4>;
constexpr uint32_t hash_of(uint32_t entry) { return entry << 28; }

TEST(RoomyTable, HasRoomForFewThenForMany) {
  auto const table = std::make_unique<Table>();
  table->begin();
  for (uint32_t i = 0; i < 4; ++i) table->at(hash_of(i)) = i + 1;
  const Table& same = *table;
  for (uint32_t i = 0; i < Table::kMany; ++i) EXPECT_EQ(same.at(hash_of(i)), i % 4 + 1);
  uint32_t many[Table::kMany]{};
  table->grow(many);
  for (uint32_t i = 0; i < Table::kMany; ++i) {
    EXPECT_EQ(same.at(hash_of(i)), 0u);
    table->at(hash_of(i)) = i;
    EXPECT_EQ(many[i], i);
  }
}

// More than fit even into what the tables grow to.
std::vector<uint32_t> numbers_of_many_stacks(Thread* thread) {
  std::vector<uint32_t> numbers;
  StackId before = intern_access(thread->cache, {0, 999, AccessType::kWrite, 8, 0});
  for (uintptr_t pc = 1000; pc < 40'000; ++pc) {
    StackId const stack = intern_access(thread->cache, {0, pc, AccessType::kRead, 4, 0});
    numbers.push_back(stack);
    numbers.push_back(intern_composite(thread->cache, before, 0xf0, stack, 0x0f));
    numbers.push_back(intern_shape(thread->cache, before, stack));
    before = stack;
  }
  return numbers;
}

TEST(RoomyTable, NumbersStayTheSameWhenTheTablesOfAThreadGrow) {
  Actors actors;
  Thread* const thread = actors.get(0);
  std::vector<uint32_t> const numbers = numbers_of_many_stacks(thread);
  EXPECT_EQ(thread->roomy, nullptr);
  grow_tables(thread);
  ASSERT_NE(thread->roomy, nullptr);
  EXPECT_EQ(numbers_of_many_stacks(thread), numbers);
  EXPECT_EQ(numbers_of_many_stacks(thread), numbers);
}

}  // namespace
}  // namespace deadheat::watch
