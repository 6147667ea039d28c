#include "detect/mcm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "detect/pipeline.h"
#include "testing/explorer.h"
#include "testing/naive.h"
#include "testing/prediction_oracle.h"
#include "testing/trace_builder.h"

namespace deadheat::detect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// The pairs of places, as "5-8", that prediction reports; checks on the way that the explorer sees the same
// pairs of events.
std::multiset<std::string> places(const Trace& trace) {
  Result<Prediction> all = predict(trace.events, trace.names, Options{}, {.all_pairs = true});
  std::set<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (const PredictedRace& race : all->races) pairs.insert({race.first, race.second});
  EXPECT_EQ(pairs, testing::explore(trace).races) << testing::to_text(trace);
  Result<Prediction> prediction = predict(trace.events, trace.names, Options{});
  EXPECT_TRUE(prediction->complete);
  std::multiset<std::string> result;
  for (const PredictedRace& race : prediction->races) {
    result.insert(std::string(trace.names.site(trace.events[race.first].site)) + "-" +
                  std::string(trace.names.site(trace.events[race.second].site)));
  }
  return result;
}

std::multiset<std::string> places(const char* text) { return places(testing::build_trace(text)); }

TEST(Mcm, EqualsTheExplorerOnRandomTraces) {
  for (const testing::NamedShape& shape : testing::oracle_shapes()) {
    if (shape.barriers) continue;
    testing::OracleComparison comparison = testing::compare_with_oracle(shape.shape, false, 1, 150);
    EXPECT_EQ(comparison.different, 0u) << shape.name << ": " << comparison.first_difference;
    EXPECT_EQ(comparison.undecided, 0u) << shape.name;
    EXPECT_EQ(comparison.rejected, 0u) << shape.name;
    EXPECT_GT(comparison.races, 100u) << shape.name;
  }
}

TEST(Mcm, ASectionThatTheTraceShowsFirstMayComeLast) {
  EXPECT_THAT(places("T1|acq(l)|1 T1|w(x)|2 T1|rel(l)|3 T2|acq(l)|4 T2|rel(l)|5 T2|w(x)|6"),
              ElementsAre("2-6"));
}

TEST(Mcm, ASectionWhoseReadFailsDoesNotReleaseItsLock) {
  // T2 can only have the lock after T1 has left it; T1 leaves it only after it has seen what T0 writes after
  // line 1.
  const char* text = R"(
      T0|w(y)|1
      T0|w(x)=1|2
      T1|acq(l)|3
      T1|w(z)=5|4
      T1|r(x)=1|5
      T1|rel(l)|6
      T2|r(z)=5|7
      T2|acq(l)|8
      T2|w(y)|9
  )";
  EXPECT_THAT(places(text), UnorderedElementsAre("2-5", "4-7"));
}

TEST(Mcm, ASectionMayBeLeftOpen) {
  EXPECT_THAT(places("T1|acq(l)|1 T1|w(x)|2 T2|w(x)|3"), ElementsAre("2-3"));
}

TEST(Mcm, TheSameLockForbidsARace) {
  EXPECT_THAT(places("T1|acq(l)|1 T1|w(x)|2 T1|rel(l)|3 T2|acq(l)|4 T2|w(x)|5 T2|rel(l)|6"), IsEmpty());
  EXPECT_THAT(places("T1|acq(a)|1 T1|w(x)|2 T1|rel(a)|3 T2|acq(b)|4 T2|w(x)|5 T2|rel(b)|6"),
              ElementsAre("2-5"));
}

TEST(Mcm, ALockTakenTwiceIsFreeAfterItsLastRelease) {
  EXPECT_THAT(
      places("T1|acq(l)|1 T1|acq(l)|2 T1|rel(l)|3 T1|w(x)|4 T1|rel(l)|5 T2|acq(l)|6 T2|w(x)|7 T2|rel(l)|8"),
      IsEmpty());
}

