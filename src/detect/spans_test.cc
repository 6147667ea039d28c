#include "detect/spans.h"

#include <gtest/gtest.h>

#include <random>

#include "detect/pipeline.h"
#include "testing/generate.h"
#include "testing/run_detector.h"
#include "testing/trace_builder.h"

namespace deadheat::detect {
namespace {

using testing::build_trace;
using testing::run_detector;

// One access that is let through; returns its label.
template <class Clock>
std::uint32_t access(Clock& thread) {
  thread.note_used();
  return thread.label();
}

TEST(SpanRule, AReleaseThatNobodyCanTakeUpEndsNoSpan) {
  SpanClock<int> thread;
  thread.start(1);
  const std::uint32_t label = access(thread);
  thread.acquire_lock(1, true);
  EXPECT_EQ(thread.label(), label);
  thread.release_lock(1);
  EXPECT_GT(thread.label(), label) << "pending";
  thread.acquire_lock(1, true);
  EXPECT_EQ(thread.label(), label) << "superseded";
  thread.release_lock(1);
  EXPECT_GT(thread.label(), label) << "pending again";
}

TEST(SpanRule, AnObservedReleaseEndsTheSpanForGood) {
  SpanClock<int> thread;
  thread.start(1);
  const std::uint32_t before = access(thread);
  thread.release_lock(1);
  const std::uint32_t after = access(thread);
  thread.acquire_lock(1, false);
  EXPECT_LT(before, thread.label());
  EXPECT_GE(after, thread.label());
}

TEST(SpanRule, PendingReleasesOfSeveralLocksAreTakenBackInAnyOrder) {
  SpanClock<char> thread;
  thread.start(1);
  const std::uint32_t start = access(thread);
  thread.release_lock('a');
  const std::uint32_t after_a = access(thread);
  thread.release_lock('b');
  const std::uint32_t after_b = access(thread);
  thread.release_lock('c');
  EXPECT_LT(after_b, thread.label());
  thread.acquire_lock('c', true);
  EXPECT_LT(after_a, thread.label());
  EXPECT_GE(after_b, thread.label());
  thread.acquire_lock('a', true);
  EXPECT_LT(after_a, thread.label()) << "b is still pending";
  thread.acquire_lock('b', true);
  EXPECT_GE(start, thread.label());
}

TEST(SpanRule, MorePendingReleasesThanAreKeptCountAsObserved) {
  SpanClock<int, 2> thread;
  thread.start(1);
  const std::uint32_t first = access(thread);
  for (int lock = 1; lock <= 3; ++lock) {
    thread.release_lock(lock);
    access(thread);
  }
  for (int lock = 3; lock >= 1; --lock) thread.acquire_lock(lock, true);
  EXPECT_LT(first, thread.label()) << "the release of lock 1 could no longer be taken back";
}

TEST(SpanRule, AReleaseWithNothingBeforeItStartsNoLabel) {
  SpanClock<int> thread;
  thread.start(1);
  const std::uint32_t label = thread.label();
  thread.release();
  EXPECT_EQ(thread.label(), label);
}

TEST(Spans, APendingReleaseIsNotTakenForAnUnobservedOne) {
  // The second w(x) must reach the detector although nobody has observed rel(A) when it comes.
  const Trace trace = build_trace("T0|acq(A) T0|w(x) T0|rel(A) T0|w(x) T1|acq(A) T1|r(x)");
  EXPECT_EQ(run_detector("fasttrack", trace).races.size(), 1u);
  EXPECT_EQ(run_detector("spans|fasttrack", trace).races.size(), 1u);
}

TEST(Spans, UncontendedLocksCostNothing) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "T0|acq(A) T0|w(x)|1 T0|rel(A) ";
  const testing::Outcome outcome = run_detector("spans|fasttrack", build_trace(text));
  EXPECT_EQ(outcome.counter("spans", "dropped"), 99u);
}

TEST(Spans, TheExampleWhereTreeLosesARaceIsKept) {
  const Trace trace = build_trace(R"(
      T0|acq(A)|1 T0|w(x)|2 T0|rel(A)|3 T1|acq(A)|4 T1|rel(A)|5
      T0|acq(A)|1 T0|w(x)|2 T0|rel(A)|3 T1|r(x)|6)");
  EXPECT_EQ(run_detector("fasttrack", trace).races.size(), 1u);
  EXPECT_EQ(run_detector("spans|fasttrack", trace).races.size(), 1u);
  EXPECT_EQ(run_detector("spans|hb", trace).races.size(), 1u);
  EXPECT_EQ(run_detector("tree|fasttrack", trace).races.size(), 0u);
}

// What each detector promises, with and without spans in front of it.
std::uint64_t dropped = 0;

void compare(const Trace& trace) {
  for (const DetectorInfo& info : all_detectors()) {
    if (info.is_filter || info.whole_trace) continue;
    const std::string name(info.name);
    const testing::Outcome plain = run_detector(name, trace);
    const testing::Outcome filtered = run_detector("spans|" + name, trace);
    dropped += filtered.counter("spans", "dropped");
    if (info.drop_rule == DropRule::kLocation || info.drop_rule == DropRule::kLockset) {
      ASSERT_EQ(plain.first_per_location(), filtered.first_per_location()) << name << "\n"
                                                                           << testing::to_text(trace);
    }
    // Fingerprints are made of the two places.
    if (info.drop_rule != DropRule::kLocation) {
      ASSERT_EQ(plain.site_pairs(), filtered.site_pairs()) << name << "\n" << testing::to_text(trace);
    }
  }
}

TEST(Spans, ChangeNothingThatADetectorPromisesOnAllSmallTraces) {
  std::uint64_t count = 0;
  for (const testing::Sites sites : {testing::Sites::kDistinct, testing::Sites::kByAccess}) {
    for (int events = 2; events <= 6; ++events) {
      count += testing::for_each_small_trace(
          {.events = events, .threads = 2, .locks = 1, .locations = 1, .sites = sites}, compare);
    }
    for (int events = 2; events <= 5; ++events) {
      count += testing::for_each_small_trace(
          {.events = events, .threads = 3, .locks = 2, .locations = 1, .sites = sites}, compare);
      count += testing::for_each_small_trace({.events = events,
                                              .threads = 3,
                                              .locks = 0,
                                              .locations = 1,
                                              .messages = 1,
                                              .forks = true,
                                              .sites = sites},
                                             compare);
    }
  }
  EXPECT_GT(count, 40000u);
  EXPECT_GT(dropped, 10000u);
}

TEST(Spans, ChangeNothingThatADetectorPromisesOnRandomTraces) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) compare(testing::random_trace(testing::random_shape(random), random));
}

TEST(Spans, ChangeNothingThatADetectorPromisesOnRandomLongerTraces) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 500; ++i) {
    testing::RandomShape shape = testing::random_shape(random);
    shape.events = 200;
    shape.sites = i % 2 ? testing::Sites::kByAccess : testing::Sites::kFew;
    compare(testing::random_trace(shape, random));
  }
}

}  // namespace
}  // namespace deadheat::detect
