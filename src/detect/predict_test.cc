// shb, wcp and syncp against their definitions.
#include <gtest/gtest.h>

#include <random>

#include "detect/pipeline.h"
#include "detect/site_index.h"
#include "testing/explorer.h"
#include "testing/generate.h"
#include "testing/naive_predict.h"
#include "testing/run_detector.h"
#include "testing/trace_builder.h"

namespace deadheat::detect {
namespace {

using testing::build_trace;
using testing::run_detector;

void compare(const char* name, const Trace& trace, const testing::EventPairs& expected) {
  const testing::Outcome outcome = run_detector(name, trace);
  for (const auto& pair : outcome.event_pairs()) {
    ASSERT_TRUE(expected.contains(pair)) << name << " " << pair.first << " " << pair.second << "\n"
                                         << testing::to_text(trace);
  }
  ASSERT_EQ(outcome.site_pairs(), testing::sites_of(trace, expected)) << name << "\n"
                                                                      << testing::to_text(trace);
  ASSERT_EQ(outcome.races.size(), outcome.site_pairs().size()) << "a pair of sites is reported once";
}

void compare_shb(const Trace& trace) { compare("shb", trace, testing::shb_races(trace)); }
void compare_wcp(const Trace& trace) { compare("wcp", trace, testing::wcp_races(trace)); }
void compare_syncp(const Trace& trace) { compare("syncp", trace, testing::syncp_races(trace)); }

std::uint64_t all_small(const std::function<void(const Trace&)>& visit, int events) {
  std::uint64_t count = 0;
  for (int n = 2; n <= events; ++n) {
    count += testing::for_each_small_trace({.events = n, .threads = 2, .locks = 1, .locations = 2}, visit);
    count += testing::for_each_small_trace({.events = n, .threads = 3, .locks = 1, .locations = 1}, visit);
    if (n < events)
      count += testing::for_each_small_trace({.events = n, .threads = 2, .locks = 2, .locations = 1}, visit);
    if (n < events)
      count += testing::for_each_small_trace(
          {.events = n, .threads = 3, .locks = 1, .locations = 1, .forks = true}, visit);
  }
  return count;
}

void random_traces(const std::function<void(const Trace&)>& visit, int count, int events,
                   std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < count; ++i) {
    testing::RandomShape shape = testing::random_shape(random);
    shape.events = std::min(shape.events, events);
    visit(testing::random_trace(shape, random));
  }
}

TEST(Shb, EqualsItsDefinitionOnAllSmallTraces) { EXPECT_GT(all_small(compare_shb, 6), 40000u); }
TEST(Shb, EqualsItsDefinitionOnRandomTraces) { random_traces(compare_shb, 20000, 40, 31); }

TEST(Wcp, EqualsItsDefinitionOnAllSmallTraces) { EXPECT_GT(all_small(compare_wcp, 6), 40000u); }
TEST(Wcp, EqualsItsDefinitionOnRandomTraces) { random_traces(compare_wcp, 20000, 40, 32); }
TEST(Wcp, EqualsItsDefinitionOnNestedLocks) {
  std::mt19937_64 random(33);
  for (int i = 0; i < 8000; ++i) {
    testing::RandomShape shape = testing::random_shape(random);
    shape.events = 40;
    shape.locks = 3;
    shape.max_held = 3;
    shape.access_weight = 35;
    compare_wcp(testing::random_trace(shape, random));
  }
}

TEST(Syncp, EqualsAllReorderingsOfAllSmallTraces) { EXPECT_GT(all_small(compare_syncp, 5), 5000u); }
TEST(Syncp, EqualsAllReorderingsOfRandomTraces) { random_traces(compare_syncp, 10000, 14, 34); }
TEST(Syncp, EqualsAllReorderingsOfRandomTracesWithNestedLocks) {
  std::mt19937_64 random(35);
  for (int i = 0; i < 3000; ++i) {
    testing::RandomShape shape = testing::random_shape(random);
    shape.events = 16;
    shape.threads = 3;
    shape.locks = 2;
    shape.access_weight = 40;
    compare_syncp(testing::random_trace(shape, random));
  }
}

// With an index at every location, however few its accesses.
TEST(ShbWcpAndSyncp, EqualTheirDefinitionsWhenPlacesAreIndexed) {
  SiteIndex::worthwhile = 1;
  random_traces(compare_shb, 5000, 40, 37);
  random_traces(compare_wcp, 5000, 40, 38);
  random_traces(compare_syncp, 5000, 14, 39);
  all_small(compare_syncp, 4);
  SiteIndex::worthwhile = 32;
}

// Sound: whatever shb and syncp report, some schedule of the exploration of all schedules shows.
void deny_nothing(const Trace& trace) {
  const testing::Exploration all = testing::explore(trace);
  if (!all.complete) return;
  for (const char* name : {"shb", "syncp"}) {
    for (const auto& [first, second] : run_detector(name, trace).event_pairs()) {
      ASSERT_TRUE(all.races.contains({first, second})) << name << " " << first << " " << second << "\n"
                                                       << testing::to_text(trace);
    }
  }
}
TEST(ShbAndSyncp, ReportNothingThatTheExplorationOfAllSchedulesDenies) {
  EXPECT_GT(all_small(deny_nothing, 5), 5000u);
  random_traces(deny_nothing, 5000, 13, 36);
}

TEST(Syncp, FindsARaceThatHappensBeforeHides) {
  // The critical sections order the two writes of y in this run only.
  const Trace trace = build_trace(R"(
      T0|w(y)|1 T0|acq(l)|2 T0|rel(l)|3
      T1|acq(l)|4 T1|rel(l)|5 T1|w(y)|6)");
  EXPECT_EQ(run_detector("hb", trace).races.size(), 0u);
  EXPECT_EQ(run_detector("shb", trace).races.size(), 0u);
  EXPECT_EQ(run_detector("wcp", trace).races.size(), 1u);
  testing::Outcome outcome = run_detector("syncp", trace);
  ASSERT_EQ(outcome.races.size(), 1u);
  std::unique_ptr<TraceSource> source = source_of(trace);
  Race* race = &outcome.races[0];
  ASSERT_TRUE(expand_witnesses(*source, {&race, 1}).ok());
  EXPECT_EQ(race->witness,
            (std::vector<EventIndex>{EventIndex(3), EventIndex(4), EventIndex(0), EventIndex(5)}));
}

TEST(Shb, TellsRealRacesFromArtefactsOfEarlierOnes) {
  // (1, 2) is a race; (0, 3) is not: the read of y decides whether T1 comes to x at all.
  const Trace trace = build_trace("T0|w(x)|1 T0|w(y)|2 T1|r(y)|3 T1|w(x)|4");
  EXPECT_EQ(run_detector("hb", trace).races.size(), 2u);
  const testing::Outcome shb = run_detector("shb", trace);
  ASSERT_EQ(shb.races.size(), 1u);
  EXPECT_EQ(shb.races[0].second.index, EventIndex(2));
}

}  // namespace
}  // namespace deadheat::detect
