// Each row of the analysis' table (figure 6 of the IFRit paper), each way in which certainty ends, and the
// examples and figures of the paper's sections 1 to 3, with the monitors they must have.
#include "instrument/monitor_testing.h"

namespace deadheat::instrument::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string function(const std::string& body, const std::string& attributes = "mustprogress") {
  return "define void @f(ptr %x, ptr %y, i1 %c, i64 %n) " + attributes + " {\nentry:\n" + body + "\n}\n";
}
std::string straight(const std::string& body) { return function(body + "\nret void"); }

const std::string kLock = "call i32 @pthread_mutex_lock(ptr @m1)\n";
const std::string kUnlock = "call i32 @pthread_mutex_unlock(ptr @m1)\n";

// --- Figure 6, row by row

TEST(Regions, ALoadIsReadForCertainBeforeIt) {
  EXPECT_THAT(Monitored(straight("%r = load i32, ptr %x")).events(), ElementsAre("weak x", "read x"));
}

TEST(Regions, AStoreIsWrittenForCertainBeforeIt) {
  EXPECT_THAT(Monitored(straight("store i32 1, ptr %x")).events(), ElementsAre("strong x", "write x"));
}

TEST(Regions, AReadBeforeAWriteIsMonitoredAsTheWrite) {
  EXPECT_THAT(Monitored(straight("%r = load i32, ptr %x\n store i32 1, ptr %x")).events(),
              ElementsAre("strong x", "read x", "write x"));
}

TEST(Regions, AnAcquireEndsWhatIsCertain) {
  EXPECT_THAT(Monitored(straight(kLock + "store i32 1, ptr %x")).events(),
              ElementsAre("lock", "strong x", "write x"));
}

TEST(Regions, AReleaseEndsNothing) {
  // Started before the first access of either, and kept: what comes after the release is certain before it.
  EXPECT_THAT(Monitored(straight("%r = load i32, ptr %y\n" + kUnlock + "store i32 1, ptr %x")).events(),
              ElementsAre("weak y", "strong x", "read y", "keep strong x", "unlock", "write x"));
}

TEST(Regions, AnUnknownCallEndsWhatIsCertain) {
  EXPECT_THAT(Monitored(straight("call void @unknown()\n store i32 1, ptr %x")).events(),
              ElementsAre("ask", "unknown", "strong x", "write x"));
}

TEST(Regions, OtherStatementsChangeNothing) {
  EXPECT_THAT(Monitored(straight("%a = add i64 %n, 1\n store i32 1, ptr %x")).events(),
              ElementsAre("strong x", "write x"));
}

// --- Beyond the figure: what ends certainty, and what does not

TEST(Regions, ACallThatOrdersNothingAndReturnsEndsNothing) {
  EXPECT_THAT(Monitored(straight("call void @quiet()\n store i32 1, ptr %x")).events(),
              ElementsAre("strong x", "quiet", "write x"));
}

TEST(Regions, ACallThatMayThrowEndsCertainty) {
  EXPECT_THAT(Monitored(straight("call void @throws()\n store i32 1, ptr %x")).events(),
              ElementsAre("throws", "strong x", "write x"));
}

TEST(Regions, AtomicsActByTheirOrder) {
  const auto around = [](const std::string& atomic) {
    return Monitored(straight(atomic + "\n store i32 1, ptr %x")).events();
  };
  EXPECT_THAT(around("%a = load atomic i32, ptr @flag monotonic, align 4"),
              ElementsAre("strong x", "atomic read flag", "write x"));
  EXPECT_THAT(around("%a = load atomic i32, ptr @flag acquire, align 4"),
              ElementsAre("atomic read flag", "strong x", "write x"));
  EXPECT_THAT(around("store atomic i32 1, ptr @flag monotonic, align 4"),
              ElementsAre("strong x", "atomic write flag", "write x"));
  EXPECT_THAT(around("store atomic i32 1, ptr @flag release, align 4"),
              ElementsAre("strong x", "keep strong x", "stop", "atomic write flag", "write x"));
  EXPECT_THAT(around("%a = atomicrmw add ptr @flag, i32 1 acq_rel"),
              ElementsAre("stop", "strong x", "write x"));
  EXPECT_THAT(around("fence acquire"), ElementsAre("strong x", "write x"));
}

TEST(Regions, AssemblyThatTouchesMemoryMayBeAnything) {
  EXPECT_THAT(Monitored(straight("store i32 1, ptr %y\n call void asm sideeffect \"\", \"~{memory}\"()\n"
                                 "store i32 1, ptr %x"))
                  .events(),
              ElementsAre("strong y", "write y", "stop", "asm", "strong x", "write x"));
}

