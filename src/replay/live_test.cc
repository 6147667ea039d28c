// The parts of live worlds that need no program; whole ones are in tests/replay/live_worlds.py.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "replay/live/child.h"
#include "replay/live/memory.h"
#include "replay/live/models.h"
#include "replay/live/outcome.h"
#include "replay/stops.h"
#include "testing/recording_builder.h"

namespace deadheat::replay::live {
namespace {

using recording::SequencerKind;
using recording::SequencerNumber;

LiveResult an_outcome() {
  LiveResult result;
  result.kind = OutcomeKind::kMemoryError;
  result.code = -3;
  result.what = "double free";
  result.thread = ThreadId(2);
  result.place = "a.c:1";
  result.output = std::string("x\0y\xff", 4);
  result.threads = {{ThreadId(0), "waits", "b.c:2"}, {ThreadId(2), "runs", "a.c:1"}};
  result.regions_ended = true;
  result.after_regions.changes = {{Address(8), 1, 2, 0xff, 0x0f, "name"}};
  result.at_end.digest = 77;
  return result;
}

TEST(Outcome, ComesThroughAPipeAsItWas) {
  const LiveResult before = an_outcome();
  const Result<LiveResult> after = decode(encode(before));
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after.value().kind, before.kind);
  EXPECT_EQ(after.value().code, before.code);
  EXPECT_EQ(after.value().output, before.output);
  EXPECT_EQ(after.value().text(), before.text());
  EXPECT_EQ(after.value().threads.size(), 2u);
  EXPECT_EQ(after.value().after_regions.changes, before.after_regions.changes);
  EXPECT_EQ(after.value().at_end.digest, 77u);
}

TEST(Outcome, APartOfItIsAnError) {
  const std::string bytes = encode(an_outcome());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode(bytes.substr(0, size)).ok()) << size;
}

TEST(LiveMemory, WhatIsFreedIsNoticedUntilItIsGivenOutAgain) {
  Memory memory;
  memory.allocated(Address(0x1000), 64, false);
  EXPECT_FALSE(memory.is_freed(Address(0x1000), 8));
  memory.freed(Address(0x1000), SiteId(3));
  EXPECT_TRUE(memory.is_freed(Address(0x1038), 8));
  EXPECT_TRUE(memory.is_freed(Address(0xffc), 8));  // its end is inside
  EXPECT_FALSE(memory.is_freed(Address(0x1040), 8));
  memory.allocated(Address(0x1020), 16, false);
  EXPECT_FALSE(memory.is_freed(Address(0x1020), 8));
}

TEST(LiveMemory, NothingIsGivenOutTwice) {
  Memory memory;
  const Address first = memory.allocate(24);
  memory.freed(first, SiteId(1));
  const Address second = memory.allocate(24, 4096);
  EXPECT_NE(first, second);
  EXPECT_EQ(second.value() % 4096, 0u);
  EXPECT_TRUE(memory.is_freed(first, 1));
}

TEST(LiveMemory, ACopyOfUnknownBytesIsUnknown) {
  Memory memory;
  memory.image().write(Address(0x100), 0x11223344, 4);
  memory.image().write(Address(0x200), ~0ull, 8);
  memory.copy(Address(0x200), Address(0x100), 8);
  EXPECT_EQ(memory.image().read(Address(0x200), 4), 0x11223344u);
  EXPECT_FALSE(memory.image().is_known(Address(0x204)));
  // Onto itself, in both directions.
  memory.copy(Address(0x102), Address(0x100), 4);
  EXPECT_EQ(memory.image().read(Address(0x102), 4), 0x11223344u);
  memory.copy(Address(0x101), Address(0x102), 4);
  EXPECT_EQ(memory.image().read(Address(0x101), 4), 0x11223344u);
}

TEST(LiveMemory, ChangesAreWhatDiffersInTheEnd) {
  Memory memory;
  memory.image().write(Address(0x100), 5, 8);
  memory.store(Address(0x100), 6, 8);
  memory.store(Address(0x108), 1, 4);
  ASSERT_EQ(memory.changes().size(), 2u);
  EXPECT_EQ(memory.changes()[0].before, 5u);
  EXPECT_EQ(memory.changes()[0].after, 6u);
  EXPECT_EQ(memory.changes()[1].known_before, 0u);
  EXPECT_EQ(memory.changes()[1].known_after, 0x0f);
  memory.store(Address(0x100), 5, 8);
  EXPECT_EQ(memory.changes().size(), 1u);
  // Locals, and what was freed in the end, are nobody's business.
  memory.store(Address(Memory::kStacksStart + 64), 1, 8);
  const Address block = memory.allocate(8);
  memory.store(block, 1, 8);
  EXPECT_EQ(memory.changes().size(), 2u);
  memory.freed(block, SiteId(1));
  EXPECT_EQ(memory.changes().size(), 1u);
}

