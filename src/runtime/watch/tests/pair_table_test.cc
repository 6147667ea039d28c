#include "runtime/platform/pair_table.h"

#include "gtest/gtest.h"

namespace deadheat::platform {
namespace {

enum class Kind : uint8_t { kRead, kWrite };

TEST(PairTable, APairIsOneInEitherOrder) {
  PairTable<Kind> table;
  bool fresh = false;
  EXPECT_EQ(table.note({1, Kind::kRead}, {2, Kind::kWrite}, &fresh), 0u);
  EXPECT_TRUE(fresh);
  EXPECT_EQ(table.note({2, Kind::kWrite}, {1, Kind::kRead}, &fresh), 0u);
  EXPECT_FALSE(fresh);
  EXPECT_EQ(table[0].instances, 2u);
  EXPECT_EQ(table.note({2, Kind::kRead}, {1, Kind::kRead}, &fresh), 1u);
  EXPECT_TRUE(fresh);
}

TEST(PairTable, ManyPairsKeepTheirNumbers) {
  PairTable<Kind> table;
  bool fresh = false;
  for (int round = 0; round < 2; ++round) {
    for (uintptr_t i = 0; i < 5000; ++i) {
      EXPECT_EQ(table.note({i % 71, Kind::kRead}, {100 + i, Kind::kWrite}, &fresh), i);
      EXPECT_EQ(fresh, round == 0);
    }
  }
  EXPECT_EQ(table.size(), 5000u);
  table.clear();
  EXPECT_EQ(table.size(), 0u);
  table.note({0, Kind::kRead}, {100, Kind::kWrite}, &fresh);
  EXPECT_TRUE(fresh);
}

}  // namespace
}  // namespace deadheat::platform