TEST(Regions, BothBranchesMakeItCertainButNotWhichAccess) {
  // The location is certain at the entry; which access it will be is known in the branches only.
  const char* both = R"(
      br i1 %c, label %left, label %right
    left:
      store i32 1, ptr %x
      br label %end
    right:
      store i32 2, ptr %x
      br label %end
    end:
      ret void)";
  EXPECT_THAT(Monitored(function(both)).starts(), ElementsAre("strong x in left", "strong x in right"));
}

TEST(Regions, OneBranchMakesNothingCertain) {
  const char* one = R"(
      br i1 %c, label %left, label %end
    left:
      store i32 1, ptr %x
      br label %end
    end:
      ret void)";
  EXPECT_THAT(Monitored(function(one)).starts(), ElementsAre("strong x in left"));
}

TEST(Regions, AWriteOnOneOfTwoPathsIsAReadOnBoth) {
  const char* diamond = R"(
      %r = load i32, ptr %x
      br i1 %c, label %left, label %end
    left:
      store i32 1, ptr %x
      br label %end
    end:
      ret void)";
  EXPECT_THAT(Monitored(function(diamond)).starts(), ElementsAre("weak x in entry", "strong x in left"));
}

TEST(Regions, AnEarlyReturnEndsCertainty) {
  const char* early = R"(
      br i1 %c, label %out, label %on
    out:
      ret void
    on:
      store i32 1, ptr %x
      ret void)";
  EXPECT_THAT(Monitored(function(early)).starts(), ElementsAre("strong x in on"));
}

TEST(Regions, WhatComesAfterALoopIsCertainBeforeItIfTheLoopEnds) {
  const char* loop = R"(
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %next = add nuw nsw i64 %i, 1
      %more = icmp slt i64 %next, %n
      br i1 %more, label %loop, label %end
    end:
      store i32 1, ptr %x
      ret void)";
  EXPECT_THAT(Monitored(function(loop)).starts(), ElementsAre("strong x in entry"));
}

TEST(Regions, AfterALoopThatMayRunForEverNothingIsCertainBeforeIt) {
  // Waits for a relaxed flag: the language does not promise that it ends.
  const char* loop = R"(
      br label %loop
    loop:
      %v = load atomic i32, ptr @flag monotonic, align 4
      %more = icmp eq i32 %v, 0
      br i1 %more, label %loop, label %end
    end:
      store i32 1, ptr %x
      ret void)";
  EXPECT_THAT(Monitored(function(loop)).starts(), ElementsAre("strong x in end"));
  // The same of a loop without a count in a language that promises no progress.
  const char* search = R"(
      br label %loop
    loop:
      %p = phi ptr [ %y, %entry ], [ %q, %loop ]
      %q = load ptr, ptr %p
      %more = icmp ne ptr %q, null
      br i1 %more, label %loop, label %end
    end:
      store i32 1, ptr %x
      ret void)";
  EXPECT_THAT(Monitored(function(search, "")).starts(), ElementsAre("weak p in loop", "strong x in end"));
  EXPECT_THAT(Monitored(function(search), "-inline,-loops").starts(),
              ElementsAre("strong x in entry", "weak p in loop"));
}

TEST(Regions, ALoopWithoutAnEndIsNotCertainToTakeABranch) {
  const char* endless = R"(
      br label %loop
    loop:
      %v = load volatile i1, ptr %y
      br i1 %v, label %then, label %loop
    then:
      store i32 1, ptr %x
      br label %loop)";
  EXPECT_THAT(Monitored(function(endless), "-inline,-loops").starts(),
              ElementsAre("weak y in entry", "weak y in loop", "strong x in then"));
}

TEST(Regions, AnExceptionMayComeInstead) {
  const char* invoke = R"(
      invoke void @unknown() to label %on unwind label %pad
    on:
      store i32 1, ptr %x
      ret void
    pad:
      %e = landingpad { ptr, i32 } cleanup
      store i32 2, ptr %y
      resume { ptr, i32 } %e)";
  EXPECT_THAT(Monitored(function(invoke, "personality ptr @__gxx_personality_v0")).starts(),
              ElementsAre("strong x in on", "strong y in pad"));
}

TEST(Regions, PrivateMemoryIsNotMonitored) {
  EXPECT_THAT(Monitored(straight("%v = alloca i32\n store i32 1, ptr %v")).starts(), IsEmpty());
}

