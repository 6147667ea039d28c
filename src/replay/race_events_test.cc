#include "replay/race_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/record_abi.h"

namespace deadheat::replay {
namespace {

using recording::Sequencer;
using recording::SequencerKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kX = 0x1000, kY = 0x2000, kLock = 0x3000, kFlag = 0x4000;
constexpr unsigned kRelaxed = 0, kAcquire = 2, kRelease = 3, kAcqRel = 4;

// What an observer is told, one call a line, first to Borders and then to RaceEvents; and the events that
// come of it as text: "1 w x3" is thread 1 writing location 3, numbered as they come.
class RaceEventsTest : public ::testing::Test {
 protected:
  using Call = std::function<void(Observer&)>;

  void write(unsigned thread, std::uint64_t address, unsigned size = 8) {
    access(thread, address, size, true);
  }
  void read(unsigned thread, std::uint64_t address, unsigned size = 8) {
    access(thread, address, size, false);
  }
  void access(unsigned thread, std::uint64_t address, unsigned size, bool is_write) {
    add([=](Observer& observer) {
      observer.on_access({ThreadId(thread), SiteId(1), Address(address), size, 0, is_write, false});
    });
  }
  void sequencer(unsigned thread, SequencerKind kind, std::uint64_t object, std::uint64_t extra = 0) {
    add([=](Observer& observer) {
      observer.on_sequencer(ThreadId(thread), SiteId(1),
                            Sequencer{kind, 0, recording::SequencerNumber(0), Address(object), extra});
    });
  }
  void atomic(unsigned thread, DhAtomic operation, unsigned order, std::uint64_t object = kFlag,
              bool succeeded = true) {
    sequencer(thread,
              static_cast<SequencerKind>(static_cast<unsigned>(SequencerKind::kAtomic) +
                                         static_cast<unsigned>(operation)),
              object, order | 8u << 4 | (succeeded ? 1u << 9 : 0));
  }
  void fence(unsigned thread, unsigned order) { sequencer(thread, SequencerKind::kFence, 0, order); }
  void local(unsigned thread, std::uint64_t address, std::uint64_t size) {
    add([=](Observer& o) { o.on_local(ThreadId(thread), SiteId(1), Address(address), size); });
  }
  void local_end(unsigned thread, std::uint64_t address, std::uint64_t size) {
    add([=](Observer& o) { o.on_local_end(ThreadId(thread), SiteId(1), Address(address), size); });
  }
  void note(unsigned thread, recording::NoteKind kind, std::uint64_t a, std::uint64_t b = 0) {
    add([=](Observer& o) {
      o.on_note(ThreadId(thread), SiteId(1), recording::Note{kind, a, b, Address(0)});
    });
  }
  void add(Call call) { calls_.push_back(std::move(call)); }

  std::vector<std::string> events() {
    Locations locations;
    Borders borders(locations);
    for (const Call& call : calls_) call(borders);
    locations.restart();
    if (is_all_marked_) locations.mark(Address(0), 1 << 20);
    std::vector<std::string> lines;
    RaceEvents events(locations, borders, [&](const Event& event, const AccessOrigin* origin) {
      static constexpr const char* kWords[] = {"r x",  "w x", "acq l", "rel l", "fork ",  "join ", "begin ",
                                               "end ", "br ", "snd m", "rcv m", "enter ", "leave "};
      std::string line = std::to_string(event.thread.value()) + (event.is_atomic ? " atomic " : " ") +
                         kWords[static_cast<int>(event.kind)] + std::to_string(event.object.value());
      if (origin != nullptr && origin->is_free) line += " gone";
      lines.push_back(std::move(line));
    });
    if (is_all_marked_) events.set_barriers();
    for (const Call& call : calls_) call(events);
    is_benign_ = [&, events](std::uint64_t address) { return events.is_benign(Address(address)); };
    held_ = events.held(ThreadId(1)).size();
    events.name_all(names_);
    return lines;
  }