TEST(Mcm, ForkJoinAndMessagesOrder) {
  EXPECT_THAT(places("T0|w(x)|1 T0|fork(T1)|2 T1|w(x)|3 T0|join(T1)|4 T0|w(x)|5"), IsEmpty());
  EXPECT_THAT(places("T0|fork(T1)|1 T0|w(x)|2 T1|w(x)|3 T0|join(T1)|4"), ElementsAre("2-3"));
  EXPECT_THAT(places("T0|w(x)|1 T0|snd(m)|2 T1|rcv(m)|3 T1|w(x)|4"), IsEmpty());
  EXPECT_THAT(places("T0|snd(m)|1 T0|w(x)|2 T1|rcv(m)|3 T1|w(x)|4"), ElementsAre("2-4"));
}

TEST(Mcm, AThreadThatDoesNothingIsJoinedAfterItsFork) {
  EXPECT_THAT(places("T0|fork(T1)|1 T0|w(x)|2 T0|fork(T2)|3 T1|join(T2)|4 T1|w(x)|5"), IsEmpty());
  EXPECT_THAT(places("T0|fork(T1)|1 T0|fork(T2)|2 T0|w(x)|3 T1|join(T2)|4 T1|w(x)|5"), ElementsAre("3-5"));
  // T4 goes on where T1, which T0 has joined, has ended: only because T2 is joined before T4 is forked.
  EXPECT_THAT(places("T0|fork(T1)|1 T0|fork(T3)|2 T1|w(x)|3 T0|join(T1)|4 T0|fork(T2)|5 T3|join(T2)|6 "
                     "T3|fork(T4)|7 T4|w(x)|8"),
              IsEmpty());
  // Nobody forks T2: it may have been over from the start.
  EXPECT_THAT(places("T0|fork(T1)|1 T0|w(x)|2 T1|join(T2)|4 T1|w(x)|5"), ElementsAre("2-5"));
}

// By another's definition: whatever the explorer makes of threads and messages, what program order, forks,
// joins and messages order in the trace is no race.
TEST(Mcm, TheExplorerKeepsTheOrderOfForksJoinsAndMessages) {
  for (const testing::NamedShape& shape : testing::oracle_shapes()) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
      const Trace trace = testing::small_trace(seed, shape.shape);
      const testing::Relation order = testing::hard_order(trace);
      for (auto [first, second] : testing::explore(trace, {.barriers = shape.barriers}).races)
        ASSERT_FALSE(order.has(first, second)) << first << " " << second << "\n" << testing::to_text(trace);
    }
  }
}

TEST(Mcm, AReadMaySeeItsValueFromAnotherWrite) {
  // Line 4 may see the 1 of its own thread's line 3 as well as that of line 2, after which line 1 would be
  // over.
  EXPECT_THAT(places("T1|w(y)|1 T2|w(x)=1|3 T1|w(x)=1|2 T2|r(x)=1|4 T2|w(y)|5"),
              UnorderedElementsAre("1-5", "3-2", "2-4"));
  // Without values it must be the same write.
  EXPECT_THAT(places("T1|w(y)|1 T2|w(x)|3 T1|w(x)|2 T2|r(x)|4 T2|w(y)|5"),
              UnorderedElementsAre("3-2", "2-4"));
}