// --- Summaries of callees

TEST(Regions, ACalleesCertainAccessesAreTheCallers) {
  const std::string callee = R"(
    define internal void @set(ptr %p) nounwind willreturn mustprogress {
      %second = getelementptr i8, ptr %p, i64 4
      store i32 1, ptr %second
      %r = load i32, ptr @g
      ret void
    })";
  EXPECT_THAT(Monitored(callee + straight("call void @set(ptr %x)\n store i32 1, ptr %y")).events(),
              ElementsAre("strong y", "strong x+4", "weak g", "set", "write y"));
}

TEST(Regions, ACalleeThatReleasesEndsCertainty) {
  const std::string callee = R"(
    define internal void @give() nounwind willreturn mustprogress {
      store atomic i32 1, ptr @flag release, align 4
      ret void
    })";
  EXPECT_THAT(Monitored(callee + straight("call void @give()\n store i32 1, ptr %y")).events(),
              ElementsAre("give", "strong y", "write y"));
}

TEST(Regions, ACalleeThatAcquiresEndsCertainty) {
  const std::string callee = R"(
    define internal void @take() nounwind willreturn mustprogress {
      %a = load atomic i32, ptr @flag acquire, align 4
      ret void
    })";
  EXPECT_THAT(Monitored(callee + straight("call void @take()\n store i32 1, ptr %y")).events(),
              ElementsAre("take", "strong y", "write y"));
}

TEST(Regions, ACalleeMayBeHandedThePartsOfSomething) {
  const std::string callee =
      "define internal void @set(ptr %p) nounwind willreturn mustprogress {\n store i32 1, ptr %p\n ret "
      "void\n}\n";
  EXPECT_THAT(
      Monitored(callee + straight("%part = getelementptr i8, ptr %x, i64 8\n call void @set(ptr %part)"))
          .events(),
      ElementsAre("strong x+8", "set"));
}

TEST(Regions, WhatACalleeDoesToPrivateMemoryIsNotMonitoredByTheCaller) {
  const std::string callee = R"(
    define internal void @set(ptr nocapture %p) nounwind willreturn mustprogress {
      store i32 1, ptr %p
      ret void
    })";
  EXPECT_THAT(Monitored(callee + straight("%v = alloca i32\n call void @set(ptr %v)")).starts(), IsEmpty());
}

TEST(Regions, ACalleeThatMayWriteDoesNotHideAWriteThatIsCertain) {
  const std::string callee = R"(
    define internal void @perhaps(ptr %p, i1 %c) nounwind willreturn mustprogress {
      br i1 %c, label %left, label %right
    left:
      store i32 1, ptr %p
      br label %end
    right:
      %r = load volatile i32, ptr %p
      br label %end
    end:
      ret void
    })";
  EXPECT_THAT(
      Monitored(callee + straight("call void @perhaps(ptr %x, i1 %c)\n store i32 2, ptr %x")).events(),
      ElementsAre("strong x", "perhaps", "write x"));
}

TEST(Regions, ACalleeThatReleasesAndMayNotReturnEndsCertainty) {
  const std::string callee =
      "define internal void @drop() mustprogress {\n" + kUnlock + "call void @throws()\n ret void\n}\n";
  EXPECT_THAT(Monitored(callee + straight("call void @drop()\n store i32 1, ptr %x")).events(),
              ElementsAre("drop", "strong x", "write x"));
}

// With nothing known of which functions order anything, a callee is what its body is.
TEST(Regions, ACalleeThatMayRunForEverEndsCertaintyWhateverElseIsKnown) {
  const auto callee = [](const std::string& attributes) {
    return "define internal void @spin(ptr %p) nounwind " + attributes + R"( {
      br label %loop
    loop:
      %v = load volatile i32, ptr %p
      %more = icmp eq i32 %v, 0
      br i1 %more, label %loop, label %end
    end:
      ret void
    })";
  };
  const std::string caller = straight("call void @spin(ptr %y)\n store i32 1, ptr %x");
  for (const char* switches : {"-inline,-versions", "-inline,-versions,-syncfree"}) {
    const std::vector<std::string> events = Monitored(callee("") + caller, switches).events();
    EXPECT_GT(std::find(events.begin(), events.end(), "strong x"),
              std::find(events.begin(), events.end(), "spin"))
        << switches;
    const std::vector<std::string> ends = Monitored(callee("willreturn") + caller, switches).events();
    EXPECT_LT(std::find(ends.begin(), ends.end(), "strong x"), std::find(ends.begin(), ends.end(), "spin"))
        << switches;
  }
}

