#include "replay/reachable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/known_functions.h"

namespace deadheat::replay {
namespace {

using recording::Sequencer;
using recording::SequencerKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kA = 0x10000, kB = 0x20000, kC = 0x30000;

class ReachableTest : public ::testing::Test {
 protected:
  std::vector<std::uint64_t> from(std::uint64_t word, bool is_pointer = true) {
    const CallWord argument{word, is_pointer};
    const Reach reach = reachable_.from(std::span(&argument, 1));
    is_everything_ = reach.is_everything;
    std::vector<std::uint64_t> bases;
    for (const Allocation& allocation : reach.allocations) bases.push_back(allocation.base.value());
    return bases;
  }
  void put(std::uint64_t address, std::uint64_t word) { reachable_.image().write(Address(address), word, 8); }
  void sequencer(unsigned thread, SequencerKind kind, std::uint64_t object, std::uint64_t extra) {
    reachable_.on_sequencer(ThreadId(thread), SiteId(0),
                            Sequencer{kind, 0, recording::SequencerNumber(0), Address(object), extra});
  }

  Reachable reachable_;
  bool is_everything_ = false;
};

TEST_F(ReachableTest, APointerIntoABlockReachesAllOfItAndWhatItPointsTo) {
  reachable_.add(Address(kA), 64);
  reachable_.add(Address(kB), 64);
  reachable_.add(Address(kC), 64);
  put(kA + 16, kB + 8);
  EXPECT_THAT(from(kA + 40), ElementsAre(kA, kB));
  put(kB + 56, kC);
  put(kC, kA);  // a ring
  EXPECT_THAT(from(kA), ElementsAre(kA, kB, kC));
}

TEST_F(ReachableTest, AnIntegerReachesOnlyWhatIsAllocated) {
  reachable_.add(Address(kA), 64);
  EXPECT_THAT(from(kA, /*is_pointer=*/false), ElementsAre(kA));
  EXPECT_THAT(from(kB, /*is_pointer=*/false), IsEmpty());
  EXPECT_THAT(from(7, /*is_pointer=*/true), IsEmpty());
}

TEST_F(ReachableTest, APointerToUnknownMemoryReachesItsGranuleEachTimeTheSame) {
  EXPECT_THAT(from(kB + 4), ElementsAre(kB));
  const CallWord argument{kB, true};
  const auto id = [&] { return reachable_.from(std::span(&argument, 1)).allocations.front().id; };
  EXPECT_EQ(id(), id());
}

TEST_F(ReachableTest, FreedMemoryIsGoneAndWhatComesThereIsAnother) {
  sequencer(1, SequencerKind::kAllocated, kA, 64);
  const CallWord argument{kA, true};
  const AllocationId before = reachable_.from(std::span(&argument, 1)).allocations.front().id;
  sequencer(1, SequencerKind::kFreeing, kA, 0);
  sequencer(1, SequencerKind::kAllocated, kA, 32);
  EXPECT_NE(reachable_.from(std::span(&argument, 1)).allocations.front().id, before);
}

TEST_F(ReachableTest, AThreadsStackIsNotOneThing) {
  sequencer(2, SequencerKind::kThreadStarted, 0, 0);
  sequencer(2, SequencerKind::kMapped, kA, 0x8000);
  reachable_.on_local(ThreadId(2), SiteId(0), Address(kA + 0x100), 16);
  reachable_.on_local(ThreadId(2), SiteId(0), Address(kA + 0x200), 16);
  EXPECT_THAT(from(kA + 0x108), ElementsAre(kA + 0x100));
  sequencer(2, SequencerKind::kMapped, kB, 0x8000);  // but any other mapping is
  EXPECT_THAT(from(kB + 0x108), ElementsAre(kB));
}

TEST_F(ReachableTest, ConstantsReachNothing) {
  reachable_.add(Address(kA), 64, /*is_constant=*/true);
  EXPECT_THAT(from(kA), IsEmpty());
}

TEST_F(ReachableTest, WhatIsLinkedIsReachedAsLongAsItIsThere) {
  reachable_.add(Address(kA), 64);
  reachable_.add(Address(kB), 64);
  const Allocation linked = *reachable_.at(Address(kB));
  reachable_.link(*reachable_.at(Address(kA)), std::span(&linked, 1));
  EXPECT_THAT(from(kA), ElementsAre(kA, kB));
  reachable_.remove(Address(kB));
  reachable_.add(Address(kB), 64);
  EXPECT_THAT(from(kA), ElementsAre(kA));
}

TEST_F(ReachableTest, TooMuchIsEverything) {
  reachable_.add(Address(kA), Reachable::kMaxBytes + 1);
  EXPECT_THAT(from(kA), IsEmpty());
  EXPECT_TRUE(is_everything_);
}

TEST(KnownFunctionsTest, LibrariesThatAreToldAreKnownAndOthersAreNot) {
  EXPECT_TRUE(is_known_function("memcpy"));
  EXPECT_TRUE(is_known_function("pthread_mutex_lock"));
  EXPECT_TRUE(is_known_function("sin"));
  EXPECT_TRUE(is_known_function("_ZNSo3putEc"));
  EXPECT_TRUE(is_known_function("__cxa_throw"));
  EXPECT_FALSE(is_known_function("syscall")) << "a futex, perhaps";
  EXPECT_FALSE(is_known_function("BZ2_bzCompress"));
  EXPECT_FALSE(is_known_function("_Z4waitP4gate"));
  EXPECT_FALSE(is_known_function(""));
}

}  // namespace
}  // namespace deadheat::replay
