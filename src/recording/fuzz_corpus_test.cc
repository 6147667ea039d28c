// What fuzzing found worth keeping, replayed.
#include <gtest/gtest.h>

#include <filesystem>

#include "recording_properties.h"
#include "testing/recording_builder.h"

namespace deadheat {
namespace {

TEST(RecordingFuzzCorpus, RecordingsAreRefusedOrSurvive) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(DEADHEAT_FUZZ_CORPUS "/recording")) {
    fuzz::check_recording(testing::read_file(file.path().string()));
    ++count;
  }
  EXPECT_GT(count, 10);
}

}  // namespace
}  // namespace deadheat