TEST(Regions, ALoopThatReleasesMayWaitForWhatComesOfIt) {
  const std::string body = R"(
      br label %loop
    loop:
      %u = call i32 @pthread_mutex_unlock(ptr @m1)
      %r = load i32, ptr %y
      %more = icmp ne i32 %r, 0
      br i1 %more, label %loop, label %end
    end:
      store i32 1, ptr %x
      ret void)";
  for (const std::string& start : Monitored(function(body)).starts())
    EXPECT_TRUE(!start.starts_with("strong x") || start == "strong x in end") << start;
}

TEST(Regions, AVariableIsAnotherOneAfterItsLifeBegan) {
  EXPECT_THAT(Monitored("declare void @llvm.lifetime.start.p0(i64, ptr)\n" + straight(R"(
      %v = alloca i32
      store ptr %v, ptr %x
      call void @unknown()
      call void @llvm.lifetime.start.p0(i64 4, ptr %v)
      store i32 1, ptr %v)"))
                  .events(),
              ElementsAre("strong x", "write x", "ask", "unknown", "write v"));
}

// --- The paper

TEST(Paper, Section1ALoopUnderALockIsOneMonitor) {
  const std::string body = kLock + R"(
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %v = trunc i64 %i to i32
      store i32 %v, ptr %x
      %next = add nuw nsw i64 %i, 1
      %more = icmp slt i64 %next, 1000
      br i1 %more, label %loop, label %end
    end:
      call i32 @pthread_mutex_unlock(ptr @m1)
      ret void)";
  EXPECT_THAT(Monitored(function(body), "-inline,-loops").starts(), ElementsAre("strong x in entry"));
}

TEST(Paper, Section1XIsMonitoredThroughALoopThatSynchronises) {
  // *x = ...; while (...) { *x = ...; lock; unlock; } *x = ...;  -- every point is in some region of a write
  // of x.
  const char* body = R"(
      store i32 1, ptr %x
      br label %head
    head:
      %more = load volatile i1, ptr %y
      br i1 %more, label %loop, label %end
    loop:
      store i32 2, ptr %x
      %a = call i32 @pthread_mutex_lock(ptr @m1)
      %b = call i32 @pthread_mutex_unlock(ptr @m1)
      br label %head
    end:
      store i32 3, ptr %x
      ret void)";
  // One start at the top; in the loop the monitor lives on after the lock, ends with the unlock, and is
  // started again for whichever write comes next: which one that is, is known in the branches. (y is what the
  // loop waits for.)
  EXPECT_THAT(Monitored(function(body)).starts(),
              ElementsAre("strong x in entry", "weak y in entry", "weak y in head", "strong x in loop",
                          "strong x in end"));
}

TEST(Paper, Section31ACriticalSectionIsMonitoredFromItsLockToItsUnlock) {
  EXPECT_THAT(Monitored(straight(kLock + "store i32 1, ptr %x\n" + kUnlock)).events(),
              ElementsAre("lock", "strong x", "write x", "unlock"));
}

TEST(Paper, Section34SeveralStartsAreOneLookAtTheGate) {
  Monitored f(straight(kLock + "%r = load i32, ptr %y\n store i32 %r, ptr %x\n" + kUnlock));
  EXPECT_THAT(f.starts(), ElementsAre("weak y in entry", "strong x in entry"));
  unsigned looks = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(*f.module().getFunction("f")))
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
      looks += load->getPointerOperand()->getName() == "__dh_monitor_gate";
  EXPECT_EQ(looks, 1u);
}

TEST(Paper, Figure1ReleasesBeforeAndAcquiresAfterDoNotMatter) {
  const std::string body = kLock + kUnlock + kUnlock + "%r = load i32, ptr %x\n" + kLock + kLock + kUnlock;
  EXPECT_THAT(Monitored(straight(body)).events(),
              ElementsAre("lock", "weak x", "keep weak x", "unlock", "keep weak x", "unlock", "read x",
                          "lock", "lock", "unlock"));
}

TEST(Paper, Figure4aTheRegionBeginsBehindTheBranch) {
  const std::string body = kLock + R"(
      br i1 %c, label %then, label %end
    then:
      store i32 1, ptr %x
      br label %end
    end:
      call i32 @pthread_mutex_unlock(ptr @m1)
      ret void)";
  EXPECT_THAT(Monitored(function(body)).starts(), ElementsAre("strong x in then"));
}

