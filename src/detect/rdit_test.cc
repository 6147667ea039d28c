#include "detect/rdit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "detect/pipeline.h"
#include "testing/explorer.h"
#include "testing/hidden_parts.h"
#include "testing/prediction_oracle.h"
#include "testing/trace_builder.h"
#include "trace/checker.h"

namespace deadheat::detect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::set<std::string> places(const Trace& trace, bool barriers) {
  Result<Prediction> all =
      predict(trace.events, trace.names, Options{}, {.barriers = barriers, .all_pairs = true});
  std::set<std::pair<std::uint64_t, std::uint64_t>> pairs;
  std::set<std::string> result;
  for (const PredictedRace& race : all->races) {
    pairs.insert({race.first, race.second});
    result.insert(std::string(trace.names.site(trace.events[race.first].site)) + "-" +
                  std::string(trace.names.site(trace.events[race.second].site)));
  }
  EXPECT_EQ(pairs, testing::explore(trace, {.barriers = barriers}).races) << testing::to_text(trace);
  // A witness that the checker rejects is undecided: the model is wrong then, although nothing is reported.
  EXPECT_EQ(all->undecided, 0u) << testing::to_text(trace);
  return result;
}
std::set<std::string> rdit(const char* text) { return places(testing::build_trace(text), true); }
std::set<std::string> mcm(const char* text) { return places(testing::build_trace(text), false); }

TEST(Rdit, TheRandomTracesAreWellFormed) {
  for (const testing::NamedShape& shape : testing::oracle_shapes()) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      Trace trace = testing::small_trace(seed, shape.shape);
      TraceChecker checker(trace.names);
      for (std::uint64_t i = 0; i < trace.events.size(); ++i) {
        ASSERT_EQ(checker.on_event(EventIndex(i), trace.events[i]), std::nullopt) << testing::to_text(trace);
      }
    }
  }
}

TEST(Rdit, EqualsTheExplorerOnRandomTraces) {
  for (const testing::NamedShape& shape : testing::oracle_shapes()) {
    if (!shape.barriers) continue;
    testing::OracleComparison comparison = testing::compare_with_oracle(shape.shape, true, 1, 300);
    EXPECT_EQ(comparison.different, 0u) << shape.name << ": " << comparison.first_difference;
    EXPECT_EQ(comparison.undecided, 0u) << shape.name;
    EXPECT_EQ(comparison.rejected, 0u) << shape.name;
    EXPECT_GT(comparison.races, 100u) << shape.name;
  }
}

// Calls that overlap, nest and part again: what groups of calls are about.
TEST(Rdit, EqualsTheExplorerOnTracesThatAreMostlyCalls) {
  std::mt19937_64 random(3);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  std::size_t races = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text;
    int open[3] = {};
    const int threads = 2 + below(2), events = 6 + below(5);
    for (int e = 0; e < events; ++e) {
      const int t = below(threads);
      const std::string start = "T" + std::to_string(t) + "|", end = "|" + std::to_string(e) + "\n";
      const int what = below(10);
      if (what < 4 && open[t] < 2) {
        const char* sets[] = {"enter(f;x)", "enter(f;y)", "enter(f;x,y)", "enter(f;z)", "enter(f;y,z)"};
        text += start + sets[below(5)] + end;
        ++open[t];
      } else if (what < 7 && open[t] > 0) {
        text += start + "leave(f)" + end;
        --open[t];
      } else {
        const char* accesses[] = {"w(x)", "w(y)", "r(x)", "w(v)", "w(v)", "r(v)"};
        text += start + accesses[below(6)] + end;
      }
    }
    races += rdit(text.c_str()).size();  // compares
    if (HasFailure()) return;
  }
  EXPECT_GT(races, 500u);
}

TEST(Rdit, CallsThatPartAreGroupsOfTheirOwn) {
  // While h is open both threads' calls can reach y; after it, nothing joins them any more.
  EXPECT_THAT(rdit("T0|enter(f;x)|1 T1|enter(g;y)|2 T0|enter(h;y)|3 T0|leave(h)|4 T0|w(z)|5 T1|w(z)|6"),
              ElementsAre("5-6"));
  EXPECT_THAT(rdit("T0|enter(f;x)|1 T1|enter(g;y)|2 T0|enter(h;y)|3 T0|w(z)|5 T1|w(z)|6"), IsEmpty());
}

TEST(Rdit, AThreadThatDoesNothingIsJoinedAfterItsFork) {
  EXPECT_THAT(rdit("T0|fork(T1)|1 T0|w(x)|2 T0|fork(T2)|3 T1|enter(f;y)|4 T1|join(T2)|5 T1|w(x)|6"),
              IsEmpty());
}

