#include "recording/drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <functional>
#include <random>
#include <set>
#include <thread>

#include "recording/folder.h"
#include "testing/fake_recorded.h"
#include "testing/recording_builder.h"

namespace deadheat::recording {
namespace {

using testing::FakeRecorded;
using testing::FakeThread;
using ::testing::HasSubstr;
using testing::ScratchFolder;

Fate fate_of(int status) {
  Fate fate;
  fate.is_known = true;
  fate.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  fate.exit_code = fate.signal != 0 ? 128 + fate.signal : WEXITSTATUS(status);
  return fate;
}

struct Recorded {
  Ending ending;
  std::string problem;
  Status finished = Nothing{};
};

// Forks, runs `program` in the child with its arena, drains until it ends.
Recorded record(const std::string& folder, DrainOptions options,
                const std::function<int(FakeRecorded&)>& program,
                const std::function<void(pid_t, Arena&)>& meanwhile = {}) {
  auto arena = Arena::create();
  DEADHEAT_CHECK(arena.ok());
  Description description;
  DEADHEAT_CHECK(create_folder(folder, description, {}).ok());
  options.folder = folder;
  auto drain = Drain::start(**arena, options);
  DEADHEAT_CHECK(drain.ok());
  const pid_t pid = fork();
  if (pid == 0) {
    FakeRecorded self((*arena)->descriptor());
    _exit(program(self));
  }
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (meanwhile) meanwhile(pid, **arena);
    (*drain)->look();
    (*drain)->rest();
  }
  Recorded recorded;
  recorded.finished = (*drain)->finish(fate_of(status));
  recorded.ending = (*drain)->ending();
  recorded.problem = (*drain)->problem();
  return recorded;
}

Reader open(const std::string& folder) {
  Result<Reader> reader = Reader::open(folder);
  EXPECT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(reader->completeness(), Completeness::kComplete) << reader->note();
  return std::move(*reader);
}

// Reads a stream of values that count from 0, each behind 3 predicted ones; gives their number and the end.
std::uint64_t counted_values(const Reader& reader, std::uint32_t thread, Item& item) {
  ThreadStream stream = reader.stream(ThreadId(thread));
  std::uint64_t count = 0;
  while (stream.next(item) && is_value(item.tag)) {
    EXPECT_EQ(item.value, count);
    EXPECT_EQ(item.predicted, 3u);
    if (item.value != count) return count;
    ++count;
  }
  EXPECT_TRUE(stream.status().ok()) << stream.status().error().message;
  EXPECT_EQ(item.tag, Tag::kEnd);
  return count;
}

TEST(Drain, WhatThreadsLoggedIsInTheRecording) {
  ScratchFolder scratch;
  Recorded recorded = record(scratch / "r", {}, [](FakeRecorded& self) {
    FakeThread main(self);
    for (std::uint64_t i = 0; i < 1000; ++i) main.predict(3), main.value(i, 8);
    std::thread other([&] {
      FakeThread thread(self);
      thread.sequencer(SequencerKind::kThreadStarted, 0, 0);
      thread.predict(2);
      thread.end();
    });
    other.join();
    main.predict(41);
    self.finish(5);
    return 5;
  });
  ASSERT_TRUE(recorded.finished.ok()) << recorded.finished.error().message;
  Reader reader = open(scratch / "r");
  Item item;
  EXPECT_EQ(counted_values(reader, 0, item), 1000u);
  EXPECT_EQ(item.predicted, 41u);
  EXPECT_EQ(item.end.kind, EndKind::kProcessEnded);
  EXPECT_EQ(item.end.status, 5);
  EXPECT_TRUE(item.end.is_written);
  ThreadStream stream = reader.stream(ThreadId(1));
  ASSERT_TRUE(stream.next(item));
  EXPECT_EQ(item.sequencer.kind, SequencerKind::kThreadStarted);
  ASSERT_TRUE(stream.next(item));
  EXPECT_EQ(item.end.kind, EndKind::kThreadEnded);
  EXPECT_EQ(item.predicted, 2u);
  EXPECT_EQ(reader.ending()->threads, 2u);
  EXPECT_EQ(reader.ending()->sequencers, 1u);
  EXPECT_EQ(reader.ending()->exit_code, 5);
  EXPECT_EQ(reader.ending()->signal, 0);
  EXPECT_GT(reader.description().pid, 0);
  EXPECT_FALSE(std::filesystem::exists(scratch / "r/end.json.reserve"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "r/end.json.reserve2"));
}

// 40 MiB through a ring of 1 MiB; nothing is lost, and the program had to wait.
TEST(Drain, AFullRingMakesTheProgramWaitAndLosesNothing) {
  ScratchFolder scratch;
  constexpr std::uint64_t kValues = 40 << 20 >> 4;
  Recorded recorded = record(
      scratch / "r", {},
      [](FakeRecorded& self) {
        FakeThread main(self);
        for (std::uint64_t i = 0; i < kValues; ++i) main.predict(3), main.value(i, 8);
        return main.waits() > 0 ? 0 : 1;
      },
      // Nobody looks until it waits.
      [first = true](pid_t, Arena& arena) mutable {
        for (int i = 0; first && i < 20000; ++i) {
          if (arena.slots() > 0 && load_acquire(arena.slot(0).waiting) != 0) break;
          usleep(1000);
        }
        first = false;
      });
  EXPECT_EQ(recorded.ending.exit_code, 0) << "the ring was never full";
  Item item;
  EXPECT_EQ(counted_values(open(scratch / "r"), 0, item), kValues);
}

TEST(Drain, SlotsAreUsedAgain) {
  ScratchFolder scratch;
  record(scratch / "r", {}, [](FakeRecorded& self) {
    FakeThread main(self);
    for (int i = 0; i < 300; ++i) {
      FakeThread thread(self);
      for (std::uint64_t k = 0; k < 1000; ++k) thread.predict(3), thread.value(k, 8);
      thread.end();
      if (i % 10 == 0) usleep(5000);
    }
    return self.header().slots < 200 ? 0 : 1;
  });
  Reader reader = open(scratch / "r");
  EXPECT_EQ(reader.ending()->exit_code, 0) << "no slot was used twice";
  EXPECT_EQ(reader.threads().size(), 301u);
  Item item;
  for (std::uint32_t thread = 1; thread <= 300; ++thread) {
    EXPECT_EQ(counted_values(reader, thread, item), 1000u);
    EXPECT_EQ(item.end.kind, EndKind::kThreadEnded);
  }
}

// Killed at a random moment, with threads writing: every stream is whole up to its cut, and says so.
TEST(Drain, AKilledProgramLeavesAllThatItLogged) {
  for (int round = 0; round < 5; ++round) {
    ScratchFolder scratch;
    // Counted from when both threads have logged enough to be looked at: a busy machine takes its time.
    auto until = std::chrono::steady_clock::time_point::max();
    // What the program had published when it died, from the arena itself.
    Arena* seen = nullptr;
    Recorded recorded = record(
        scratch / "r", {},
        [](FakeRecorded& self) {
          auto work = [&] {
            FakeThread thread(self);
            for (std::uint64_t i = 0;; ++i) thread.predict(3), thread.value(i, 8);
          };
          std::thread other(work);
          work();
          return 0;
        },
        [&](pid_t pid, Arena& arena) {
          seen = &arena;
          auto now = std::chrono::steady_clock::now();
          auto has_logged = [&](std::uint32_t slot) {
            return load_acquire(arena.slot(slot).written) > 100'000;
          };
          bool both = arena.slots() >= 2 && has_logged(0) && has_logged(1);
          if (both && until == until.max()) until = now + std::chrono::milliseconds(20 * round);
          if (now > until) kill(pid, SIGKILL);
        });
    ASSERT_NE(seen, nullptr);
    Reader reader = open(scratch / "r");
    EXPECT_EQ(reader.ending()->signal, SIGKILL);
    EXPECT_EQ(reader.ending()->exit_code, 128 + SIGKILL);
    EXPECT_TRUE(reader.ending()->program_ended);
    ASSERT_EQ(reader.threads().size(), 2u);
    for (std::uint32_t thread : {0u, 1u}) {
      Item item;
      EXPECT_GT(counted_values(reader, thread, item), 1000u);
      EXPECT_EQ(item.end.kind, EndKind::kCutOff);
      EXPECT_EQ(item.end.status, SIGKILL);
      EXPECT_TRUE(item.end.is_written);
      EXPECT_LE(item.predicted, 3u);
    }
  }
}

TEST(Drain, WhatAKilledThreadHadReadBeforeALockIsLogged) {
  ScratchFolder scratch;
  record(scratch / "r", {}, [](FakeRecorded& self) {
    FakeThread thread(self);
    thread.sequencer(SequencerKind::kAllocated, 0x1000, 64);
    thread.record().last_object = 0x1000;
    thread.predict(5);
    thread.record().waiting_read_run = 3;
    thread.record().waiting_read = 0x1008;
    raise(SIGKILL);
    return 0;
  });
  Reader reader = open(scratch / "r");
  ThreadStream stream = reader.stream(ThreadId(0));
  Item item;
  ASSERT_TRUE(stream.next(item));
  EXPECT_EQ(item.tag, Tag::kSequencer);
  ASSERT_TRUE(stream.next(item));
  ASSERT_EQ(item.tag, Tag::kAccess);
  EXPECT_EQ(item.predicted, 3u);
  EXPECT_EQ(item.access.kind, AccessKind::kRead);
  EXPECT_EQ(item.access.address, Address(0x1008));
  EXPECT_EQ(item.access.size, 1u);
  ASSERT_TRUE(stream.next(item));
  ASSERT_EQ(item.tag, Tag::kEnd);
  EXPECT_EQ(item.predicted, 2u);
}

TEST(Drain, TheLimitStopsTheRecordingAndNotTheProgram) {
  ScratchFolder scratch;
  constexpr std::uint64_t kLimit = 3 << 20;
  DrainOptions options;
  options.limit = kLimit;
  Recorded recorded = record(scratch / "r", options, [](FakeRecorded& self) {
    std::mt19937_64 random(1);
    auto work = [&](std::uint64_t seed) {
      std::mt19937_64 random(seed);
      FakeThread thread(self);
      for (int i = 0; i < 10000000 && !self.is_stopped(); ++i) thread.value(random(), 8);
    };
    std::thread other(work, 1);
    work(2);
    other.join();
    if (self.header().stop != kDhStopLimit) return 1;
    self.finish(7);
    return 7;
  });
  Reader reader = open(scratch / "r");
  EXPECT_EQ(reader.ending()->reason, StopReason::kLimit);
  EXPECT_TRUE(reader.ending()->program_ended);
  EXPECT_EQ(reader.ending()->exit_code, 7);
  EXPECT_GE(reader.log_bytes(), kLimit * 9 / 10);
  EXPECT_LE(reader.log_bytes(), kLimit + (3 << 20)) << "more than was in two rings";
  for (std::uint32_t thread : {0u, 1u}) {
    ThreadStream stream = reader.stream(ThreadId(thread));
    Item item;
    while (stream.next(item) && is_value(item.tag)) {
    }
    EXPECT_TRUE(stream.status().ok());
    EXPECT_EQ(item.end.kind, EndKind::kStopped);
    EXPECT_TRUE(item.end.is_written);
  }
}

int random_values_until_stopped(FakeRecorded& self) {
  std::mt19937_64 random(1);
  FakeThread thread(self);
  for (int i = 0; i < 10000000 && !self.is_stopped(); ++i) thread.value(random(), 8);
  return static_cast<int>(self.header().stop);
}

void expect_stopped_by_disk(const std::string& folder, const Recorded& recorded, const std::string& message) {
  EXPECT_TRUE(recorded.finished.ok()) << recorded.finished.error().message;
  EXPECT_THAT(recorded.problem, HasSubstr("log: cannot be written: " + message));
  EXPECT_EQ(recorded.ending.exit_code, kDhStopDisk) << "the program was not told";
  Reader reader = open(folder);
  EXPECT_EQ(reader.ending()->reason, StopReason::kDiskFull);
  EXPECT_TRUE(reader.ending()->program_ended);
  ThreadStream stream = reader.stream(ThreadId(0));
  std::mt19937_64 random(1);
  Item item;
  std::uint64_t count = 0;
  while (stream.next(item) && is_value(item.tag)) {
    ASSERT_EQ(item.value, random());
    ++count;
  }
  EXPECT_TRUE(stream.status().ok());
  EXPECT_EQ(item.tag, Tag::kEnd);
  EXPECT_GT(count, 10000u);
}

TEST(Drain, AFileSizeLimitStopsTheRecordingAndKeepsWhatIsThere) {
  ScratchFolder scratch;
  struct rlimit before{}, small{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 1000000;
  signal(SIGXFSZ, SIG_IGN);
  Recorded recorded = record(
      scratch / "r", {},
      [&](FakeRecorded& self) {
        setrlimit(RLIMIT_FSIZE, &before);  // the limit is ours, not the program's
        return random_values_until_stopped(self);
      },
      [&](pid_t, Arena&) { setrlimit(RLIMIT_FSIZE, &small); });
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  expect_stopped_by_disk(scratch / "r", recorded, "File too large");
}

TEST(Drain, AFullDiskStopsTheRecordingAndKeepsWhatIsThere) {
  ScratchFolder scratch;
  const std::string disk = scratch / "disk";
  std::filesystem::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "no tmpfs can be mounted";
  Recorded recorded = record(disk + "/r", {}, random_values_until_stopped);
  expect_stopped_by_disk(disk + "/r", recorded, "No space left on device");
  umount2(disk.c_str(), MNT_DETACH);
}

TEST(Folder, AFullDiskHasRoomForTwoEnds) {
  ScratchFolder scratch;
  const std::string disk = scratch / "disk";
  std::filesystem::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "no tmpfs can be mounted";
  EXPECT_TRUE(create_folder(disk + "/r", {}, {}).ok());
  EXPECT_TRUE(reserve_end(disk + "/r").ok());
  const int filler = ::open((disk + "/filler").c_str(), O_WRONLY | O_CREAT, 0666);
  const std::string page(4096, 'x');
  auto fill = [&] {
    while (::write(filler, page.data(), page.size()) > 0) {
    }
  };
  fill();
  Ending ending;
  for (int exit_code : {1, 2}) {
    ending.exit_code = exit_code;
    Status status = write_end(disk + "/r", ending);
    EXPECT_TRUE(status.ok()) << status.error().message;
    EXPECT_THAT(testing::read_file(disk + "/r/end.json"),
                HasSubstr("\"exit\": " + std::to_string(exit_code)));
  }
  fill();
  EXPECT_FALSE(write_end(disk + "/r", ending).ok()) << "the disk was not full";
  ::close(filler);
  EXPECT_THAT(testing::read_file(disk + "/r/end.json"), HasSubstr("\"exit\": 2")) << "the old one stays";
  umount2(disk.c_str(), MNT_DETACH);
}

// A program with bugs scribbles over its arena; the writer neither crashes nor loops.
TEST(Drain, NonsenseInTheArenaHarmsNobody) {
  ScratchFolder scratch;
  for (int round = 0; round < 30; ++round) {
    const std::string folder = scratch / std::to_string(round);
    record(folder, {}, [&](FakeRecorded& self) {
      std::mt19937_64 random(static_cast<std::uint64_t>(round));
      FakeThread first(self), second(self);
      for (std::uint64_t i = 0; i < 1000; ++i) first.predict(3), first.value(i, 8);
      auto* words = reinterpret_cast<std::uint64_t*>(&second.record());
      for (int i = 0; i < 200; ++i) {
        words[random() % (sizeof(DhRecord) / 8)] = random() >> (random() % 64);
        if (i % 50 == 0) usleep(1000);
      }
      self.header().slots = round % 2 == 0 ? ~0u : 2;
      self.header().next_number = random();
      usleep(3000);
      return 0;
    });
    Result<Reader> reader = Reader::open(folder);
    ASSERT_TRUE(reader.ok());
    Item item;
    EXPECT_EQ(counted_values(*reader, 0, item), 1000u);
  }
}

TEST(Drain, AToolThatStopsFirstLeavesACompleteRecording) {
  ScratchFolder scratch;
  auto arena = Arena::create();
  ASSERT_TRUE(create_folder(scratch / "r", {}, {}).ok());
  DrainOptions options;
  options.folder = scratch / "r";
  auto drain = Drain::start(**arena, options);
  FakeRecorded self((*arena)->descriptor());
  FakeThread main(self);
  for (std::uint64_t i = 0; i < 10; ++i) main.predict(3), main.value(i, 8);
  Fate fate;
  fate.still_runs = true;
  ASSERT_TRUE((*drain)->finish(fate).ok());
  EXPECT_TRUE(self.is_stopped());
  Reader reader = open(scratch / "r");
  Item item;
  EXPECT_EQ(counted_values(reader, 0, item), 10u);
  EXPECT_EQ(item.end.kind, EndKind::kStopped);
  EXPECT_EQ(reader.ending()->reason, StopReason::kWriterGone);
  EXPECT_FALSE(reader.ending()->program_ended);
}

TEST(Drain, SmallAmountsReachTheDiskWithinAFractionOfASecond) {
  ScratchFolder scratch;
  auto arena = Arena::create();
  ASSERT_TRUE(create_folder(scratch / "r", {}, {}).ok());
  DrainOptions options;
  options.folder = scratch / "r";
  auto drain = Drain::start(**arena, options);
  FakeRecorded self((*arena)->descriptor());
  FakeThread main(self);
  main.predict(3);
  main.value(0, 8);
  const auto start = std::chrono::steady_clock::now();
  Item item;
  while (true) {
    (*drain)->look();
    (*drain)->rest();
    Result<Reader> reader = Reader::open(scratch / "r");
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(reader->completeness(), Completeness::kCutShort);
    if (reader->has_thread(ThreadId(0))) {
      EXPECT_EQ(counted_values(*reader, 0, item), 1u);
      break;
    }
    ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  }
  EXPECT_FALSE(item.end.is_written);
}

TEST(Folder, OnlyARecordingIsReplacedAndOnlyIfAsked) {
  ScratchFolder scratch;
  const std::string folder = scratch / "a/b";
  auto create = [&](FolderOptions options) {
    Status status = create_folder(folder, {}, options);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(create({}), "") << "parents are made";
  EXPECT_THAT(create({}), HasSubstr("there is a recording already; --force replaces it"));
  EXPECT_EQ(create({.replace = true}), "");
  testing::write_file(folder + "/letter.txt", "dear");
  EXPECT_THAT(create({.replace = true}),
              HasSubstr("expected an empty folder or none, found letter.txt in it"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/recording.json"));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/modules");
  EXPECT_THAT(create({}), HasSubstr("recording already"));
  EXPECT_EQ(create({.may_have_modules = true}), "");
  std::filesystem::remove_all(folder);
  testing::write_file(folder, "");
  EXPECT_THAT(create({}), HasSubstr("expected a folder for the recording, found a file"));
}

TEST(Arena, OtherFilesAreRefused) {
  ScratchFolder scratch;
  testing::write_file(scratch / "f", std::string(8192, 'x'));
  auto arena = Arena::attach(::open((scratch / "f").c_str(), O_RDWR));
  ASSERT_FALSE(arena.ok());
  EXPECT_THAT(arena.error().message, HasSubstr("expected a program's arena, found another file"));
  EXPECT_FALSE(Arena::attach(-1).ok());
  auto made = Arena::create();
  (*made)->header().version = 77;
  auto other = Arena::attach(dup((*made)->descriptor()));
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr(std::to_string(DEADHEAT_RECORD_ABI_VERSION) + ", found 77"));
}

}  // namespace
}  // namespace deadheat::recording