TEST(Paper, Figure4bSeveralReadsAreOneMonitor) {
  const std::string body = kLock + R"(
      %a = load i32, ptr %x
      br i1 %c, label %then, label %end
    then:
      %b = load volatile i32, ptr %x
      br label %end
    end:
      %d = load volatile i32, ptr %x
      ret void)";
  EXPECT_THAT(Monitored(function(body)).starts(), ElementsAre("weak x in entry"));
}

TEST(Paper, Figure5aTheMonitorLivesThroughTheUnlock) {
  const std::string body =
      kLock + "store i32 1, ptr %x\n" + kUnlock + "store i32 2, ptr %x\n" + kLock + kUnlock;
  EXPECT_THAT(Monitored(straight(body)).events(), ElementsAre("lock", "strong x", "write x", "keep strong x",
                                                              "unlock", "write x", "lock", "unlock"));
}

TEST(Paper, Figure5bTheMonitorIsDowngraded) {
  const std::string body =
      kLock + "store i32 1, ptr %x\n" + kUnlock + "%r = load i32, ptr %x\n" + kLock + kUnlock;
  EXPECT_THAT(Monitored(straight(body)).events(), ElementsAre("lock", "strong x", "write x", "keep weak x",
                                                              "unlock", "read x", "lock", "unlock"));
}

TEST(Paper, Section36AnAddressOfTheLoopIsAShortScopeMonitor) {
  const char* body = R"(
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %element = getelementptr inbounds i32, ptr %x, i64 %i
      %v = trunc i64 %i to i32
      store i32 %v, ptr %element
      %next = add nuw nsw i64 %i, 1
      %more = icmp slt i64 %next, 10
      br i1 %more, label %loop, label %end
    end:
      ret void)";
  EXPECT_THAT(Monitored(function(body), "-inline,-loops").starts(), ElementsAre("strong element in loop"));
  // Beyond the paper: the whole array is one monitor.
  EXPECT_THAT(Monitored(function(body)).starts(), ElementsAre("strong range x in entry"));
}

// A loop over `stride` bytes at a time, `offset` bytes into each, as often as @count says.
std::string loop_over(int stride, int offset, const std::string& more = "") {
  return "@count = external global i64\n" + function(R"(
      %total = load i64, ptr @count
      %none = icmp slt i64 %total, 1
      br i1 %none, label %end, label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %at = mul nsw i64 %i, )" + std::to_string(stride) +
                                                     R"(
      %field = getelementptr inbounds i8, ptr %x, i64 )" +
                                                     std::to_string(offset) + R"(
      %element = getelementptr inbounds i8, ptr %field, i64 %at
      store i32 1, ptr %element
)" + more + R"(
      %next = add nuw nsw i64 %i, 1
      %more = icmp slt i64 %next, %total
      br i1 %more, label %loop, label %end
    end:
      ret void)");
}

TEST(Placement, AMemberOfAnArrayOfStructsIsOneMonitorWithGaps) {
  Monitored f(loop_over(24, 8));
  const std::vector<std::string> starts = f.starts();
  ASSERT_EQ(std::count_if(starts.begin(), starts.end(),
                          [](const std::string& start) { return start.starts_with("strong"); }),
            1)
      << f.print();
  for (llvm::Instruction& instruction : llvm::instructions(*f.versions()[0])) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call || !call->getCalledFunction() ||
        call->getCalledFunction()->getName() != "__dh_monitor_start_strided")
      continue;
    const auto constant = [&](unsigned i) {
      const auto* value = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(i));
      return value ? value->getSExtValue() : -1;
    };
    EXPECT_EQ(constant(1), 4) << "bytes of one element, not of the struct";
    EXPECT_EQ(constant(2), 24);
    EXPECT_EQ(constant(3), -1) << "known only when it runs";
    EXPECT_NE(call->getParent()->getName(), "loop");
    return;
  }
  ADD_FAILURE() << f.print();
}

TEST(Placement, AStridedLoopThatReleasesHasNoMonitorOfAllOfIt) {
  Monitored f(loop_over(24, 8, "store atomic i32 1, ptr @flag release, align 4"));
  for (const std::string& start : f.starts()) EXPECT_EQ(start.find("strided"), std::string::npos) << start;
  EXPECT_THAT(f.starts(), ::testing::Contains("strong element in loop"));
}

}  // namespace
}  // namespace deadheat::instrument::testing