TEST(Rdit, OneOfAWriteAndItsReadsSaysTheValueOfAll) {
  EXPECT_THAT(rdit("T1|w(x)|1 T1|r(x)=5|2 T2|w(y)|3 T2|w(x)=5|4 T3|r(x)=5|5 T3|w(y)|6"),
              ::testing::Contains("3-6"));
  // What missing code may have left stays unknown, whoever says it.
  EXPECT_THAT(
      rdit("T1|w(x)|1 T1|enter(f;x)|7 T1|leave(f)|8 T1|r(x)=5|2 T2|w(y)|3 T2|w(x)=5|4 T3|r(x)=5|5 T3|w(y)|6"),
      ::testing::Not(::testing::Contains("3-6")));
}

TEST(Rdit, WithoutBarrierPairsIsMcm) {
  testing::SmallTraceShape shape{.values = 0.7, .sections = true};
  testing::OracleComparison comparison = testing::compare_with_oracle(shape, true, 5000, 100);
  EXPECT_EQ(comparison.different, 0u) << comparison.first_difference;
}

// The thesis's figure 4.1: the caller of the second method waits there for what the first one sets.
TEST(Rdit, MissingMethodsThatReachACommonLocationOrder) {
  const char* text = "T1|w(x)|1 T1|enter(m;y)|2 T1|leave(m)|3 T2|enter(n;y)|4 T2|leave(n)|5 T2|r(x)|6";
  EXPECT_THAT(rdit(text), IsEmpty());
  EXPECT_THAT(mcm(text), ElementsAre("1-6"));
}

// Caveat 0: but not every missing method is a barrier.
TEST(Rdit, MissingMethodsWithNothingInCommonDoNotOrder) {
  EXPECT_THAT(rdit("T1|w(x)|1 T1|enter(m;y)|2 T1|leave(m)|3 T2|enter(n;z)|4 T2|leave(n)|5 T2|r(x)|6"),
              ElementsAre("1-6"));
}

// Caveat 1, figure 4.3: the later begin comes before the earlier end.
TEST(Rdit, Caveat1OverlappingBarrierPairsOrderInBothDirections) {
  EXPECT_THAT(rdit("T1|enter(a;y)|1 T3|w(x)|2 T3|enter(d;y)|3 T1|leave(a)|4 T1|r(x)|5 T3|leave(d)|6"),
              IsEmpty());
  EXPECT_THAT(rdit("T1|w(x)|1 T1|enter(a;y)|2 T3|enter(d;y)|3 T1|leave(a)|4 T3|leave(d)|5 T3|r(x)|6"),
              IsEmpty());
  EXPECT_THAT(rdit("T1|enter(a;y)|1 T3|w(x)|2 T3|enter(d;z)|3 T1|leave(a)|4 T1|r(x)|5 T3|leave(d)|6"),
              ElementsAre("2-5"));
}

// Caveat 2, figure 4.4: accesses inside both calls, seen through call-backs.
TEST(Rdit, Caveat2EventsBetweenEnterAndLeaveAreOrdered) {
  EXPECT_THAT(rdit("T1|enter(a;y)|1 T3|enter(d;y)|2 T1|r(x)|3 T3|w(x)|4 T1|leave(a)|5 T3|leave(d)|6"),
              IsEmpty());
  EXPECT_THAT(rdit("T1|enter(a;y)|1 T3|enter(d;z)|2 T1|r(x)|3 T3|w(x)|4 T1|leave(a)|5 T3|leave(d)|6"),
              ElementsAre("3-4"));
}

// Caveat 3: T3 waits in traced code for what missing code of T1 sets.
TEST(Rdit, Caveat3OrdinaryEventsOnAReachableLocationAreOrdered) {
  EXPECT_THAT(rdit("T1|enter(a;y)|1 T1|r(x)|2 T3|r(y)=1|3 T3|w(x)|4 T1|leave(a)|5"), IsEmpty());
  EXPECT_THAT(rdit("T1|enter(a;y)|1 T1|r(x)|2 T3|r(z)=1|3 T3|w(x)|4 T1|leave(a)|5"), ElementsAre("2-4"));
}

