#include <gtest/gtest.h>

#include <random>

#include "detect/site_index.h"
#include "testing/generate.h"
#include "testing/naive.h"
#include "testing/run_detector.h"
#include "testing/trace_builder.h"

namespace deadheat::detect {
namespace {

using testing::build_trace;
using testing::run_detector;

void compare(const Trace& trace) {
  const testing::EventPairs expected = testing::unordered_conflicts(trace, testing::happens_before(trace));
  const testing::Outcome hb = run_detector("hb", trace);
  for (const auto& pair : hb.event_pairs()) ASSERT_TRUE(expected.contains(pair)) << testing::to_text(trace);
  ASSERT_EQ(hb.site_pairs(), testing::sites_of(trace, expected)) << testing::to_text(trace);
  ASSERT_EQ(hb.races.size(), hb.site_pairs().size()) << "a pair of sites is reported once";

  const testing::Outcome fasttrack = run_detector("fasttrack", trace);
  for (const auto& pair : fasttrack.event_pairs())
    ASSERT_TRUE(expected.contains(pair)) << testing::to_text(trace);
  ASSERT_EQ(fasttrack.first_per_location(), testing::first_per_location(trace, expected))
      << testing::to_text(trace);
  ASSERT_EQ(fasttrack.races.size(), fasttrack.first_per_location().size()) << "a location is reported once";
}

// Every location has an index, however few its accesses.
struct AlwaysIndexed {
  AlwaysIndexed() { SiteIndex::worthwhile = 1; }
  ~AlwaysIndexed() { SiteIndex::worthwhile = 32; }
};

// Two locations, accessed by everybody from everywhere, under a lock now and then.
Trace chaos(std::mt19937_64& random, int events, int threads, int places) {
  Trace trace;
  for (int i = 0; i < threads; ++i) trace.names.threads.append("T" + std::to_string(i));
  for (int i = 0; i < places; ++i) trace.names.sites.append(std::to_string(i));
  for (const char* name : {"x", "y"}) trace.names.locations.append(name);
  trace.names.locks.append("l");
  auto below = [&](int n) { return static_cast<std::uint32_t>(random() % static_cast<unsigned>(n)); };
  auto add = [&](EventKind kind, std::uint32_t thread, std::uint32_t object) {
    Event event;
    event.kind = kind;
    event.thread = ThreadId(thread);
    event.object = ObjectId(object);
    event.site = SiteId(below(places));
    trace.events.push_back(event);
  };
  while (trace.events.size() < static_cast<std::size_t>(events)) {
    const std::uint32_t thread = below(threads);
    const bool locked = below(4) == 0;
    if (locked) add(EventKind::kAcquire, thread, 0);
    add(below(3) == 0 ? EventKind::kWrite : EventKind::kRead, thread, below(2));
    if (locked) add(EventKind::kRelease, thread, 0);
  }
  return trace;
}

TEST(HappensBefore, EqualsTheClosureOnAllSmallTraces) {
  std::uint64_t count = 0;
  auto visit = [](const Trace& trace) { compare(trace); };
  for (int events = 1; events <= 6; ++events) {
    count +=
        testing::for_each_small_trace({.events = events, .threads = 3, .locks = 1, .locations = 1}, visit);
    count += testing::for_each_small_trace(
        {.events = events, .threads = 3, .locks = 0, .locations = 1, .forks = true}, visit);
  }
  for (int events = 1; events <= 5; ++events) {
    count +=
        testing::for_each_small_trace({.events = events, .threads = 2, .locks = 2, .locations = 2}, visit);
    count += testing::for_each_small_trace({.events = events,
                                            .threads = 3,
                                            .locks = 0,
                                            .locations = 1,
                                            .messages = 1,
                                            .sites = testing::Sites::kFew},
                                           visit);
  }
  EXPECT_GT(count, 50000u);
  RecordProperty("traces", static_cast<int>(count));
}

TEST(HappensBefore, EqualsTheClosureOnRandomTraces) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 30000; ++i) compare(testing::random_trace(testing::random_shape(random), random));
}

TEST(HappensBefore, EqualsTheClosureOnRandomLongerTraces) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 300; ++i) {
    testing::RandomShape shape = testing::random_shape(random);
    shape.events = 150;
    shape.threads = 2 + static_cast<int>(random() % 6);
    compare(testing::random_trace(shape, random));
  }
}