  std::vector<Call> calls_;
  bool is_all_marked_ = true;
  std::function<bool(std::uint64_t)> is_benign_;
  std::size_t held_ = 0;
  Names names_;
};

TEST_F(RaceEventsTest, AMutexIsALock) {
  sequencer(1, SequencerKind::kLockAcquired, kLock);
  write(1, kX);
  sequencer(1, SequencerKind::kLockReleasing, kLock);
  EXPECT_THAT(events(), ElementsAre("1 acq l0", "1 w x2", "1 rel l0"));
  EXPECT_EQ(held_, 0u);
}

TEST_F(RaceEventsTest, ALockHasTheNameOfItsPlace) {
  sequencer(1, SequencerKind::kLockAcquired, kLock);
  read(1, kLock, 1);
  EXPECT_THAT(events(), ElementsAre("1 acq l0", "1 r x1"));
  EXPECT_EQ(names_.locks.name(0), names_.locations.name(1));
}

TEST_F(RaceEventsTest, ReadersOfALockDoNotOrderEachOther) {
  sequencer(1, SequencerKind::kLockAcquired, kLock, 1);
  sequencer(1, SequencerKind::kLockReleasing, kLock);
  sequencer(2, SequencerKind::kLockAcquired, kLock, 1);
  EXPECT_THAT(events(), ElementsAre("1 snd m1"));  // for the next writer; the second reader receives nothing
}

TEST_F(RaceEventsTest, AWriterIsOrderedBehindReadersAndBeforeThem) {
  sequencer(1, SequencerKind::kLockAcquired, kLock, 1);
  sequencer(1, SequencerKind::kLockReleasing, kLock);
  sequencer(2, SequencerKind::kLockAcquired, kLock);
  sequencer(2, SequencerKind::kLockReleasing, kLock);
  sequencer(1, SequencerKind::kLockAcquired, kLock, 1);
  EXPECT_THAT(events(), ElementsAre("1 snd m1", "2 acq l0", "2 rcv m1", "2 snd m2", "2 rel l0", "1 rcv m2"));
  EXPECT_EQ(held_, 1u);
}

TEST_F(RaceEventsTest, AReleaseStoreIsReceivedByAnAcquire) {
  atomic(1, kDhAtomicStore, kRelease);
  atomic(2, kDhAtomicLoad, kAcquire);
  EXPECT_THAT(events(), ElementsAre("1 atomic w x1", "1 snd m1", "2 rcv m1", "2 atomic r x1"));
}

TEST_F(RaceEventsTest, ARelaxedStoreOfAnotherThreadEndsTheReleaseSequence) {
  atomic(1, kDhAtomicStore, kRelease);
  atomic(2, kDhAtomicStore, kRelaxed);
  atomic(3, kDhAtomicLoad, kAcquire);
  EXPECT_THAT(events(), ElementsAre("1 atomic w x1", "1 snd m1", "2 atomic w x1", "3 atomic r x1"));
}

TEST_F(RaceEventsTest, ARelaxedReadModifyWriteContinuesIt) {
  atomic(1, kDhAtomicStore, kRelease);
  atomic(2, kDhAtomicAdd, kRelaxed);
  atomic(3, kDhAtomicLoad, kAcquire);
  EXPECT_THAT(events(),
              ElementsAre("1 atomic w x1", "1 snd m1", "2 atomic w x1", "3 rcv m1", "3 atomic r x1"));
}

TEST_F(RaceEventsTest, AFailedCompareExchangeOnlyReads) {
  atomic(1, kDhAtomicCompareExchange, kAcqRel, kFlag, /*succeeded=*/false);
  EXPECT_THAT(events(), ElementsAre("1 atomic r x1"));
}

TEST_F(RaceEventsTest, FencesMakeRelaxedOperationsCount) {
  fence(1, kRelease);
  atomic(1, kDhAtomicStore, kRelaxed);
  atomic(2, kDhAtomicLoad, kRelaxed);
  fence(2, kAcquire);
  EXPECT_THAT(events(), ElementsAre("1 snd m1", "1 atomic w x1", "2 atomic r x1", "2 rcv m1"));
}

TEST_F(RaceEventsTest, AFenceAfterTheStoreDoesNotReachBack) {
  fence(1, kRelease);
  atomic(1, kDhAtomicStore, kRelaxed);
  fence(1, kRelease);  // sends another message: who saw the store has the first
  atomic(2, kDhAtomicLoad, kAcquire);
  EXPECT_THAT(events(), ElementsAre("1 snd m1", "1 atomic w x1", "1 snd m2", "2 rcv m1", "2 atomic r x1"));
}

TEST_F(RaceEventsTest, BarriersOrderByGeneration) {
  sequencer(1, SequencerKind::kBarrierArrive, kLock, 0);
  sequencer(2, SequencerKind::kBarrierArrive, kLock, 0);
  sequencer(1, SequencerKind::kBarrierLeave, kLock, 0);
  sequencer(1, SequencerKind::kBarrierArrive, kLock, 1);
  sequencer(2, SequencerKind::kBarrierLeave, kLock, 0);
  EXPECT_THAT(events(), ElementsAre("1 snd m1", "2 snd m1", "1 rcv m1", "1 snd m2", "2 rcv m1"));
}

TEST_F(RaceEventsTest, ForksAndJoinsNameTheOtherThread) {
  sequencer(0, SequencerKind::kThreadCreated, 0, 7);
  sequencer(0, SequencerKind::kThreadJoined, 0, 7);
  EXPECT_THAT(events(), ElementsAre("0 fork 7", "0 join 7"));
  EXPECT_EQ(names_.threads.size(), 8u) << "recorded or not";
}

TEST_F(RaceEventsTest, AFreedBlockIsWrittenWhereItWasTouched) {
  sequencer(1, SequencerKind::kAllocated, kX, 64);
  write(1, kX);
  write(1, kX + 16);
  sequencer(2, SequencerKind::kFreeing, kX);
  sequencer(2, SequencerKind::kAllocated, kX, 64);
  write(2, kX);
  EXPECT_THAT(events(), ElementsAre("1 w x1", "1 w x2", "2 w x1 gone", "2 w x2 gone", "2 w x3"));
}

TEST_F(RaceEventsTest, FreeingWhatWasNeverAllocatedIsNothing) {
  write(1, kX);
  sequencer(2, SequencerKind::kFreeing, kX);
  EXPECT_THAT(events(), ElementsAre("1 w x1"));
}

TEST_F(RaceEventsTest, ALocalEndsAndItsPlaceHasNoPast) {
  local(1, kX, 8);
  write(1, kX);
  read(2, kX);
  local_end(1, kX, 8);
  local(1, kX, 8);
  write(1, kX);
  EXPECT_THAT(events(), ElementsAre("1 w x2", "2 r x2", "2 r x1", "1 w x1 gone", "1 w x4"));
}

TEST_F(RaceEventsTest, AFrameThatNeverEndedIsGoneWhenItsPlaceIsUsedAgain) {
  local(1, kX, 8);
  write(1, kX);
  local(2, kX, 8);
  write(2, kX);
  EXPECT_THAT(events(), ElementsAre("1 w x2", "2 w x4"));
}

TEST_F(RaceEventsTest, NeighboursOnTheStackLiveTheirOwnLives) {
  local(1, kX, 4);
  local(1, kX + 4, 4);
  write(1, kX, 4);
  write(1, kX + 4, 4);
  local_end(1, kX + 4, 4);
  local(1, kX + 4, 4);
  write(1, kX + 4, 4);
  read(2, kX, 4);
  EXPECT_THAT(events(), ElementsAre("1 w x3", "1 w x4", "1 w x2 gone", "1 w x6", "2 r x3", "2 r x1"));
}

TEST_F(RaceEventsTest, AStackThatAnotherThreadGetsIsFresh) {
  for (unsigned thread : {1u, 2u}) {
    sequencer(thread, SequencerKind::kThreadStarted, 0);
    sequencer(thread, SequencerKind::kMapped, kX - 0x800, 0x1000);
    write(thread, kX);  // thread-local storage
  }
  EXPECT_THAT(events(), ElementsAre("1 w x1", "2 w x2"));
}

// Thread 2 runs ahead: what it writes is allocated by thread 1 meanwhile.
TEST_F(RaceEventsTest, AnAccessOfMemoryThatIsNotThereWaitsForTheEndOfItsRegion) {
  write(2, kX);
  sequencer(1, SequencerKind::kAllocated, kX, 64);
  write(1, kX);
  sequencer(2, SequencerKind::kLockAcquired, kLock);
  EXPECT_THAT(events(), ElementsAre("1 w x1", "2 w x1", "2 acq l0"));
}

TEST_F(RaceEventsTest, ALocalOfAnotherThreadThatIsNotThereYetIsWaitedForAsWell) {
  read(2, kX);
  local(1, kX, 8);
  write(1, kX);
  local_end(1, kX, 8);
  add([](Observer& o) { o.on_thread_end(ThreadId(2), {}); });
  EXPECT_THAT(events(), ElementsAre("1 w x2", "1 w x1 gone", "2 r x2", "2 r x1", "2 end 0"));
}

TEST_F(RaceEventsTest, MemoryOfOneThreadNeedsNoEvents) {
  is_all_marked_ = false;
  write(1, kX);
  read(1, kX);
  write(1, kY);
  read(2, kY);
  local(1, kFlag, 8);
  write(1, kFlag);
  local_end(1, kFlag, 8);
  EXPECT_THAT(events(), ElementsAre("1 w x1", "2 r x1"));
}

TEST_F(RaceEventsTest, WhatALibraryReleasedAnAtomicAcquires) {
  sequencer(1, SequencerKind::kRelease, kFlag);
  atomic(2, kDhAtomicLoad, kAcquire);
  EXPECT_THAT(events(), ElementsAre("1 snd m1", "2 rcv m1", "2 atomic r x1"));
}

TEST_F(RaceEventsTest, WhatAnAtomicReleasedALibraryAcquires) {
  atomic(1, kDhAtomicStore, kRelease);
  sequencer(2, SequencerKind::kAcquire, kFlag);
  EXPECT_THAT(events(), ElementsAre("1 atomic w x1", "1 snd m1", "2 rcv m1"));
}

TEST_F(RaceEventsTest, AnIgnoredScopeHidesItsAccessesOnly) {
  note(1, recording::NoteKind::kIgnoreBegin, recording::kIgnoreWrites);
  write(1, kX);
  read(1, kX);
  note(1, recording::NoteKind::kIgnoreEnd, recording::kIgnoreWrites);
  write(1, kX);
  EXPECT_THAT(events(), ElementsAre("1 r x1", "1 w x1"));
}

TEST_F(RaceEventsTest, BenignRangesAreKnown) {
  note(1, recording::NoteKind::kBenignRace, kX, 4);
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_TRUE(is_benign_(kX + 3));
  EXPECT_FALSE(is_benign_(kX + 4));
}

TEST_F(RaceEventsTest, ALibraryAccessCountsAsTheProgramsOwn) {
  add([](Observer& o) {
    o.on_library_access(ThreadId(1), SiteId(4), {recording::AccessKind::kWrite, Address(kY), 12, Address(0)});
  });
  EXPECT_THAT(events(), ElementsAre("1 w x1", "1 w x2"));
}

}  // namespace
}  // namespace deadheat::replay
