#include "detect/pipeline.h"

#include <gtest/gtest.h>

#include "detect/mcm.h"
#include "detect/tree_filter.h"
#include "detect/witness_checker.h"
#include "testing/explorer.h"
#include "testing/hidden_parts.h"
#include "testing/prediction_oracle.h"
#include "testing/run_detector.h"
#include "testing/trace_builder.h"

namespace deadheat::detect {
namespace {

std::string error_of(std::string_view spec) {
  Names names;
  RaceList races;
  Result<Pipeline> pipeline = make_pipeline(spec, StageContext{&names, &races, {}, {}});
  return pipeline.ok() ? "" : pipeline.error().message;
}

TEST(Pipeline, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  EXPECT_EQ(error_of("hb"), "");
  EXPECT_EQ(error_of("fastrack").substr(0, 40), "detector 'fastrack': expected one of fas");
  EXPECT_NE(error_of(""), "");
  EXPECT_NE(error_of("hb|"), "");
}

TEST(Pipeline, TreeStandsOnlyBeforeDetectorsThatLoseRacesAtMost) {
  for (const char* good : {"tree|fasttrack", "tree|hb", "tree|lockset", "tree|hybrid", "spans|tree|hb"})
    EXPECT_EQ(error_of(good), "");
  EXPECT_EQ(error_of("tree|mcm"),
            "detector 'tree|mcm': expected one of fasttrack, hb, lockset, hybrid behind 'tree', which drops "
            "accesses, found 'mcm', which would report races that cannot happen");
  for (const char* bad :
       {"tree|shb", "tree|wcp", "tree|syncp", "tree|cp", "tree|rdit", "tree|spans|mcm", "spans|tree|shb"})
    EXPECT_NE(error_of(bad), "") << bad;
}

// What `sound` means: no filter that may stand before these detectors makes them report what cannot happen.
// Places repeat, so that there is something to drop.
TEST(Pipeline, FiltersBeforePredictionDoNotMakeItWrong) {
  std::uint64_t dropped = 0, races = 0, wrong_behind_tree = 0;
  for (const testing::NamedShape& shape : testing::oracle_shapes()) {
    if (shape.barriers || shape.shape.branches) continue;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      Trace trace = testing::small_trace(seed, shape.shape);
      for (Event& event : trace.events) event.site = SiteId(event.site.value() % 4);
      const testing::Exploration truth = testing::explore(trace);
      auto is_race = [&](const Race& race) {
        return truth.races.contains({race.first.index.value(), race.second.index.value()});
      };
      WitnessChecker checker(trace.events, trace.names, false);
      for (const char* spec : {"spans|shb", "spans|syncp", "spans|mcm", "spans|rdit"}) {
        const testing::Outcome outcome = testing::run_detector(spec, trace);
        dropped += outcome.counter("spans", "dropped");
        for (const Race& race : outcome.races) {
          ++races;
          ASSERT_TRUE(is_race(race)) << spec << "\n" << testing::to_text(trace);
          if (race.witness.empty()) continue;
          std::vector<std::uint64_t> witness;
          for (EventIndex index : race.witness) witness.push_back(index.value());
          const Status status = checker.check(witness);
          ASSERT_TRUE(status.ok()) << spec << ": " << status.error().message << "\n"
                                   << testing::to_text(trace);
        }
      }
      // The refused combination, put together by hand, is what this test can find.
      RaceList list;
      TreeFilter tree(StageContext{&trace.names, &list, {}, "tree"});
      Mcm mcm(StageContext{&trace.names, &list, {}, "mcm"});
      tree.set_next(&mcm);
      tree.on_batch(EventIndex(0), trace.events);
      mcm.finish();
      for (const Race& race : list.races) wrong_behind_tree += !is_race(race);
    }
  }
  EXPECT_GT(dropped, 20u);
  EXPECT_GT(races, 2000u);
  EXPECT_GT(wrong_behind_tree, 0u);
}

TEST(Pipeline, CancellationStopsReadingWithoutAnError) {
  Trace trace = testing::build_trace("T0|w(x) T1|w(x)");
  std::atomic<bool> cancelled = true;
  Options options;
  options.cancelled = &cancelled;
  RaceList races;
  std::vector<Pipeline> pipelines;
  pipelines.push_back(std::move(*make_pipeline("hb", StageContext{&trace.names, &races, options, {}})));
  std::unique_ptr<TraceSource> source = source_of(trace);
  Result<std::uint64_t> read = run_pipelines(*source, pipelines, options);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, 0u);
}

// Locks that untraced code has taken or released: other detectors than rdit know nothing of it, but must end.
TEST(Pipeline, EveryDetectorTakesTracesWithMissingLockOperations) {
  for (const testing::HiddenShape& shape : testing::hidden_shapes()) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      const Trace trace = testing::hide_parts(testing::small_trace(seed, shape.shape), seed).trace;
      std::vector<Pipeline> pipelines;
      RaceList list;
      for (const DetectorInfo& info : all_detectors()) {
        for (const char* before : {"", "spans|"}) {
          if (info.is_filter) continue;
          pipelines.push_back(std::move(
              *make_pipeline(before + std::string(info.name), StageContext{&trace.names, &list, {}, {}})));
        }
      }
      std::unique_ptr<TraceSource> source = source_of(trace);
      ASSERT_TRUE(run_pipelines(*source, pipelines).ok()) << testing::to_text(trace);
    }
  }
}

}  // namespace
}  // namespace deadheat::detect
