#include "detect/pipeline.h"

#include <gtest/gtest.h>

#include "testing/hidden_parts.h"
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
