#include "detect/witness_checker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "detect/predictor.h"
#include "testing/explorer.h"
#include "testing/prediction_oracle.h"
#include "testing/trace_builder.h"

namespace deadheat::detect {
namespace {

// What the checker says about a witness of a trace; empty if it accepts it.
std::string complaint(const char* text, std::vector<std::uint64_t> witness, bool barriers = false) {
  Trace trace = testing::build_trace(text);
  WitnessChecker checker(trace.events, trace.names, barriers);
  Status status = checker.check(witness);
  return status.ok() ? "" : status.error().message;
}

constexpr const char* kTwoSections = "T1|acq(l)|1 T1|w(x)|2 T1|rel(l)|3 T2|acq(l)|4 T2|rel(l)|5 T2|w(x)|6";

TEST(WitnessChecker, AcceptsAWitness) { EXPECT_EQ(complaint(kTwoSections, {3, 4, 0, 1, 5}), ""); }

TEST(WitnessChecker, ALockIsHeldByOneThread) {
  EXPECT_EQ(complaint(kTwoSections, {0, 3, 4, 1, 5}),
            "witness: step 1: event 3: expected its lock to be free, found it held by thread 0");
}

TEST(WitnessChecker, ProgramOrderIsKept) {
  EXPECT_EQ(complaint(kTwoSections, {4, 3, 0, 1, 5}),
            "witness: step 0: event 4: expected event 3 as the next of its thread");
  EXPECT_EQ(complaint(kTwoSections, {3, 3, 4, 0, 1, 5}),
            "witness: step 1: event 3: expected event 4 as the next of its thread");
}

TEST(WitnessChecker, BothAccessesMustBeNext) {
  EXPECT_EQ(complaint(kTwoSections, {3, 0, 1, 5}),
            "witness: step 1: event 0: expected its lock to be free, found it "
            "held by thread 1");
  EXPECT_EQ(complaint(kTwoSections, {3, 4, 1, 5}),
            "witness: event 1 does not race: expected event 0 as the next of its thread");
}

TEST(WitnessChecker, ItEndsWithConflictingAccesses) {
  EXPECT_NE(complaint(kTwoSections, {}), "");
  EXPECT_NE(complaint(kTwoSections, {3, 4}), "");
  EXPECT_NE(complaint("T1|r(x)|1 T2|r(x)|2", {0, 1}), "");
  EXPECT_NE(complaint("T1|w(x)|1 T2|w(y)|2", {0, 1}), "");
  EXPECT_NE(complaint("T1|w(x)|1 T1|w(x)|2", {0, 1}), "");
  EXPECT_NE(complaint("T1|w(x)|1 T2|w(x)|2", {0, 7}), "");
  EXPECT_EQ(complaint("T1|w(x)|1 T2|w(x)|2", {0, 1}), "");
}

TEST(WitnessChecker, ForkJoinAndMessages) {
  EXPECT_EQ(complaint("T0|fork(T1)|1 T0|w(x)|2 T1|w(x)|3", {1, 2}),
            "witness: event 1 does not race: expected event 0 as the next of its thread");
  EXPECT_EQ(complaint("T0|fork(T1)|1 T2|w(x)|2 T1|w(x)|3", {1, 2}),
            "witness: event 2 does not race: expected its thread's fork before it");
  EXPECT_EQ(complaint("T1|w(y)|1 T0|join(T1)|2 T0|w(x)|3 T2|w(x)|4", {1, 2, 3}),
            "witness: step 0: event 1: expected all events of the joined thread before it");
  EXPECT_EQ(complaint("T0|fork(T1)|1 T0|w(x)|2 T0|fork(T2)|3 T1|join(T2)|4 T1|w(x)|5", {0, 3, 1, 4}),
            "witness: step 1: event 3: expected the fork of the joined thread before it");
  EXPECT_EQ(complaint("T1|snd(m)|1 T0|rcv(m)|2 T0|w(x)|3 T2|w(x)|4", {1, 2, 3}),
            "witness: step 0: event 1: expected event 0, which sends its message, before it");
}

TEST(WitnessChecker, ReadsSeeWhatTheySawOrNothingFollows) {
  const char* text = "T1|w(y)=1|1 T2|r(y)=1|2 T2|w(x)|3 T3|w(x)|4";
  EXPECT_EQ(complaint(text, {0, 1, 2, 3}), "");
  EXPECT_EQ(complaint(text, {1, 2, 3}),
            "witness: event 2 does not race: expected an earlier read of its thread to see what it saw");
  const char* branches = "T1|w(y)=1|1 T2|r(y)=1|2 T2|branch|3 T2|w(x)|4 T3|w(x)|5";
  EXPECT_EQ(complaint(branches, {1, 2, 3, 4}),
            "witness: step 1: event 2: expected the earlier reads of its thread to see what they saw");
  EXPECT_EQ(complaint(branches, {0, 1, 2, 3, 4}), "");
}

TEST(WitnessChecker, MissingCodeActsInItsOrder) {
  const char* text = "T1|w(x)|1 T1|enter(m;y)|2 T1|leave(m)|3 T2|enter(n;y)|4 T2|leave(n)|5 T2|r(x)|6";
  EXPECT_EQ(complaint(text, {3, 4, 0, 5}, false), "");
  EXPECT_EQ(complaint(text, {3, 4, 0, 5}, true),
            "witness: step 1: event 4: missing code called at event 1 must act before it: expected event 0 "
            "before that");
}

// Every pair that the explorer denies must be denied for every witness one could make up; a few thousand
// random ones for each.
TEST(WitnessChecker, NoMadeUpWitnessShowsWhatTheExplorerDenies) {
  std::uint64_t state = 42, accepted = 0, refused = 0;
  auto below = [&](std::uint64_t bound) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 33) % bound;
  };
  for (const testing::NamedShape& shape : testing::oracle_shapes()) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Trace trace = testing::small_trace(seed, shape.shape);
      auto races = testing::explore(trace, {.barriers = shape.barriers}).races;
      WitnessChecker checker(trace.events, trace.names, shape.barriers);
      for (int attempt = 0; attempt < 800; ++attempt) {
        // Prefixes of the threads, interleaved at random, then two accesses.
        std::vector<std::vector<std::uint64_t>> threads(trace.names.threads.size());
        for (std::uint64_t i = 0; i < trace.events.size(); ++i)
          threads[trace.events[i].thread.index()].push_back(i);
        std::vector<std::uint64_t> witness, next(threads.size(), 0), length;
        for (const auto& thread : threads) length.push_back(below(thread.size() + 1));
        for (int steps = 0; steps < 60; ++steps) {
          std::uint64_t t = below(threads.size());
          // Mostly as in the trace, or hardly any would be accepted.
          if (below(4) != 0) {
            for (std::uint64_t u = 0; u < threads.size(); ++u) {
              if (next[u] < length[u] && (next[t] >= length[t] || threads[u][next[u]] < threads[t][next[t]]))
                t = u;
            }
          }
          if (next[t] < length[t]) witness.push_back(threads[t][next[t]++]);
        }
        std::vector<std::uint64_t> last;
        for (std::uint64_t t = 0; t < threads.size(); ++t) {
          if (next[t] < threads[t].size() && is_access(trace.events[threads[t][next[t]]].kind)) {
            last.push_back(threads[t][next[t]]);
          }
        }
        if (last.size() < 2) continue;
        std::uint64_t first = last[below(last.size())], second = last[below(last.size())];
        if (first > second) std::swap(first, second);
        witness.push_back(first);
        witness.push_back(second);
        bool ok = checker.check(witness).ok();
        (ok ? accepted : refused) += 1;
        if (ok) {
          ASSERT_TRUE(races.contains({first, second})) << shape.name << "\n" << testing::to_text(trace);
        }
      }
    }
  }
  EXPECT_GT(accepted, 1000u);
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace deadheat::detect
