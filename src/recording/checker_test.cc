#include "recording/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/recording_builder.h"

namespace deadheat::recording {
namespace {

using ::testing::HasSubstr;
using testing::read_file;
using testing::RecordingBuilder;
using testing::ScratchFolder;
using testing::write_file;

Sequencer sequencer(std::uint64_t number) {
  Sequencer sequencer{};
  sequencer.kind = SequencerKind::kAcquire;
  sequencer.number = SequencerNumber(number);
  return sequencer;
}

Result<Summary> check_of(const std::string& folder) {
  Result<Reader> reader = Reader::open(folder);
  EXPECT_TRUE(reader.ok()) << reader.error().message;
  return check(*reader);
}

std::string message_of(const RecordingBuilder& builder) {
  ScratchFolder scratch;
  builder.write(scratch / "r");
  Result<Summary> summary = check_of(scratch / "r");
  return summary.ok() ? "ok" : summary.error().message;
}

TEST(Checker, CountsWhatIsThere) {
  RecordingBuilder builder;
  builder.thread(0).value(5, 1, 8);
  builder.thread(0).value(0, 1, 1);
  builder.sequencer(0, SequencerKind::kLockAcquired, 1);
  builder.sequencer(1, SequencerKind::kLockAcquired, 1);
  builder.sequencer(1, SequencerKind::kLockReleasing, 1);
  builder.thread(1).unwound(7);
  builder.end_all();
  ScratchFolder scratch;
  builder.write(scratch / "r");
  Result<Summary> summary = check_of(scratch / "r");
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->predicted, 12u);
  EXPECT_EQ(summary->values, 2u);
  EXPECT_EQ(summary->sequencers, 3u);
  EXPECT_EQ(summary->kinds[static_cast<unsigned>(SequencerKind::kLockAcquired)], 2u);
  EXPECT_EQ(summary->tags[static_cast<unsigned>(Tag::kUnwound)], 1u);
  EXPECT_EQ(summary->missing, 0u);
  ASSERT_EQ(summary->threads.size(), 2u);
  EXPECT_EQ(summary->threads[0].items, 4u);
  EXPECT_EQ(summary->threads[1].end.kind, EndKind::kThreadEnded);
}

TEST(Checker, NumbersThatTwoThreadsHaveAreRefused) {
  RecordingBuilder builder;
  for (std::uint32_t thread : {0u, 3u}) builder.thread(thread).sequencer(0, sequencer(7));
  builder.end_all();
  EXPECT_THAT(message_of(builder), HasSubstr("thread 3, byte "));
  EXPECT_THAT(message_of(builder), HasSubstr("expected a sequencer's number of its own, found 7"));
}

TEST(Checker, NumbersBeyondTheRecordingAreRefused) {
  RecordingBuilder builder;
  builder.thread(0).sequencer(0, sequencer(std::uint64_t{1} << 60));
  builder.end_all();
  EXPECT_THAT(message_of(builder),
              HasSubstr("expected a sequencer's number of this recording, found 1152921504606846976"));
}

TEST(Checker, MissingNumbersAreCounted) {
  RecordingBuilder builder;
  for (std::uint64_t number : {0, 1, 5, 6, 8}) builder.thread(0).sequencer(0, sequencer(number));
  builder.end_all();
  ScratchFolder scratch;
  builder.write(scratch / "r");
  Result<Summary> summary = check_of(scratch / "r");
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->missing, 4u);
  EXPECT_EQ(summary->first_missing, SequencerNumber(2));
  EXPECT_EQ(summary->highest_number, 8u);
}

TEST(Checker, AStreamOfACompleteRecordingHasAnEnd) {
  RecordingBuilder builder;
  builder.thread(2).value(0, 1, 8);
  EXPECT_THAT(message_of(builder), HasSubstr("thread 2, byte 9"));
  EXPECT_THAT(message_of(builder),
              HasSubstr("expected an end item at the end of the stream of a complete recording, found none"));

  ScratchFolder scratch;
  builder.write(scratch / "r");
  std::filesystem::remove(scratch / "r/end.json");
  EXPECT_TRUE(check_of(scratch / "r").ok()) << "one that was cut short need not have";

  Result<Reader> reader = Reader::open(scratch / "r");
  Ending full;
  full.reason = StopReason::kDiskFull;
  full.threads = 1;
  full.raw_bytes = 9;
  full.log_bytes = reader->log_bytes();
  ASSERT_TRUE(write_end(scratch / "r", full).ok());
  EXPECT_TRUE(check_of(scratch / "r").ok()) << "nor one that the disk had no room for";
}

TEST(Checker, TheEndAndTheLogAgree) {
  RecordingBuilder builder;
  builder.thread(0).value(0, 1, 8);
  builder.thread(1).value(0, 1, 8);
  builder.end_all();
  ScratchFolder scratch;
  const std::string folder = scratch / "r";
  builder.write(folder);
  const std::string end = read_file(folder + "/end.json");
  auto message_with = [&](const std::string& from, const std::string& to) {
    std::string changed = end;
    changed.replace(changed.find(from), from.size(), to);
    write_file(folder + "/end.json", changed);
    Result<Summary> summary = check_of(folder);
    return summary.ok() ? std::string("ok") : summary.error().message;
  };
  EXPECT_EQ(message_with("\"threads\": 2", "\"threads\": 3"), "ok") << "one that logged nothing";
  EXPECT_THAT(message_with("\"threads\": 2", "\"threads\": 1"),
              HasSubstr("end.json: expected as many threads"));
  EXPECT_THAT(message_with("\"raw_bytes\": 24", "\"raw_bytes\": 25"),
              HasSubstr("end.json: expected as many raw_bytes"));
  EXPECT_THAT(message_with("\"log_bytes\": 1", "\"log_bytes\": 9"), HasSubstr("log: damaged at byte"));
}

}  // namespace
}  // namespace deadheat::recording
