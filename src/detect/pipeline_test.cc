#include "detect/pipeline.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace deadheat::detect