// Caveat 4, figure 4.5: c and e have nothing in common, but f has something in common with both.
TEST(Rdit, Caveat4OrderIsTransitiveOverBarrierPairs) {
  EXPECT_THAT(rdit(R"(
      T2|w(x)|1
      T2|enter(c;y)|2
      T2|leave(c)|3
      T4|enter(f;y,z)|4
      T4|leave(f)|5
      T3|enter(e;z)|6
      T3|leave(e)|7
      T3|r(x)|8
  )"),
              IsEmpty());
  EXPECT_THAT(rdit(R"(
      T2|w(x)|1
      T2|enter(c;y)|2
      T2|leave(c)|3
      T4|enter(f;z)|4
      T4|leave(f)|5
      T3|enter(e;z)|6
      T3|leave(e)|7
      T3|r(x)|8
  )"),
              ElementsAre("1-8"));
}

// Caveat 5: a global that missing code accesses by itself must be named at the call; accesses that are traced
// need not be.
TEST(Rdit, Caveat5GlobalVariablesCountWhenTheyAreNamed) {
  EXPECT_THAT(rdit("T1|w(x)|1 T1|enter(m;a)|2 T1|leave(m)|3 T2|enter(n;b)|4 T2|leave(n)|5 T2|r(x)|6"),
              ElementsAre("1-6"));
  EXPECT_THAT(rdit("T1|w(x)|1 T1|enter(m;a,g)|2 T1|leave(m)|3 T2|enter(n;b,g)|4 T2|leave(n)|5 T2|r(x)|6"),
              IsEmpty());
  EXPECT_THAT(rdit(R"(
      T1|w(x)|1
      T1|enter(m;a)|2
      T1|w(g)=1|3
      T1|leave(m)|4
      T2|enter(n;b)|5
      T2|r(g)=1|6
      T2|leave(n)|7
      T2|r(x)|8
  )"),
              ElementsAre("3-6"));
}

TEST(Rdit, MissingCodeMayLockAndWaitForThreads) {
  // A lock function that was not traced, and a traced lock.
  EXPECT_THAT(rdit(R"(
      T1|enter(lock;l)|1
      T1|leave(lock)|2
      T1|w(x)|3
      T1|enter(unlock;l)|4
      T1|leave(unlock)|5
      T2|acq(l)|6
      T2|w(x)|7
      T2|rel(l)|8
  )"),
              IsEmpty());
  // Missing code that starts a thread, and one that waits for its end.
  EXPECT_THAT(rdit("T0|w(x)|1 T0|enter(create;T1)|2 T1|w(x)|3 T0|leave(create)|4"), IsEmpty());
  EXPECT_THAT(rdit("T1|w(x)|1 T0|enter(wait;T1)|2 T0|leave(wait)|3 T0|w(x)|4"), IsEmpty());
}

// A thread's first and last events are operations on it, whatever they are.
TEST(Rdit, ThreadsMayBeginAndEndInCalls) {
  EXPECT_THAT(rdit(R"(
      T0|begin|0
      T0|w(x)|1
      T0|enter(flush;log)|2
      T0|leave(flush)|3
      T1|enter(wait_for;T0)|4
      T1|leave(wait_for)|5
      T1|r(x)|6
  )"),
              IsEmpty());
  EXPECT_THAT(rdit("T0|w(x)|1 T0|enter(create;T1)|2 T0|leave(create)|3 T1|enter(g;y)|4 T1|leave(g)|5 "
                   "T1|w(x)|6 T1|w(q)|7"),
              IsEmpty());
  EXPECT_THAT(rdit("T0|begin|0 T0|w(x)|1 T0|enter(exit;r)|2 T1|enter(join;T0)|3 T1|leave(join)|4 T1|r(x)|5"),
              IsEmpty());
}

// The call that T1 never leaves waits for y and ends the thread, and T0 waits for that.
TEST(Rdit, ACallThatIsNeverLeftMayEndItsThread) {
  EXPECT_THAT(rdit("T1|enter(f;y)|1 T2|w(x)|2 T2|w(y)|3 T0|enter(wait;T1)|4 T0|leave(wait)|5 T0|r(x)|6"),
              IsEmpty());
  // Also where the trace says later that it is over.
  EXPECT_THAT(
      rdit(
          "T1|enter(f;y)|1 T2|w(x)|2 T2|w(y)|3 T0|enter(wait;T1)|4 T0|leave(wait)|5 T0|r(x)|6 T2|join(T1)|7"),
      IsEmpty());
  // Nobody waits for T1.
  EXPECT_THAT(rdit("T1|enter(f;y)|1 T2|w(x)|2 T2|w(y)|3 T0|enter(wait;z)|4 T0|leave(wait)|5 T0|r(x)|6"),
              ElementsAre("2-6"));
}