TEST(Models, AreFoundByName) {
  EXPECT_NE(model_of("malloc"), nullptr);
  EXPECT_NE(model_of("_Znwm"), nullptr);
  EXPECT_EQ(model_of("fopen"), nullptr);
  EXPECT_EQ(model_of(""), nullptr);
}

// --- Stops

class StopsTest : public ::testing::Test {
 protected:
  void sequencer(std::uint32_t thread, std::uint64_t number, SequencerKind kind, std::uint64_t object,
                 std::uint64_t extra = 0) {
    recording::Sequencer happened{};
    happened.kind = kind;
    happened.number = SequencerNumber(number);
    happened.object = Address(object);
    happened.extra = extra;
    builder_.thread(thread).sequencer(0, happened);
  }
  static recording::Sequencer asked(std::uint64_t number, SequencerKind kind, std::uint64_t object,
                                    std::uint64_t extra = 0) {
    recording::Sequencer sequencer{};
    sequencer.kind = kind;
    sequencer.number = SequencerNumber(number);
    sequencer.object = Address(object);
    sequencer.extra = extra;
    return sequencer;
  }

  testing::ScratchFolder scratch_;
  testing::RecordingBuilder builder_;
};

TEST_F(StopsTest, OnlyWhatFollowsFromAKeptThreadHasToWait) {
  sequencer(1, 3, SequencerKind::kLockAcquired, 0x50);
  sequencer(1, 5, SequencerKind::kLockReleasing, 0x50);
  sequencer(1, 9, SequencerKind::kLockReleasing, 0x90);
  builder_.thread(1).end(0, recording::EndKind::kThreadEnded, 0);
  builder_.write(scratch_ / "r.dh");
  const Result<recording::Reader> reader = recording::Reader::open(scratch_ / "r.dh");
  ASSERT_TRUE(reader.ok());
  Stops stops(reader.value(), {{ThreadId(1), 4}});
  EXPECT_EQ(stops.access_of(ThreadId(1)), 4u);
  EXPECT_EQ(stops.access_of(ThreadId(2)), 0u);
  EXPECT_FALSE(stops.is_any_kept());
  stops.keep(ThreadId(1), 4);                                                 // it holds 0x50
  EXPECT_FALSE(stops.follows(asked(4, SequencerKind::kLockAcquired, 0x90)));  // before its 9
  EXPECT_FALSE(stops.follows(asked(6, SequencerKind::kLockAcquired, 0x60)));
  EXPECT_TRUE(stops.follows(asked(6, SequencerKind::kLockAcquired, 0x50)));
  EXPECT_TRUE(stops.follows(asked(10, SequencerKind::kLockAcquired, 0x90)));
  EXPECT_TRUE(stops.follows(asked(11, SequencerKind::kThreadJoined, 0, 1)));
  EXPECT_FALSE(stops.follows(asked(11, SequencerKind::kThreadJoined, 0, 2)));
}

// --- Processes

using Tell = std::function<void(const std::string&)>;

TEST(Child, TellsAndIsGone) {
  const Result<ChildAnswer> answer =
      run_child({5}, [](const Tell& tell) { tell(std::string(300'000, 'x')); });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.value().end, ChildEnd::kAnswered);
  EXPECT_EQ(answer.value().bytes.size(), 300'000u);
}

TEST(Child, ThatDiesSaysOfWhat) {
  const Result<ChildAnswer> answer = run_child({5}, [](const Tell&) {
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
  });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.value().end, ChildEnd::kDied);
  EXPECT_EQ(answer.value().signal, SIGABRT);
}

TEST(Child, ThatDoesNotEndIsEnded) {
  const Result<ChildAnswer> answer = run_child({0.2}, [](const Tell&) {
    for (;;) pause();
  });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.value().end, ChildEnd::kTimedOut);
}

TEST(Child, HasNoWayOut) {
  const testing::ScratchFolder scratch;
  const std::string path = scratch / "file";
  // Not the number that the pipe gets.
  const int open_before = fcntl(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600), F_DUPFD, 50);
  ASSERT_GE(open_before, 0);
  const Result<ChildAnswer> answer = run_child({5}, [&](const Tell& tell) {
    std::string told;
    if (write(open_before, "x", 1) == 1) told += "an open file;";
    const int again = open(path.c_str(), O_RDWR);
    if (write(again, "x", 1) == 1) told += "a file opened anew;";
    std::puts("this must not be seen");
    std::fflush(stdout);
    tell("done;" + told);
  });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.value().bytes, "done;");
  EXPECT_EQ(std::filesystem::file_size(path), 0u);
  close(open_before);
}

}  // namespace
}  // namespace deadheat::replay::live
