// lockset and hybrid against their specifications.
#include <gtest/gtest.h>

#include <random>

#include "testing/generate.h"
#include "testing/naive_predict.h"
#include "testing/run_detector.h"
#include "testing/trace_builder.h"

namespace deadheat::detect {
namespace {

using testing::build_trace;
using testing::run_detector;

void compare(const Trace& trace) {
  ASSERT_EQ(run_detector("lockset", trace).first_per_location(), testing::eraser_faults(trace))
      << testing::to_text(trace);
  ASSERT_EQ(run_detector("hybrid", trace).first_per_location(), testing::hybrid_faults(trace))
      << testing::to_text(trace);
}

TEST(Locksets, EqualTheSpecificationOnAllSmallTraces) {
  std::uint64_t count = 0;
  for (int events = 2; events <= 6; ++events) {
    count +=
        testing::for_each_small_trace({.events = events, .threads = 3, .locks = 1, .locations = 1}, compare);
    if (events == 6) continue;
    count +=
        testing::for_each_small_trace({.events = events, .threads = 2, .locks = 2, .locations = 1}, compare);
    count += testing::for_each_small_trace(
        {.events = events, .threads = 3, .locks = 1, .locations = 1, .messages = 1, .forks = true}, compare);
  }
  EXPECT_GT(count, 30000u);
}

TEST(Locksets, EqualTheSpecificationOnRandomTraces) {
  std::mt19937_64 random(41);
  for (int i = 0; i < 30000; ++i) compare(testing::random_trace(testing::random_shape(random), random));
}

TEST(Lockset, ForgivesInitialisationAndReadSharing) {
  EXPECT_TRUE(run_detector("lockset", build_trace("T0|w(x) T0|w(x) T1|r(x) T2|r(x)")).races.empty());
}

TEST(Lockset, ReportsWhatOnlyForkAndJoinProtect) {
  const Trace trace = build_trace("T0|w(x) T0|fork(T1) T1|w(x) T0|join(T1) T0|w(x)");
  EXPECT_EQ(run_detector("lockset", trace).races.size(), 1u);
  EXPECT_TRUE(run_detector("hybrid", trace).races.empty());
  EXPECT_TRUE(run_detector("hb", trace).races.empty());
}

// The basic tests of the paper's table 2, for single locations; number 4 is a race here, as the table expects
// it to be.
TEST(Hybrid, BasicSynchronisation) {
  struct Case {
    const char* description;
    const char* trace;
    std::size_t races;
  };
  const Case cases[] = {
      {"inc || inc", "A|r(x) A|w(x) B|r(x) B|w(x)", 1},
      {"read || inc", "A|r(x) B|r(x) B|w(x)", 1},
      {"read || read", "A|r(x) B|r(x)", 0},
      {"{inc}m || {inc}m", "A|acq(m) A|r(x) A|w(x) A|rel(m) B|acq(m) B|r(x) B|w(x) B|rel(m)", 0},
      {"write || write", "A|w(x) B|w(x)", 1},
      {"{inc}m {inc}m || {inc}m",
       "A|acq(m) A|w(x) A|rel(m) A|acq(m) A|w(x) A|rel(m) B|acq(m) B|r(x) B|w(x) B|rel(m)", 0},
      {"{inc}mn || {inc}m", "A|acq(m) A|acq(n) A|w(x) A|rel(n) A|rel(m) B|acq(m) B|w(x) B|rel(m)", 0},
      {"{inc}m || {inc}n", "A|acq(m) A|w(x) A|rel(m) B|acq(n) B|w(x) B|rel(n)", 1},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(run_detector("hybrid", build_trace(each.trace)).races.size(), each.races) << each.description;
  }
}

TEST(Hybrid, LockOrderHidesNothing) {
  // Happens-before is satisfied by the empty critical sections; the locksets are not.
  const Trace trace = build_trace("A|w(x) A|acq(m) A|rel(m) B|acq(m) B|rel(m) B|w(x)");
  EXPECT_TRUE(run_detector("hb", trace).races.empty());
  EXPECT_EQ(run_detector("hybrid", trace).races.size(), 1u);
}

TEST(Hybrid, BeingAfterOneOfSeveralAccessesIsNotBeingOrdered) {
  // T2 is after T1's access but parallel to T0's.
  const Trace trace = build_trace(R"(
      T0|acq(m) T0|w(x) T0|rel(m) T1|acq(m) T1|w(x) T1|rel(m) T1|snd(q) T2|rcv(q) T2|w(x))");
  EXPECT_EQ(run_detector("hybrid", trace).races.size(), 1u);
}

}  // namespace
}  // namespace deadheat::detect
