#include "trace/stat.h"

#include <gtest/gtest.h>

#include "testing/trace_builder.h"

namespace deadheat {
namespace {

TEST(TraceStat, CountsKindsValuesAndThreads) {
  const Trace trace = testing::build_trace("T0|fork(T1)|1 T1|acq(l)|2 T1|w(x)=5|3 T1|rel(l)|4 T0|r(x)|5");
  TraceStat stat;
  stat.add(trace.events);
  EXPECT_EQ(stat.events(), 5u);
  EXPECT_EQ(stat.of_kind(EventKind::kFork), 1u);
  EXPECT_EQ(stat.of_kind(EventKind::kRead), 1u);
  EXPECT_EQ(stat.of_kind(EventKind::kBranch), 0u);
  EXPECT_EQ(stat.with_value(), 1u);
  ASSERT_EQ(stat.threads().size(), 2u);
  EXPECT_EQ(stat.threads()[1].events, 3u);
  EXPECT_EQ(stat.threads()[1].accesses, 1u);
  EXPECT_EQ(stat.levels(stat.threads()[0]), (std::vector<int>{8, 0, 0, 0, 8}));
}

TEST(TraceStat, ColumnsWidenWithTheTrace) {
  // The first half of the trace is thread 0's, the second thread 1's.
  constexpr std::uint64_t kEvents = 100'000;
  TraceStat stat;
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    Event event;
    event.kind = EventKind::kWrite;
    event.thread = ThreadId(i < kEvents / 2 ? 0 : 1);
    stat.add({&event, 1});
  }
  EXPECT_EQ(stat.column_width(), 2048u);
  const std::vector<int> first = stat.levels(stat.threads()[0]);
  const std::vector<int> second = stat.levels(stat.threads()[1]);
  ASSERT_EQ(first.size(), (kEvents + 2047) / 2048);
  EXPECT_EQ(first.front(), 8);
  EXPECT_EQ(first.back(), 0);
  EXPECT_EQ(second.front(), 0);
  EXPECT_EQ(second.back(), 8);
  std::uint64_t sum = 0;
  for (const TraceStat::Thread& thread : stat.threads()) {
    for (std::uint64_t column : thread.columns) sum += column;
  }
  EXPECT_EQ(sum, kEvents);
}

TEST(TraceStat, AMillionThreadsTakeNoMoreMemoryThanAFew) {
  TraceStat stat;
  for (std::uint32_t i = 0; i < 1'000'000; ++i) {
    Event event;
    event.thread = ThreadId(i);
    stat.add({&event, 1});
  }
  EXPECT_EQ(stat.threads().size(), TraceStat::kMaxThreads);
  EXPECT_EQ(stat.of_kind(EventKind::kBegin), 1'000'000u);
}

}  // namespace
}  // namespace deadheat