TEST(Mcm, OneOfAWriteAndItsReadsSaysTheValueOfAll) {
  // Line 1 wrote the 5 that line 2 read: line 5 can read it, too, before line 3.
  EXPECT_THAT(places("T1|w(x)|1 T1|r(x)=5|2 T2|w(y)|3 T2|w(x)=5|4 T3|r(x)=5|5 T3|w(y)|6"),
              UnorderedElementsAre("1-4", "1-5", "2-4", "3-6", "4-5"));
  // Line 5 says nothing, but read the 5 of line 4.
  EXPECT_THAT(places("T1|w(x)=5|1 T2|w(y)|3 T2|w(x)=5|4 T3|r(x)|5 T3|w(y)|6"),
              UnorderedElementsAre("1-4", "1-5", "3-6", "4-5"));
  // Both at once, and by a third access.
  EXPECT_THAT(places("T1|w(x)|1 T1|r(x)=5|2 T2|w(y)|3 T2|w(x)|4 T3|r(x)|5 T3|w(y)|6 T4|r(x)=5|7"),
              ::testing::Contains("3-6"));
  // Another value is none.
  EXPECT_THAT(places("T1|w(x)|1 T1|r(x)=4|2 T2|w(y)|3 T2|w(x)=5|4 T3|r(x)=5|5 T3|w(y)|6"),
              ::testing::Not(::testing::Contains("3-6")));
  // What nobody wrote is 0, whether it is said or not.
  EXPECT_THAT(places("T1|r(x)|1 T1|w(y)|2 T2|w(y)|3 T2|w(x)=0|4 T2|r(x)|5 T2|w(z)|6 T3|w(z)|7"),
              ::testing::Contains("2-3"));
  EXPECT_THAT(places("T2|w(y)|1 T2|w(x)|2 T3|r(x)|3 T3|w(y)|4 T4|r(x)=0|5"), ::testing::Contains("1-4"));
}

TEST(Mcm, ALocationNeverWrittenHoldsZero) {
  EXPECT_THAT(places("T1|w(y)|1 T1|w(x)=0|2 T2|r(x)=0|3 T2|w(y)|4"), UnorderedElementsAre("1-4", "2-3"));
}

TEST(Mcm, AReadThatNoBranchDependsOnMaySeeAnotherValue) {
  EXPECT_THAT(places("T1|w(y)|1 T1|w(x)=1|2 T2|r(x)=1|3 T2|w(y)|4 T1|branch|5"),
              UnorderedElementsAre("1-4", "2-3"));
  EXPECT_THAT(places("T1|w(y)|1 T1|w(x)=1|2 T2|r(x)=1|3 T2|branch|5 T2|w(y)|4"), ElementsAre("2-3"));
}

TEST(Mcm, WhatAThreadWritesAfterSuchAReadIsUnknown) {
  // T3's branch needs the 7 of line 4, which T2 is known to write only if it read the 1 of line 2, after
  // line 1.
  EXPECT_THAT(places("T1|w(y)|1 T1|w(x)=1|2 T2|r(x)=1|3 T2|w(z)=7|4 T3|r(z)=7|5 T3|branch|6 T3|w(y)|7"),
              UnorderedElementsAre("2-3", "4-5"));
}

TEST(Mcm, ARacingReadNeedNotSeeItsValue) {
  EXPECT_THAT(places("T1|w(x)=1|1 T2|r(x)=1|2"), ElementsAre("1-2"));
}

TEST(Mcm, AThreadWithoutBranchesThatReadSomethingElseIsNotJoined) {
  EXPECT_THAT(places("T0|fork(T1)|1 T2|w(y)|2 T2|w(x)=1|3 T1|r(x)=1|4 T0|join(T1)|5 T0|w(y)|6"),
              ElementsAre("3-4"));
}

TEST(Mcm, BarrierPairsDoNothing) {
  EXPECT_THAT(places("T1|w(x)|1 T1|enter(f;y)|2 T1|leave(f)|3 T2|enter(g;y)|4 T2|leave(g)|5 T2|w(x)|6"),
              ElementsAre("1-6"));
}

TEST(Mcm, StageReportsWitnessesWithEventNumbers) {
  Trace trace = testing::build_trace("T1|acq(l)|1 T1|w(x)|2 T1|rel(l)|3 T2|acq(l)|4 T2|rel(l)|5 T2|w(x)|6");
  RaceList list;
  Mcm mcm(StageContext{&trace.names, &list, Options{}, "mcm"});
  for (std::uint64_t i = 0; i < trace.events.size(); ++i) mcm.on_event(EventIndex(i + 100), trace.events[i]);
  mcm.finish();
  ASSERT_EQ(list.races.size(), 1u);
  EXPECT_EQ(list.races[0].first.index.value(), 101u);
  EXPECT_EQ(list.races[0].second.index.value(), 105u);
  EXPECT_EQ(list.races[0].detector, "mcm");
  EXPECT_THAT(list.races[0].witness, ElementsAre(EventIndex(103), EventIndex(104), EventIndex(100),
                                                 EventIndex(101), EventIndex(105)));
}

