#include "trace/checker.h"

#include <gtest/gtest.h>

#include <random>

#include "testing/generate.h"
#include "testing/trace_builder.h"
#include "trace/std_text.h"

namespace deadheat {
namespace {

// The first thing wrong, or "".
std::string check(const std::string& text) {
  const Trace trace = testing::build_trace(text);
  std::unique_ptr<TraceSource> source = checked(source_of(trace), "t.std");
  Result<Trace> read = read_all(*source);
  return read.ok() ? "" : read.error().message;
}

TEST(Checker, LocksAreTakenWhenFreeAndReleasedByTheirHolders) {
  EXPECT_EQ(check("T0|acq(l) T0|rel(l) T1|acq(l) T1|rel(l)"), "");
  EXPECT_EQ(check("T0|acq(l) T1|acq(l)"),
            "t.std:2: expected lock 'l' to be free, found it held by thread 'T0' since line 1");
  EXPECT_EQ(check("T0|rel(l)"), "t.std:1: expected lock 'l' to be held by thread 'T0', found it free");
  EXPECT_EQ(
      check("T0|acq(l) T1|rel(l)"),
      "t.std:2: expected lock 'l' to be held by thread 'T1', found it held by thread 'T0' since line 1");
}

TEST(Checker, AHolderMayTakeItsLockAgain) {
  EXPECT_EQ(check("T0|acq(l) T0|acq(l) T0|rel(l) T0|rel(l) T1|acq(l)"), "");
  EXPECT_NE(check("T0|acq(l) T0|acq(l) T0|rel(l) T1|acq(l)"), "");
}

TEST(Checker, UntracedCodeMayTakeAndReleaseTheLocksItReaches) {
  // It releases: a condition variable, an untraced unlock.
  EXPECT_EQ(check("T1|acq(m) T1|enter(wait;c,m) T2|acq(m) T2|rel(m) T1|leave(wait) T1|rel(m)"), "");
  EXPECT_EQ(check("T1|acq(m) T1|enter(unlock;m) T1|leave(unlock) T2|acq(m) T2|rel(m)"), "");
  EXPECT_NE(check("T1|acq(m) T1|enter(f;x) T1|leave(f) T2|acq(m)"), "") << "it cannot reach m";
  EXPECT_NE(check("T1|acq(m) T2|enter(f;m) T2|leave(f) T3|acq(m)"), "")
      << "locks are released by their holders";
  EXPECT_NE(check("T1|enter(f;m) T1|leave(f) T1|acq(m) T2|acq(m)"), "") << "that was before";
  EXPECT_NE(check("T1|acq(m) T1|enter(f;m) T1|leave(f) T1|acq(m) T2|acq(m)"), "") << "it has it for sure";
  EXPECT_EQ(check("T1|acq(m) T1|enter(f;m) T1|leave(f) T1|acq(m) T1|rel(m) T2|acq(m)"), "");
  // It takes: an untraced lock.
  EXPECT_EQ(check("T1|enter(lock;m) T1|leave(lock) T1|w(x) T1|rel(m) T2|acq(m)"), "");
  EXPECT_EQ(check("T1|acq(m) T1|enter(lock;m) T1|leave(lock) T1|rel(m) T1|rel(m) T2|acq(m)"), "");
  EXPECT_EQ(check("T1|enter(f;m) T1|rel(m) T1|leave(f)"), "");
  EXPECT_EQ(
      check("T1|enter(lock;m) T1|leave(lock) T2|acq(m) T1|rel(m)"),
      "t.std:4: expected lock 'm' to be held by thread 'T1', found it held by thread 'T2' since line 3");
  EXPECT_EQ(check("T1|enter(lock;m) T1|leave(lock) T2|acq(m) T2|rel(m) T1|rel(m)"),
            "t.std:5: expected lock 'm' to be held by thread 'T1', found it free");
  EXPECT_EQ(check("T1|enter(lock;m) T2|acq(m) T2|rel(m) T1|leave(lock) T1|rel(m)"), "") << "taken after that";
  EXPECT_EQ(check("T2|enter(f;m) T2|leave(f) T1|rel(m)"),
            "t.std:3: expected lock 'm' to be held by thread 'T1', found it free");
  EXPECT_EQ(check("T2|acq(m) T1|enter(lock;m) T2|enter(unlock;m) T1|leave(lock) T1|rel(m)"), "");
  EXPECT_NE(check("T2|acq(m) T1|enter(lock;m) T1|leave(lock) T1|rel(m)"), "");
}

TEST(Checker, EndsAndJoinsEndCalls) {
  EXPECT_EQ(check("T1|enter(f;x) T0|join(T1) T0|r(x)=7 T0|w(x)=5 T0|r(x)=5"), "");
  EXPECT_NE(check("T1|enter(f;x) T0|join(T1) T0|w(x)=5 T0|r(x)=7"), "");
  EXPECT_EQ(check("T1|enter(f;x) T1|end T0|r(x)=7 T0|w(x)=5 T0|r(x)=5"), "");
  EXPECT_NE(check("T1|enter(f;x) T1|end T0|w(x)=5 T0|r(x)=7"), "");
}

TEST(Checker, ThreadsLiveOnceAndInOrder) {
  EXPECT_EQ(check("T0|begin T0|fork(T1) T1|begin T1|end T0|join(T1) T0|end"), "");
  EXPECT_EQ(check("T1|r(x) T0|fork(T1)"),
            "t.std:2: expected thread 'T1' to be new, found it running since line 1");
  EXPECT_EQ(check("T0|fork(T1) T0|fork(T1)"),
            "t.std:2: expected thread 'T1' to be new, found it forked since line 1");
  EXPECT_EQ(check("T0|fork(T1) T0|join(T1) T0|fork(T1)"),
            "t.std:3: expected thread 'T1' to be new, found it joined at line 2");
  EXPECT_EQ(check("T0|fork(T1) T1|end T0|fork(T1)"),
            "t.std:3: expected thread 'T1' to be new, found it ended at line 2");
  EXPECT_EQ(check("T0|fork(T0)"), "t.std:1: expected another thread in fork, found the thread itself");
  EXPECT_EQ(check("T0|join(T0)"), "t.std:1: expected another thread in join, found the thread itself");
  EXPECT_EQ(check("T0|r(x) T0|begin"),
            "t.std:2: expected begin as the first event of thread 'T0', found an earlier one at line 1");
  EXPECT_EQ(check("T0|end T0|r(x)"),
            "t.std:2: expected no event of thread 'T0' after its end at line 1, found one");
  EXPECT_EQ(check("T0|join(T1) T1|r(x)"),
            "t.std:2: expected no event of thread 'T1' after it was joined at line 1, found one");
  EXPECT_EQ(check("T1|end T0|join(T1) T2|join(T1)"), "") << "two threads may wait for the same one";
}

TEST(Checker, ReadsSeeTheLastValueWritten) {
  EXPECT_EQ(check("T0|r(x)=0 T0|w(x)=5 T1|r(x)=5 T1|w(x) T0|r(x)=7"), "");
  EXPECT_EQ(check("T0|r(x)=1"), "t.std:1: expected a read of 'x' to see 0, as nothing was written, found 1");
  EXPECT_EQ(check("T0|w(x)=5 T1|r(x)=-6"),
            "t.std:2: expected a read of 'x' to see 5, the last value written, found -6");
}

TEST(Checker, AReadThatSaysItsValueFixesWhatAWriteLeft) {
  EXPECT_EQ(check("T0|w(x) T0|r(x)=7 T0|r(x)=8"),
            "t.std:3: expected a read of 'x' to see 7, as the read at line 2 did, found 8");
  EXPECT_EQ(check("T0|w(x) T0|r(x)=7 T1|r(x) T1|r(x)=7 T1|w(x) T0|r(x)=8 T0|r(x)=8 T0|w(x)=1 T1|r(x)=1"), "");
  // What untraced code left is known as well, once somebody has read it after the call.
  EXPECT_EQ(check("T0|w(x)=1 T0|enter(f;x) T0|leave(f) T0|r(x)=7 T0|r(x)=8"),
            "t.std:5: expected a read of 'x' to see 7, as the read at line 4 did, found 8");
  EXPECT_EQ(check("T0|w(x)=1 T0|enter(f;x) T0|leave(f) T0|r(x)=1 T0|r(x)=8"),
            "t.std:5: expected a read of 'x' to see 1, as the read at line 4 did, found 8");
  EXPECT_EQ(check("T0|w(x) T0|r(x)=7 T0|enter(f;x) T1|r(x)=8 T1|r(x)=9 T0|leave(f) T1|r(x)=10"), "");
}

TEST(Checker, UntracedCodeMayWriteWhatItReaches) {
  EXPECT_EQ(check("T0|w(x)=5 T0|enter(f;x) T1|r(x)=6 T0|leave(f) T1|r(x)=7"), "");
  EXPECT_EQ(check("T0|w(x)=5 T0|enter(f;y) T0|leave(f) T1|r(x)=7").substr(0, 16), "t.std:4: expecte");
  EXPECT_EQ(check("T0|enter(f;x) T0|leave(f) T0|w(x)=5 T1|r(x)=7").substr(0, 16), "t.std:4: expecte");
}

TEST(Checker, CallsAreLeftInReverseOrder) {
  EXPECT_EQ(check("T0|enter(f;x) T0|enter(f;x) T0|enter(g) T0|leave(g) T0|leave(f) T0|leave(f)"), "");
  EXPECT_EQ(check("T0|leave(f)"), "t.std:1: expected enter before leave(f), found no open call");
  EXPECT_EQ(check("T0|enter(f) T0|enter(g) T0|leave(f)"),
            "t.std:3: expected leave(g) for the innermost call, found leave(f)");
  EXPECT_EQ(check("T0|enter(f) T1|leave(f)"), "t.std:2: expected enter before leave(f), found no open call");
}

TEST(Checker, EndlessRecursionIsRefused) {
  Names names;
  names.threads.intern("T0");
  names.functions.intern("f");
  names.reachable.intern({});
  TraceChecker checker(names);
  Event event;
  event.kind = EventKind::kEnter;
  for (std::uint64_t i = 0; i < TraceChecker::kMaxOpenCalls; ++i) {
    ASSERT_EQ(checker.on_event(EventIndex(i), event), std::nullopt);
  }
  EXPECT_EQ(*checker.on_event(EventIndex(TraceChecker::kMaxOpenCalls), event),
            "expected at most 1000000 open calls of thread 'T0', found one more");
}

TEST(Checker, WithoutLinesTheEventIsNumbered) {
  Trace trace = testing::build_trace("T0|acq(l) T1|acq(l)");
  for (Event& event : trace.events) event.line = 0;
  std::unique_ptr<TraceSource> source = checked(source_of(trace), "t.dht");
  EXPECT_EQ(read_all(*source).error().message,
            "t.dht: event 1: expected lock 'l' to be free, found it held by thread 'T0' since event 0");
}

TEST(Checker, EverythingGeneratedIsATrace) {
  std::mt19937_64 random(51);
  for (int i = 0; i < 5000; ++i) {
    testing::RandomShape shape = testing::random_shape(random);
    shape.values = i % 3;
    shape.branches = i % 2;
    shape.barrier_pairs = i % 5 == 0;
    const Trace trace = testing::random_trace(shape, random);
    std::unique_ptr<TraceSource> source = checked(source_of(trace), "t");
    Result<Trace> read = read_all(*source);
    ASSERT_TRUE(read.ok()) << read.error().message << "\n" << testing::to_text(trace);
  }
}

}  // namespace
}  // namespace deadheat