TEST(Rdit, JoinsAndEndsEndCalls) {
  // Who joins T1 waits for its call, which may have waited for y.
  EXPECT_THAT(rdit("T1|enter(f;y)|1 T2|w(x)|2 T2|w(y)|3 T0|join(T1)|4 T0|r(x)|5"), IsEmpty());
  // Several calls end at once, and T1's calls reach something that T3's do not: T0's first event comes after
  // it.
  EXPECT_THAT(rdit("T3|enter(g;T1)|1 T1|enter(e;u)|2 T1|w(x)|3 T1|enter(f;T0)|4 T2|join(T1)|5 T0|w(x)|6"),
              IsEmpty());
  // After its end the call touches nothing any more.
  EXPECT_THAT(rdit("T1|enter(f;y)|1 T1|end|2 T2|w(y)|3 T2|w(x)|4 T0|r(y)|5 T0|w(x)|6"),
              ElementsAre("3-5", "4-6"));
  EXPECT_THAT(rdit("T1|enter(f;y)|1 T3|join(T1)|2 T2|w(y)|3 T2|w(x)|4 T0|r(y)|5 T0|w(x)|6"),
              ElementsAre("3-5", "4-6"));
}

// Parts of complete traces are hidden: what is reported then must be races of the complete traces.
TEST(Rdit, ReportsOnlyRacesOfTheCompleteTrace) {
  for (const testing::HiddenShape& shape : testing::hidden_shapes()) {
    testing::HiddenComparison comparison = testing::compare_with_hidden_parts(shape.shape, 1, 400);
    EXPECT_EQ(comparison.wrong, 0u) << shape.name << ": " << comparison.first_wrong;
    EXPECT_EQ(comparison.different, 0u) << shape.name << ": " << comparison.first_wrong;
    EXPECT_GT(comparison.found, 100u) << shape.name;
    EXPECT_GT(comparison.wrong_by_mcm, 10u) << shape.name;  // there was something to be wrong about
  }
}

TEST(Rdit, MissingCodeMayReleaseALock) {
  // A condition variable whose wait was not traced: it releases m and takes it again.
  EXPECT_THAT(rdit(R"(
      T1|acq(m)|1
      T1|w(y)|2
      T1|enter(cond_wait;c,m)|3
      T2|acq(m)|4
      T2|w(x)|5
      T2|w(y)|6
      T2|rel(m)|7
      T2|w(z)|8
      T1|leave(cond_wait)|9
      T1|r(x)|10
      T1|w(z)|11
      T1|rel(m)|12
  )"),
              ElementsAre("8-11"));
  // An unlock that was not traced: T1 does not hold m any more.
  EXPECT_THAT(
      rdit("T1|acq(m)|1 T1|enter(unlock;m)|2 T1|leave(unlock)|3 T1|w(x)|4 T2|acq(m)|5 T2|w(x)|6 T2|rel(m)|7"),
      ElementsAre("4-6"));
  // But until then it did, and the other one came before; or did not come at all.
  EXPECT_THAT(rdit("T2|w(y)|1 T2|acq(m)|2 T2|w(x)|3 T2|rel(m)|4 T1|acq(m)|5 T1|w(x)|6 T1|w(y)|7 "
                   "T1|enter(unlock;m)|8 T1|leave(unlock)|9"),
              ElementsAre("1-7"));
}

TEST(Rdit, MissingCodeMayTakeALock) {
  EXPECT_THAT(
      rdit("T1|enter(lock;m)|1 T1|leave(lock)|2 T1|w(x)|3 T1|rel(m)|4 T2|acq(m)|5 T2|w(x)|6 T2|rel(m)|7"),
      IsEmpty());
  EXPECT_THAT(rdit("T1|enter(lock;m)|1 T1|leave(lock)|2 T1|w(x)|3 T1|rel(m)|4 T1|w(x)|5 T2|acq(m)|6 "
                   "T2|w(x)|7 T2|rel(m)|8"),
              ElementsAre("5-7"));
  // Taken once more inside: it is the second release that frees it.
  EXPECT_THAT(rdit(R"(
      T1|acq(m)|1
      T1|enter(lock;m)|2
      T1|leave(lock)|3
      T1|rel(m)|4
      T1|w(x)|5
      T1|rel(m)|6
      T2|acq(m)|7
      T2|w(x)|8
      T2|rel(m)|9
  )"),
              IsEmpty());
}

// Where the thesis's constraints are not enough. T1's missing code sets x to 5 between two reads, both during
// its call; they are not constrained against each other there, and taken the other way round they would let
// lines 5 and 10 race.
TEST(Rdit, ReadsOnEitherSideOfAnActKeepTheirOrder) {
  EXPECT_THAT(rdit(R"(
      T1|enter(f;x)|1
      T2|w(x)=1|2
      T4|acq(l)|3
      T4|r(x)=1|4
      T4|w(z)|5
      T4|rel(l)|6
      T3|acq(l)|7
      T3|r(x)=5|8
      T3|rel(l)|9
      T3|w(z)|10
      T1|leave(f)|11
  )"),
              IsEmpty());
}

