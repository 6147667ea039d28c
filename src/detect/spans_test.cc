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

TEST(SpanRule, AReleaseThatNobodyCanTakeUpEndsNoSpan) {
  SpanThread thread;
  SpanLock lock;
  const std::uint64_t label = span_label(thread);
  EXPECT_TRUE(span_covers(label, thread));
  span_acquire(thread, lock);
  EXPECT_TRUE(span_covers(label, thread));
  span_release(thread, lock);
  EXPECT_FALSE(span_covers(label, thread)) << "pending";
  span_acquire(thread, lock);
  EXPECT_TRUE(span_covers(label, thread)) << "superseded";
  span_release(thread, lock);
  EXPECT_FALSE(span_covers(label, thread)) << "pending again";
}

TEST(SpanRule, AnObservedReleaseEndsTheSpanForGood) {
  SpanThread thread, other;
  SpanLock lock;
  const std::uint64_t before = span_label(thread);
  span_release(thread, lock);
  const std::uint64_t after = span_label(thread);
  span_acquire(other, lock);
  EXPECT_FALSE(span_covers(before, thread));
  EXPECT_TRUE(span_covers(after, thread));
  span_release(other, lock);
  span_acquire(thread, lock);
  EXPECT_FALSE(span_covers(before, thread));
  EXPECT_TRUE(span_covers(after, thread));
}

TEST(SpanRule, PendingReleasesOfSeveralLocksAreTakenBackInAnyOrder) {
  SpanThread thread;
  SpanLock a, b, c;
  const std::uint64_t start = span_label(thread);
  span_release(thread, a);
  const std::uint64_t after_a = span_label(thread);
  span_release(thread, b);
  const std::uint64_t after_b = span_label(thread);
  span_release(thread, c);
  const std::uint64_t after_c = span_label(thread);
  EXPECT_FALSE(span_covers(after_b, thread));
  EXPECT_TRUE(span_covers(after_c, thread));
  span_acquire(thread, c);
  EXPECT_FALSE(span_covers(after_a, thread));
  EXPECT_TRUE(span_covers(after_b, thread));
  span_acquire(thread, a);
  EXPECT_FALSE(span_covers(after_a, thread)) << "b is still pending";
  span_acquire(thread, b);
  EXPECT_TRUE(span_covers(start, thread));
  EXPECT_EQ(thread.newest, nullptr);
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
    } else {
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