TEST(HappensBefore, EqualsTheClosureWithManyPlacesAtALocation) {
  const AlwaysIndexed indexed;
  std::mt19937_64 random(3);
  for (int i = 0; i < 5000; ++i) compare(testing::random_trace(testing::random_shape(random), random));
  for (int i = 0; i < 100; ++i) compare(chaos(random, 250, 4, 3 + static_cast<int>(random() % 20)));
}

// Nothing is left to find soon, and the thousands of entries of a location must not be looked at for that.
TEST(SiteHistory, WhatIsKnownCostsNothing) {
  std::mt19937_64 random(4);
  const Trace trace = chaos(random, 60000, 8, 100);
  for (const char* name : {"hb", "shb", "wcp"}) {
    const testing::Outcome outcome = run_detector(name, trace);
    EXPECT_EQ(outcome.races.size(), 5050u) << name << ": every pair of places";
    EXPECT_LT(outcome.counter(name, "looks at earlier accesses"), 10 * trace.events.size()) << name;
  }
}

TEST(HappensBefore, ReportsPairsThatAreNotLastAccesses) {
  // Both writes of T0 race with T1's, though only the second is the last one.
  const testing::Outcome outcome = run_detector("hb", build_trace("T0|w(x)|1 T0|w(x)|2 T1|w(x)|3"));
  EXPECT_EQ(outcome.races.size(), 2u);
}

TEST(HappensBefore, AJoinedThreadThatIsJoinedAgainStillOrdersWhatItKnew) {
  const testing::Outcome outcome = run_detector(
      "hb",
      build_trace(
          "T0|fork(T1) T0|fork(T2) T0|fork(T3) T1|w(x) T1|snd(m) T2|rcv(m) T0|join(T2) T3|join(T2) T3|w(x)"));
  EXPECT_TRUE(outcome.races.empty());
}

TEST(FastTrack, EachRuleFires) {
  const testing::Outcome outcome = run_detector("fasttrack", build_trace(R"(
      T0|w(x) T0|w(x) T0|r(x)
      T0|fork(T1) T0|fork(T2)
      T1|r(x) T2|r(x) T2|r(x) T0|r(x)
      T0|join(T1) T0|join(T2) T0|w(x)
      T3|w(x) T3|w(x))"));
  EXPECT_EQ(outcome.counter("fasttrack", "write same epoch"), 1u);
  EXPECT_EQ(outcome.counter("fasttrack", "read same epoch"), 2u);
  EXPECT_EQ(outcome.counter("fasttrack", "read exclusive"), 1u);
  EXPECT_EQ(outcome.counter("fasttrack", "read share"), 1u);
  EXPECT_EQ(outcome.counter("fasttrack", "read shared"), 1u);
  EXPECT_EQ(outcome.counter("fasttrack", "write exclusive"), 1u);
  EXPECT_EQ(outcome.counter("fasttrack", "write shared"), 1u);
  EXPECT_EQ(outcome.counter("fasttrack", "after race"), 1u);
  EXPECT_EQ(outcome.counter("fasttrack", "races"), 1u);
}

TEST(FastTrack, ThreadsThatKnowTooMuchOfEachOtherEndInAnError) {
  Trace trace;
  std::string text;
  // Nobody joins anybody, and each learns of all before it.
  for (int i = 1; i < 5000; ++i) {
    const std::string name = "T" + std::to_string(i);
    text += "T0|fork(" + name + ") " + name + "|acq(l) " + name + "|rel(l) ";
  }
  trace = build_trace(text);
  RaceList races;
  Options options;
  options.memory_bytes = 1 << 20;
  std::vector<Pipeline> pipelines;
  pipelines.push_back(
      std::move(*make_pipeline("fasttrack", StageContext{&trace.names, &races, options, {}})));
  std::unique_ptr<TraceSource> source = source_of(trace);
  Result<std::uint64_t> result = run_pipelines(*source, pipelines, options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message.substr(0, 49), "fasttrack: expected state that fits 1 MiB, found ");
}

}  // namespace
}  // namespace deadheat::detect