// Nor there: T1's missing code may have waited for x to be 3, so the 3 must be the last before it.
TEST(Rdit, MissingCodeFindsWhatItFound) {
  const char* text = R"(
      T2|acq(l)|1
      T2|w(x)=5|2
      T2|w(z)|3
      T2|rel(l)|4
      T3|acq(l)|5
      T3|w(x)=3|6
      T3|rel(l)|7
      T1|enter(f;x)|8
      T1|leave(f)|9
      T1|w(z)|10
  )";
  EXPECT_THAT(rdit(text), IsEmpty());
  EXPECT_THAT(mcm(text), ElementsAre("3-10"));
}

TEST(Rdit, MissingCodeDependsOnItsArguments) {
  // Although the trace has branches, T2 calls with what it read, so it must have read it.
  EXPECT_THAT(rdit("T1|w(y)|1 T1|w(x)=1|2 T2|r(x)=1|3 T2|enter(f;a)|4 T2|leave(f)|5 T2|w(y)|6 T1|branch|7"),
              ElementsAre("2-3"));
}

TEST(Rdit, RecursionIsNesting) {
  std::string text = "T1|w(x)|1 ";
  for (int i = 0; i < 3; ++i) text += "T1|enter(f;y)|2 ";
  for (int i = 0; i < 3; ++i) text += "T1|leave(f)|3 ";
  text += "T2|enter(f;y)|4 T2|leave(f)|5 T2|w(x)|6";
  EXPECT_THAT(rdit(text.c_str()), IsEmpty());
}

// The thesis's figures 4.6 and 4.7. Line numbers are the program's; the two calls at line 11 are isAlive().
constexpr const char* kAccount = R"(
    T0|w(y)=0|1
    T0|w(x1)=0|2
    T0|w(x2)=0|2
    T0|fork(T1)|3
    T0|fork(T2)|3
    T1|begin|4
    T1|r(x1)=0|4
    T1|w(x1)=100|4
    T1|r(y)=0|5
    T1|w(y)=100|5
    T1|end|6
    T2|begin|7
    T2|r(x2)=0|7
    T2|w(x2)=200|7
    T2|r(y)=100|8
    T2|w(y)=300|8
    T2|end|9
    T0|enter(isAlive;T1)|11
    T0|leave(isAlive)|11
    T0|enter(isAlive;T2)|11
    T0|leave(isAlive)|11
    T0|r(x1)=100|16
    T0|r(x2)=200|17
    T0|r(y)=300|19
)";

TEST(Rdit, TheAccountExampleHasExactlyItsOneRace) { EXPECT_THAT(rdit(kAccount), ElementsAre("5-8")); }

// `end` may be left out. Then a thread's last event is its end, here a call.
TEST(Rdit, TheAccountExampleNeedsNoEndEvents) {
  auto replaced = [](std::string text, std::string_view what, std::string_view with) {
    for (std::size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), with);
    return text;
  };
  for (const char* last :
       {"@|enter(println;out)|6 @|leave(println)|6", "@|enter(println;out)|6", "@|w(local-@)|6"}) {
    std::string text = replaced(kAccount, "T1|end|6", replaced(last, "@", "T1"));
    text = replaced(text, "T2|end|9", replaced(last, "@", "T2"));
    EXPECT_THAT(rdit(text.c_str()), ElementsAre("5-8")) << text;
  }
}

TEST(Rdit, TheAccountExampleGivesTheOtherDetectorsTheirFalseAlarms) {
  Trace trace = testing::build_trace(kAccount);
  for (const char* detector : {"hb", "cp", "mcm"}) {
    RaceList list;
    std::vector<Pipeline> pipelines;
    pipelines.push_back(std::move(*make_pipeline(detector, StageContext{&trace.names, &list, {}, {}})));
    std::unique_ptr<TraceSource> source = source_of(trace);
    ASSERT_TRUE(run_pipelines(*source, pipelines).ok());
    std::set<std::string> found;
    for (const Race& race : list.races) {
      found.insert(std::string(trace.names.site(race.first.event.site)) + "-" +
                   std::string(trace.names.site(race.second.event.site)));
    }
    EXPECT_THAT(found, ElementsAre("4-16", "5-19", "5-8", "7-17", "8-19")) << detector;
  }
}

}  // namespace
}  // namespace deadheat::detect