TEST(Mcm, CancellationLeavesAnIncompleteResult) {
  Trace trace = testing::build_trace("T1|w(x)|1 T2|w(x)|2");
  std::atomic<bool> cancelled = true;
  Options options;
  options.cancelled = &cancelled;
  Result<Prediction> prediction = predict(trace.events, trace.names, options);
  EXPECT_FALSE(prediction->complete);
}

TEST(Mcm, NoTimeMeansUndecidedNotRaceFree) {
  Trace trace = testing::build_trace("T1|acq(l)|1 T1|w(x)|2 T1|rel(l)|3 T2|acq(l)|4 T2|rel(l)|5 T2|w(x)|6");
  Options options;
  options.solver_seconds = 0;
  Result<Prediction> prediction = predict(trace.events, trace.names, options);
  EXPECT_THAT(prediction->races, IsEmpty());
  EXPECT_EQ(prediction->undecided, 1u);
  EXPECT_FALSE(prediction->complete);
}

TEST(Mcm, ATraceThatNeedsTooMuchMemoryIsAnError) {
  Trace trace = testing::build_trace("T1|w(x)|1 T2|w(x)|2");
  Options options;
  options.memory_bytes = 100;
  EXPECT_FALSE(predict(trace.events, trace.names, options).ok());
}

// Nothing is promised for traces that are none (a release without its acquire, a thread that runs on after it
// was joined, ...), except that they end in an answer.
TEST(Mcm, NonsenseIsAnsweredToo) {
  std::mt19937_64 random(3);
  auto below = [&](std::uint64_t bound) { return random() % bound; };
  for (int round = 0; round < 400; ++round) {
    Trace trace;
    for (const char* name : {"a", "b", "c"}) {
      trace.names.threads.intern(name);
      trace.names.locations.intern(name);
      trace.names.locks.intern(name);
      trace.names.messages.intern(name);
      trace.names.functions.intern(name);
      trace.names.reachable.intern({ObjectId(below(3)), ObjectId(below(3))});
    }
    std::uint64_t length = below(30);
    for (std::uint64_t i = 0; i < length; ++i) {
      Event event;
      event.kind = static_cast<EventKind>(below(kEventKinds));
      event.thread = ThreadId(static_cast<std::uint32_t>(below(3)));
      event.object = ObjectId(below(3));
      event.has_value = is_access(event.kind) && below(2) == 0;
      event.value = event.kind == EventKind::kEnter ? below(trace.names.reachable.size()) : below(2);
      event.site = SiteId(trace.names.sites.intern(std::to_string(i)));
      trace.events.push_back(event);
    }
    for (const char* detector : {"mcm", "rdit", "cp"}) {
      RaceList list;
      std::vector<Pipeline> pipelines;
      pipelines.push_back(std::move(*make_pipeline(detector, StageContext{&trace.names, &list, {}, {}})));
      std::unique_ptr<TraceSource> source = source_of(trace);
      ASSERT_TRUE(run_pipelines(*source, pipelines).ok()) << testing::to_text(trace);
    }
  }
}

TEST(Mcm, JobsDoNotChangeTheResult) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Trace trace =
        testing::small_trace(seed, {.min_events = 25, .max_events = 35, .values = 1, .sections = true});
    Options one, four;
    four.jobs = 4;
    Result<Prediction> a = predict(trace.events, trace.names, one);
    Result<Prediction> b = predict(trace.events, trace.names, four);
    ASSERT_TRUE(a->complete && b->complete);
    ASSERT_EQ(a->races.size(), b->races.size());
    for (std::size_t i = 0; i < a->races.size(); ++i) {
      EXPECT_EQ(a->races[i].first, b->races[i].first);
      EXPECT_EQ(a->races[i].witness, b->races[i].witness);
    }
  }
}

}  // namespace
}  // namespace deadheat::detect
