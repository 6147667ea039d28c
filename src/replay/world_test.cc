#include "replay/world.h"

#include "replay/memory_image.h"
#include "replay/sites.h"
#include "replay/world_testing.h"

namespace deadheat::replay {
namespace {

constexpr char kIncrement[] = R"(
define void @increment(ptr %p) {
  %v = load i32, ptr %p, align 4
  %w = add i32 %v, 1
  %q = getelementptr i8, ptr %p, i64 4
  store i32 %w, ptr %q, align 4
  ret void
}
)";

TEST_F(WorldTest, LoadsComeFromTheLogAndStoresAreVerified) {
  program(kIncrement);
  call(0, 0, {0x1000});
  thread(0).value(0, 41, 4);
  sequencer(0, 0, mix({{0x1004, 42}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 1);
}

TEST_F(WorldTest, OtherStoresAreADivergence) {
  program(kIncrement);
  call(0, 0, {0x1000});
  thread(0).value(0, 41, 4);
  sequencer(0, 0, mix({{0x1004, 43}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_divergence(replay(), "stores differ");
}

TEST_F(WorldTest, KnownValuesAreNotLoggedAgain) {
  program(kIncrement);
  call(0, 0, {0x1000});
  thread(0).value(0, 41, 4);
  call(0, 0, {0x1000});
  call(0, 0, {0x1004}, 1);  // 0x1000 was predicted
  sequencer(0, 1, mix({{0x1004, 42}, {0x1004, 42}, {0x1008, 43}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 1);
}

TEST_F(WorldTest, AValueOfAnotherSizeIsADivergence) {
  program(kIncrement);
  call(0, 0, {0x1000});
  thread(0).value(0, 41, 8);
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_divergence(replay(), "a value of 4 bytes at 0x1000, the log has a value of 8 bytes");
}

// Since version 3 the log has as few bytes of a value as hold it.
TEST_F(WorldTest, ANarrowValueIsAllOfWhatWasRead) {
  program(R"(
define void @wide(ptr %p) {
  %v = load i64, ptr %p, align 8
  %q = getelementptr i8, ptr %p, i64 8
  store i64 %v, ptr %q, align 8
  ret void
}
define void @half(ptr %p) {
  %v = load i32, ptr %p, align 4
  %q = getelementptr i8, ptr %p, i64 8
  store i32 %v, ptr %q, align 4
  ret void
})");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> stores;
  const std::uint64_t values[] = {~std::uint64_t{0}, 0x12, 0x1234, 0x12345678, 0, 0x123456789a};
  const std::uint32_t bytes[] = {8, 1, 2, 4, 1, 8};
  for (std::size_t i = 0; i < std::size(values); ++i) {
    call(0, 0, {0x1000});
    thread(0).value(0, values[i], bytes[i]);
    call(0, 0, {0x1000});  // all 8 bytes are known now
    for (int times = 0; times < 2; ++times) stores.emplace_back(0x1008, values[i]);
    sequencer(0, 1, mix(stores));
  }
  // A narrow value of four bytes says nothing of their neighbours.
  call(0, 1, {0x1000});
  thread(0).value(0, 7, 1);
  call(0, 0, {0x1000});
  stores.emplace_back(0x1008, 7);
  stores.emplace_back(0x1008, std::uint64_t{0x12} << 32 | 7);
  sequencer(0, 1, mix(stores));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  for (const Variant variant : {Variant::kBare, Variant::kObserved}) expect_verified(replay(variant), 7);
}

TEST_F(WorldTest, WhatOthersLeftAtThePlaceIsPredicted) {
  program(R"(
define void @f(ptr %p) {
  store i8 7, ptr %p
  %v = load i64, ptr %p, align 8
  store i64 %v, ptr %p, align 8
  ret void
}
define void @g(ptr %p) {
  store i64 -1, ptr %p, align 8
  ret void
})");
  constexpr std::uint64_t kSamePlace = 0x2000 + kDhImageBytes;
  call(0, 1, {kSamePlace});
  call(0, 0, {0x2000});
  sequencer(0, 1, mix({{kSamePlace, ~std::uint64_t{0}}, {0x2000, 7}, {0x2000, 0xffffffffffffff07}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 1);
}

TEST_F(WorldTest, UnalignedAccessesAreOneValue) {
  program(R"(
define void @f(ptr %p) {
  %v = load i64, ptr %p, align 1
  store i64 %v, ptr %p, align 1
  ret void
})");
  call(0, 0, {0x2006});
  thread(0).value(0, 0x8877665544332211, 8);
  sequencer(0, 0, mix({{0x2006, 0x8877665544332211}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 1);
}

// Vectors are one access of the image where they can be, and words where they cannot.
constexpr char kVectors[] = R"(
define void @move(ptr %to, ptr %from) {
  %v = load <2 x i64>, ptr %from, align 8
  %w = add <2 x i64> %v, <i64 1, i64 2>
  store <2 x i64> %w, ptr %to, align 8
  ret void
}
define void @shift(ptr %to, ptr %from) {
  %v = load <8 x i32>, ptr %from, align 4
  store <8 x i32> %v, ptr %to, align 4
  ret void
})";

TEST_F(WorldTest, WordsOfAVectorAreLoggedOneByOneAndKnownTogether) {
  program(kVectors);
  call(0, 0, {0x1010, 0x1000});
  thread(0).value(0, 10, 8);
  thread(0).value(0, 20, 8);
  call(0, 0, {0x1020, 0x1010});
  call(0, 0, {0x1040, 0x1020}, 2);
  thread(0).value(1, 99, 8);  // of the two words at 0x1020, another thread has changed one
  sequencer(0, 0, mix({{0x1010, 11}, {0x1018, 22}, {0x1020, 12}, {0x1028, 24}, {0x1040, 13}, {0x1048, 101}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 1);
  EXPECT_EQ(replay()->threads[0].stores, 6u);
  EXPECT_EQ(replay()->threads[0].values, 6u);
}

TEST_F(WorldTest, AVectorMayLieAcrossTheEndOfThePredictor) {
  program(kVectors);
  constexpr std::uint64_t kEnd = kDhImageBytes;
  call(0, 0, {kEnd - 8, 0x1000});
  thread(0).value(0, 10, 8);
  thread(0).value(0, 20, 8);
  call(0, 0, {0x2000, kEnd - 8});
  sequencer(0, 2, mix({{kEnd - 8, 11}, {kEnd, 22}, {0x2000, 12}, {0x2008, 24}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 1);
}

TEST_F(WorldTest, AnUnalignedVectorHasOneValueAWord) {
  program(kVectors);
  call(0, 1, {0x1104, 0x1004});
  std::vector<std::pair<std::uint64_t, std::uint64_t>> stores;
  for (std::uint64_t i = 0; i < 4; ++i) thread(0).value(0, (0x20 + i) << 32 | (0x10 + i), 8);
  const auto add = [&](std::uint64_t to) {
    for (std::uint64_t i = 0; i < 4; ++i) stores.emplace_back(to + 8 * i, (0x20 + i) << 32 | (0x10 + i));
  };
  add(0x1104);
  call(0, 1, {0x1200, 0x1104});  // aligned where it is stored
  add(0x1200);
  call(0, 1, {0x1300, 0x1200}, 4);
  add(0x1300);
  sequencer(0, 4, mix(stores));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 1);
}

constexpr char kInvisible[] = R"(
@counter = global i32 0
declare i32 @outside(ptr)
declare void @quiet()
define i32 @f() {
  %local = alloca i32, align 4
  store i32 5, ptr %local, align 4
  %r = call i32 @outside(ptr %local)
  call void @quiet()
  %v = load i32, ptr %local, align 4
  %s = add i32 %r, %v
  store i32 %s, ptr @counter, align 4
  ret i32 %s
})";

TEST_F(WorldTest, ResultsOfInvisibleCallsAndAddressesOfLocalsAreLogged) {
  program(kInvisible);
  call(0, 0);
  thread(0).value(0, 0x7fff0010, 8);  // the local
  thread(0).value(0, 100, 8);         // the result
  thread(0).value(1, 6, 4);           // behind `nothing`: the local, changed by outside()
  sequencer(0, 0, mix({{0x7fff0010, 5}, {kGlobals, 106}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 1);
}

TEST_F(WorldTest, CallsBackAreMadeInsideTheCall) {
  program(std::string(kInvisible) + R"(
define void @back(ptr %p, i32 %v) {
  store i32 %v, ptr %p, align 4
  ret void
})");
  call(0, 0);
  thread(0).value(0, 0x7fff0010, 8);
  call(0, 1, {0x7fff0010, 9});
  sequencer(0, 0, mix({{0x7fff0010, 5}, {0x7fff0010, 9}}));
  thread(0).value(0, 100, 8);
  sequencer(0, 2, mix({{0x7fff0010, 5}, {0x7fff0010, 9}, {kGlobals, 109}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 2);
}

// What an analysis is told of locals and of invisible calls.
class Lives final : public Observer {
 public:
  bool wants_calls() const override { return true; }
  void on_local(ThreadId, SiteId, Address address, std::uint64_t size) override {
    add("born %lx+%lu", address.value(), size);
  }
  void on_local_end(ThreadId, SiteId, Address address, std::uint64_t size) override {
    add("gone %lx+%lu", address.value(), size);
  }
  void on_invisible_arguments(ThreadId, SiteId, std::span<const CallWord> words) override {
    add("call with %zu", words.size());
    for (const CallWord& word : words) add(word.is_pointer ? "pointer %lx" : "word %lx", word.word);
  }
  void on_invisible_end(ThreadId) override { add("call ends"); }

  std::vector<std::string> seen;

 private:
  template <class... Values>
  void add(const char* format, Values... values) {
    char text[100];
    std::snprintf(text, sizeof text, format, values...);
    seen.emplace_back(text);
  }
};

TEST_F(WorldTest, LocalsAreBornAndGoAndCallsHaveArguments) {
  program(kInvisible);
  call(0, 0);
  thread(0).value(0, 0x7fff0010, 8);
  thread(0).value(0, 100, 8);
  thread(0).value(1, 6, 4);
  thread(0).end(0, EndKind::kProcessEnded, 0);
  Lives lives;
  expect_verified(replay(Variant::kObserved, {&lives}), 0);
  EXPECT_THAT(lives.seen, ElementsAre("born 7fff0010+4", "call with 1", "pointer 7fff0010", "call ends",
                                      "call with 0", "call ends", "gone 7fff0010+4"));
}

TEST_F(WorldTest, ALocalEndsWithItsScopeAndAnArrayWhereTheStackIsCutBack) {
  program(R"(
declare void @outside(ptr)
declare void @llvm.lifetime.start.p0(i64, ptr)
declare void @llvm.lifetime.end.p0(i64, ptr)
declare ptr @llvm.stacksave.p0()
declare void @llvm.stackrestore.p0(ptr)
define void @f(i64 %n) {
  %scoped = alloca [3 x i32], align 4
  call void @llvm.lifetime.start.p0(i64 12, ptr %scoped)
  call void @outside(ptr %scoped)
  call void @llvm.lifetime.end.p0(i64 12, ptr %scoped)
  %saved = call ptr @llvm.stacksave.p0()
  %array = alloca i64, i64 %n, align 16
  call void @outside(ptr %array)
  call void @llvm.stackrestore.p0(ptr %saved)
  call void @outside(ptr null)
  ret void
})");
  call(0, 0, {5});
  thread(0).value(0, 0x7fff0010, 8);
  thread(0).value(1, 0x7ffe0000, 8);
  thread(0).end(2, EndKind::kProcessEnded, 0);
  Lives lives;
  expect_verified(replay(Variant::kObserved, {&lives}), 0);
  EXPECT_THAT(lives.seen,
              ElementsAre("born 7fff0010+12", "call with 1", "pointer 7fff0010", "call ends",
                          "gone 7fff0010+12", "born 7ffe0000+40", "call with 1", "pointer 7ffe0000",
                          "call ends", "gone 7ffe0000+40", "call with 1", "pointer 0", "call ends"));
}

constexpr char kExceptions[] = R"(
@sink = global i64 0
declare void @thrower()
declare i32 @personality(...)
define void @middle() {
  call void @thrower()
  store i64 99, ptr @sink, align 8
  ret void
}
define void @f() personality ptr @personality {
  invoke void @middle() to label %fine unwind label %pad
fine:
  store i64 1, ptr @sink, align 8
  ret void
pad:
  %e = landingpad { ptr, i32 } catch ptr null
  %s = extractvalue { ptr, i32 } %e, 1
  %w = zext i32 %s to i64
  store i64 %w, ptr @sink, align 8
  ret void
})";

TEST_F(WorldTest, ExceptionsPassFramesAndLandWhereTheyLanded) {
  program(kExceptions);
  call(0, 1);
  thread(0).landed(0, 1);
  thread(0).value(0, 0x8000, 8);
  thread(0).value(0, 3, 8);
  sequencer(0, 0, mix({{kGlobals, 3}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 1);
}

TEST_F(WorldTest, AnExceptionThatLeavesACallBackGoesOnOutside) {
  program(std::string(kExceptions) + R"(
define void @g() personality ptr @personality {
  invoke void @thrower() to label %fine unwind label %pad
fine:
  store i64 1, ptr @sink, align 8
  ret void
pad:
  %e = landingpad { ptr, i32 } cleanup
  store i64 2, ptr @sink, align 8
  resume { ptr, i32 } %e
})");
  call(0, 2);              // g calls thrower, which is invisible,
  call(0, 0);              // and calls middle back, which calls thrower, which throws:
  thread(0).unwound(0);    // out of middle,
  thread(0).landed(0, 1);  // to g's cleanup,
  thread(0).value(0, 0x8000, 8);
  thread(0).value(0, 0, 8);
  thread(0).unwound(0);  // and out of g
  sequencer(0, 0, mix({{kGlobals, 2}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 1);
}

TEST_F(WorldTest, JumpsReturnToTheirSetjmp) {
  program(R"(
@sink = global i32 0
@environment = global [25 x i64] zeroinitializer
declare i32 @_setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32) noreturn
define void @deep() {
  call void @longjmp(ptr @environment, i32 5)
  unreachable
}
define void @f() {
  %r = call i32 @_setjmp(ptr @environment) returns_twice
  store i32 %r, ptr @sink, align 4
  %again = icmp eq i32 %r, 0
  br i1 %again, label %go, label %done
go:
  call void @deep()
  ret void
done:
  ret void
})");
  call(0, 1);
  thread(0).value(0, 0, 8);
  thread(0).jumped(0, Address(kGlobals + 16));
  thread(0).value(0, 5, 8);
  sequencer(0, 0, mix({{kGlobals, 0}, {kGlobals, 5}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 1);
}

TEST_F(WorldTest, AnInvisibleCallThatIsLeftByAnExceptionEnds) {
  program(kExceptions);
  call(0, 1);
  thread(0).landed(0, 1);
  thread(0).value(0, 0x8000, 8);
  thread(0).value(0, 3, 8);
  thread(0).end(0, EndKind::kProcessEnded, 0);
  Lives lives;
  expect_verified(replay(Variant::kObserved, {&lives}), 0);
  EXPECT_THAT(lives.seen, ElementsAre("call with 0", "call ends"));
}

TEST_F(WorldTest, AtomicsTakeTheirSequencersAndCompareAsTheyDid) {
  program(R"(
define void @f(ptr %p) {
  %pair = cmpxchg ptr %p, i32 1, i32 2 seq_cst seq_cst
  %done = extractvalue { i32, i1 } %pair, 1
  %w = zext i1 %done to i32
  %q = getelementptr i8, ptr %p, i64 8
  store i32 %w, ptr %q, align 4
  %old = atomicrmw max ptr %p, i32 3 seq_cst
  ret void
})");
  call(0, 0, {0x3000});
  const auto compare_exchange = static_cast<SequencerKind>(32 + kDhAtomicCompareExchange);
  sequencer(0, 0, 0, compare_exchange, 5 | 4 << 4 | 1 << 9);
  thread(0).value(0, 1, 4);
  const auto stores = std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0x3000, 2}, {0x3008, 1}};
  sequencer(0, 0, mix(stores), static_cast<SequencerKind>(32 + kDhAtomicMax), 5 | 4 << 4);
  thread(0).value(0, 0xfffffff0, 4);  // -16, changed by another thread meanwhile
  sequencer(0, 0, mix({{0x3000, 2}, {0x3008, 1}, {0x3000, 3}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 3);
}

TEST_F(WorldTest, CopiesMoveWordByWord) {
  program(R"(
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
define void @f(ptr %to, ptr %from, i64 %n) {
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
})");
  // Backwards, because they overlap: the tail of 3 bytes first.
  call(0, 0, {0x4004, 0x4000, 11});
  thread(0).value(0, 0xccbbaa, 4);            // 0x4008 to 0x400a
  thread(0).value(0, 0x8877665544332211, 8);  // 0x4000
  sequencer(0, 0, mix({{0x400c, 0xccbbaa}, {0x4004, 0x8877665544332211}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 1);
}

class Collector : public Observer {
 public:
  void on_access(const Access& access) override { events.push_back(WorldTestText(access)); }
  void on_sequencer(ThreadId thread, SiteId, const recording::Sequencer& sequencer) override {
    events.push_back("#" + std::to_string(sequencer.number.value()) + " T" + std::to_string(thread.value()));
  }
  static std::string WorldTestText(const Access& access) {
    char text[100];
    std::snprintf(text, sizeof text, "T%u %c %lx %lu", access.thread.value(), access.is_write ? 'w' : 'r',
                  access.address.value(), access.value);
    return text;
  }
  std::vector<std::string> events;
};

TEST_F(WorldTest, ObserversSeeSequencersInTheirOrder) {
  program(kIncrement);
  sequencer(0, 0, 0, SequencerKind::kThreadCreated, 1);
  sequencer(1, 0, 0, SequencerKind::kThreadStarted, 0);
  call(1, 0, {0x1000});
  thread(1).value(0, 1, 4);
  sequencer(1, 0, mix({{0x1004, 2}}));
  sequencer(0, 0, 0);
  call(0, 0, {0x1004});
  thread(0).value(0, 2, 4);
  sequencer(1, 0, mix({{0x1004, 2}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  thread(1).end(0, EndKind::kThreadEnded, 0);
  Collector collector;
  MemoryImage image;
  expect_verified(replay(Variant::kObserved, {&collector, &image}), 5);
  EXPECT_THAT(collector.events, ElementsAre("#0 T0", "#1 T1", "T1 r 1000 1", "T1 w 1004 2", "#2 T1", "#3 T0",
                                            "T0 r 1004 2", "T0 w 1008 3", "#4 T1"));
  EXPECT_EQ(image.read(Address(0x1004), 4), 2u);
  EXPECT_EQ(image.read(Address(0x1006), 8), std::nullopt);
  EXPECT_EQ(image.known_bytes(), 12u);
}

TEST_F(WorldTest, UntilStopsBeforeTheNextSequencer) {
  program(kIncrement);
  sequencer(0, 0, 0);
  call(0, 0, {0x1000});
  thread(0).value(0, 1, 4);
  sequencer(0, 0, mix({{0x1004, 2}}));
  call(0, 0, {0x2000});
  thread(0).value(0, 1, 4);
  thread(0).end(0, EndKind::kProcessEnded, 0);
  Collector collector;
  RunOptions options;
  options.until = recording::SequencerNumber(0);
  Result<Summary> summary = replay(Variant::kObserved, {&collector}, options);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->threads[0].outcome, Outcome::kStopped);
  EXPECT_THAT(collector.events, ElementsAre("#0 T0", "T0 r 1000 1", "T0 w 1004 2"));
}

TEST_F(WorldTest, ADivisionByZeroWhereTheRecordingEndsIsTheProgramsOwn) {
  program(R"(
define i32 @f(i32 %a, i32 %b) {
  %r = sdiv i32 %a, %b
  ret i32 %r
})");
  call(0, 0, {1, 0});
  thread(0).end(0, EndKind::kCutOff, 8);
  expect_verified(replay(), 0);
}

TEST_F(WorldTest, ADivisionByZeroElsewhereIsADivergence) {
  program(R"(
define i32 @f(i32 %a, i32 %b) {
  %r = sdiv i32 %a, %b
  ret i32 %r
})");
  call(0, 0, {1, 0});
  thread(0).value(0, 1, 4);
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_divergence(replay(), "signal 8");
}

TEST_F(WorldTest, AThreadThatWasKilledInALoopDoesNotStayInIt) {
  program(R"(
define void @f() {
  br label %loop
loop:
  call void asm sideeffect "", ""()
  br label %loop
})");
  call(0, 0);
  thread(0).end(0, EndKind::kCutOff, 9);
  expect_verified(replay(), 0);
}

TEST_F(WorldTest, AThreadThatWasKilledInALoopBehindPredictedValuesDoesNotStayInIt) {
  program(R"(
define void @f(ptr %p, i1 %c) {
  %a = load i64, ptr %p, align 8
  %b = load i64, ptr %p, align 8
  br label %loop
loop:
  call void asm sideeffect "", ""()
  br i1 %c, label %other, label %loop
other:
  store i64 1, ptr %p, align 8
  br label %loop
})");
  call(0, 0, {0x1000, 0});
  thread(0).value(0, 5, 8);
  thread(0).end(1, EndKind::kCutOff, 9);
  expect_verified(replay(), 0);
}

TEST_F(WorldTest, ATrapBehindPredictedValuesIsKnownToBeBehindThem) {
  program(R"(
define i64 @f(ptr %p) {
  %a = load i64, ptr %p, align 8
  %b = load i64, ptr %p, align 8
  %r = urem i64 %a, %b
  %v = insertelement <2 x i64> zeroinitializer, i64 %b, i64 0
  %w = udiv <2 x i64> %v, %v
  %s = extractelement <2 x i64> %w, i64 1
  ret i64 %s
})");
  for (const std::uint64_t divisor : {0, 3}) {  // traps at the first division, or at the vector's
    builder_ = {};
    call(0, 0, {0x1000});
    thread(0).value(0, divisor, 8);
    thread(0).end(1, EndKind::kCutOff, 8);
    expect_verified(replay(), 0);
  }
}

TEST_F(WorldTest, InstructionsAreCounted) {
  program(kIncrement);
  call(0, 0, {0x1000});
  thread(0).value(0, 41, 4);
  sequencer(0, 0, mix({{0x1004, 42}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  Result<Summary> summary = replay(Variant::kCounted);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->threads[0].instructions, 5u);
  EXPECT_EQ(replay()->threads[0].instructions, 0u);
}

TEST_F(WorldTest, ACallBackOfNoFunctionMeansThatAModuleIsMissing) {
  program(kIncrement);
  thread(0).callback(0, Address(0x999), {});
  thread(0).end(0, EndKind::kProcessEnded, 0);
  const Result<Summary> summary = replay();
  ASSERT_FALSE(summary.ok());
  EXPECT_NE(summary.error().message.find("/modules: expected the module of the function at 0x999"),
            std::string::npos)
      << summary.error().message;
}

TEST_F(WorldTest, CompiledCodeIsFoundAgain) {
  program(kIncrement);
  call(0, 0, {0x1000});
  thread(0).value(0, 41, 4);
  sequencer(0, 0, mix({{0x1004, 42}}));
  thread(0).end(0, EndKind::kProcessEnded, 0);
  expect_verified(replay(), 1);
  std::vector<std::string> objects;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch_.path()))
    if (entry.path().extension() == ".o") objects.push_back(entry.path());
  ASSERT_EQ(objects.size(), 1u);
  expect_verified(replay(), 1);
  // What is damaged is made anew.
  const std::string object = testing::read_file(objects[0]);
  testing::write_file(objects[0], "not an object");
  expect_verified(replay(), 1);
  EXPECT_EQ(testing::read_file(objects[0]).size(), object.size());
}

TEST_F(WorldTest, PlacesHaveNames) {
  program(kIncrement);
  call(0, 0, {0x1000});
  thread(0).value(0, 1, 4);
  thread(0).end(0, EndKind::kProcessEnded, 0);
  class Last : public Observer {
   public:
    void on_access(const Access& access) override { site = access.site; }
    SiteId site;
  } last;
  expect_verified(replay(Variant::kObserved, {&last}), 0);
  EXPECT_EQ(place_of(world_->program(), last.site).function, "increment");
}

}  // namespace
}  // namespace deadheat::replay
