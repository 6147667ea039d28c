// The two versions of a function: what each of them contains, and where one becomes the other. That the
// result is valid IR is checked by Monitored itself for every function here.
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include "instrument/monitor_testing.h"

namespace deadheat::instrument::testing {
namespace {

using ::testing::ElementsAre;

std::string function(const std::string& body) {
  return "define void @f(ptr %x, ptr %y, i1 %c, i64 %n) mustprogress {\nentry:\n" + body + "\n}\n";
}

Monitored versions_of(const std::string& text) { return Monitored(text, "-inline"); }

long count(const std::vector<std::string>& events, const std::string& what) {
  return std::count(events.begin(), events.end(), what);
}

unsigned blocks_named(Monitored& f, const std::string& prefix) {
  unsigned found = 0;
  for (llvm::Function* version : f.versions())
    for (const llvm::BasicBlock& block : *version) found += block.getName().starts_with(prefix);
  return found;
}

unsigned calls_of(Monitored& f, const std::string& callee) {
  unsigned found = 0;
  for (llvm::Function* version : f.versions())
    for (const llvm::Instruction& instruction : llvm::instructions(*version))
      if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction))
        found += call->getCalledFunction() && call->getCalledFunction()->getName() == callee;
  return found;
}

const char* const kTwoStretches = R"(
      store i32 1, ptr %x
      call void @unknown()
      store i32 2, ptr %x
      ret void)";

TEST(Versions, ThePlainOneStartsNothing) {
  Monitored f = versions_of(function(kTwoStretches));
  EXPECT_EQ(count(f.events(), "write x"), 4);
  EXPECT_EQ(count(f.events(), "strong x"), 2);
}

TEST(Versions, BothAskAboutWhatTheyCall) {
  Monitored f = versions_of(function(kTwoStretches));
  EXPECT_EQ(count(f.events(), "unknown"), 2);
  EXPECT_EQ(count(f.events(), "ask"), 2);
  EXPECT_EQ(calls_of(f, "__dh_monitor_returning"), 2u);
}

TEST(Versions, BothTellOfTheirReleases) {
  Monitored f = versions_of(function(R"(
      store i32 1, ptr %x
      store atomic i32 1, ptr @flag release, align 4
      store i32 2, ptr %y
      ret void)"));
  EXPECT_EQ(count(f.events(), "atomic write flag"), 2);
  EXPECT_EQ(count(f.events(), "stop"), 2);
}

TEST(Versions, BothAskWhoseALibraryFunctionIs) {
  Monitored f = versions_of("declare ptr @_Znwm(i64)\n" + function(R"(
      store i32 1, ptr %x
      %p = call ptr @_Znwm(i64 8)
      store i32 2, ptr %x
      ret void)"));
  EXPECT_EQ(count(f.events(), "_Znwm"), 2);
  EXPECT_EQ(count(f.events(), "ask whose"), 2);
}

TEST(Versions, BothSayThatSomethingIsAheadOfARelease) {
  Monitored f = versions_of(function(R"(
      %a = call i32 @pthread_mutex_lock(ptr @m1)
      store i32 1, ptr %x
      %b = call i32 @pthread_mutex_unlock(ptr @m1)
      store i32 2, ptr %x
      ret void)"));
  EXPECT_EQ(count(f.events(), "unlock"), 2);
  EXPECT_EQ(calls_of(f, "__dh_monitor_ahead"), 2u);
  EXPECT_EQ(calls_of(f, "__dh_monitor_kept"), 2u);
}

TEST(Versions, AnAtomicReleaseOfThePlainOneIsOneQuestion) {
  Monitored f = versions_of(function(R"(
      %a = call i32 @pthread_mutex_lock(ptr @m1)
      store i32 1, ptr %x
      store atomic i32 1, ptr @flag release, align 4
      store i32 2, ptr %x
      ret void)"));
  EXPECT_EQ(count(f.events(), "stop"), 2);
  EXPECT_EQ(calls_of(f, "__dh_monitor_release_ahead"), 1u) << "says that something is ahead as well";
  EXPECT_EQ(calls_of(f, "__dh_monitor_release"), 1u) << "where x is kept";
  EXPECT_EQ(calls_of(f, "__dh_monitor_ahead"), 1u);
  EXPECT_EQ(calls_of(f, "__dh_monitor_kept"), 1u);
}

TEST(Versions, OneLookIsNotWorthACopyIfSomethingIsCalled) {
  Monitored f = versions_of(function("store i32 1, ptr %x\n call void @unknown()\n ret void"));
  EXPECT_THAT(f.events(), ElementsAre("strong x", "write x", "ask", "unknown"));
}

TEST(Versions, WhoeverEnteredWithoutMonitorsAndCalledNothingLeavesWithoutAsking) {
  Monitored f = versions_of(function("store i32 1, ptr %x\n ret void"));
  EXPECT_EQ(count(f.events(), "write x"), 2);
  EXPECT_EQ(calls_of(f, "__dh_monitor_returning"), 1u);
}

// What is defined before the loop is used behind it, in whichever version the loop was left.
TEST(Versions, TheyChangeWhereALoopThatCallsGoesRound) {
  Monitored f = versions_of(function(R"(
      %before = load i64, ptr %y
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      store i64 %i, ptr %x
      call void @unknown()
      %next = add i64 %i, 1
      %more = icmp ult i64 %next, %before
      br i1 %more, label %loop, label %end
    end:
      store i64 %before, ptr %x
      ret void)"));
  EXPECT_EQ(blocks_named(f, "dh.change"), 2u);
  EXPECT_EQ(count(f.events(), "unknown"), 2);
  for (const llvm::Instruction& instruction : llvm::instructions(*f.module().getFunction("f")))
    EXPECT_FALSE(llvm::isa<llvm::AllocaInst>(instruction)) << f.print();  // promoted again
}

TEST(Versions, TheyChangeBehindACallThatMakesAThread) {
  Monitored f = versions_of(function(R"(
      %before = load i32, ptr %y
      %t = call i32 @pthread_create(ptr %y, ptr null, ptr null, ptr null)
      store i32 %before, ptr %x
      store i32 %t, ptr %y
      ret void)"));
  EXPECT_EQ(blocks_named(f, "dh.change"), 2u);
}

TEST(Versions, InMainTheyChangeBehindEveryCall) {
  Monitored f(R"(
    define i32 @main() {
      call void @unknown()
      store i32 1, ptr @g
      call void @unknown()
      store i32 2, ptr @g
      ret i32 0
    })",
              "-inline");
  unsigned changes = 0;
  for (const llvm::BasicBlock& block : *f.module().getFunction("main"))
    changes += block.getName().starts_with("dh.change");
  EXPECT_EQ(changes, 4u);
}

TEST(Versions, ResultsOfInvokesCrossAsWell) {
  versions_of(R"(
    declare ptr @make()
    define void @f(ptr %x, i64 %n) mustprogress personality ptr @__gxx_personality_v0 {
    entry:
      %c = icmp eq i64 %n, 0
      br i1 %c, label %other, label %first
    other:
      br label %head
    first:
      %made = invoke ptr @make() to label %head unwind label %failed
    head:
      %p = phi ptr [ %x, %other ], [ %made, %first ]
      %q = invoke ptr @make() to label %loop unwind label %failed
    loop:
      %i = phi i64 [ 0, %head ], [ %next, %loop ]
      store i64 %i, ptr %p
      call void @unknown()
      store i64 %i, ptr %q
      %next = add i64 %i, 1
      %more = icmp ult i64 %next, %n
      br i1 %more, label %loop, label %end
    end:
      store i64 1, ptr %q
      ret void
    failed:
      %what = landingpad { ptr, i32 } cleanup
      resume { ptr, i32 } %what
    })");
}

TEST(Versions, ANestThatOnlyComputesIsLeftToTheLoopAroundIt) {
  const char* nest = R"(
      br label %a
    a:
      %i = phi i64 [ 0, %entry ], [ %i2, %a.end ]
      br label %b
    b:
      %j = phi i64 [ 0, %a ], [ %j2, %b.end ]
      br label %c1
    c1:
      %k = phi i64 [ 0, %b ], [ %k2, %c1 ]
      %p = getelementptr i64, ptr %x, i64 %k
      %v = load volatile i64, ptr %p
      store volatile i64 %v, ptr %y
      %k2 = add nuw i64 %k, 1
      %k.more = icmp ult i64 %k2, %n
      br i1 %k.more, label %c1, label %b.end
    b.end:
      %j2 = add nuw i64 %j, 1
      %j.more = icmp ult i64 %j2, %n
      br i1 %j.more, label %b, label %a.end
    a.end:
      %i2 = add nuw i64 %i, 1
      %i.more = icmp ult i64 %i2, %n
      br i1 %i.more, label %a, label %end
    end:
      ret void)";
  Monitored f = versions_of(function(nest));
  EXPECT_EQ(blocks_named(f, "dh.change"), 2u) << f.print();  // of the outermost loop, one per version
}

TEST(Versions, WithoutALoopTheyAreTwoFunctionsAndThePlainOneHasTheName) {
  Monitored f = versions_of(R"(
    $f = comdat any
    @table = constant [1 x ptr] [ptr @f]
    define linkonce_odr i32 @f(ptr nonnull %x, i32 %v) comdat {
      store i32 %v, ptr %x
      call void @unknown()
      store i32 2, ptr %x
      %r = call i32 @f(ptr %x, i32 3)
      ret i32 %r
    })");
  ASSERT_EQ(f.versions().size(), 2u) << f.print();
  llvm::Function& plain = *f.versions()[0];
  llvm::Function& monitored = *f.versions()[1];
  EXPECT_TRUE(plain.hasLinkOnceODRLinkage());
  EXPECT_TRUE(monitored.hasLocalLinkage());
  EXPECT_EQ(monitored.getComdat(), plain.getComdat());
  EXPECT_EQ(f.module().getNamedGlobal("table")->getInitializer()->getOperand(0), &plain);
  EXPECT_EQ(calls_of(f, "f"), 2u);            // both go by the gate again
  EXPECT_EQ(calls_of(f, "f.monitored"), 1u);  // and nobody else there
  EXPECT_TRUE(plain.hasPrefixData() && monitored.hasPrefixData());
  for (llvm::Instruction& instruction : llvm::instructions(plain))
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        call && call->getCalledFunction() == &monitored) {
      EXPECT_TRUE(call->isMustTailCall());
      EXPECT_EQ(call->getParent()->getSinglePredecessor(), &plain.getEntryBlock());
    }
  EXPECT_EQ(count(f.events(), "strong x"), 2);
}

TEST(Versions, OnlyCodeWithoutUnwindTablesKeepsFramePointers) {
  for (const char* attributes : {"uwtable", ""}) {
    Monitored f = versions_of("define void @f(ptr %x) " + std::string(attributes) + R"( {
      store i32 1, ptr %x
      call void @unknown()
      store i32 2, ptr %x
      ret void
    })");
    ASSERT_EQ(f.versions().size(), 2u);
    for (const llvm::Function* version : f.versions())
      EXPECT_EQ(version->hasFnAttribute("frame-pointer"), *attributes == '\0') << version->getName().str();
  }
}

TEST(Versions, WhatIsPassedByValueOnTheStackCannotBeJumpedTo) {
  for (const char* arguments : {"ptr byval([64 x i8]) %x", "ptr %x, ..."}) {
    Monitored f = versions_of("define void @f(" + std::string(arguments) + R"() {
      store i32 1, ptr @g
      call void @unknown()
      store i32 2, ptr @g
      ret void
    })");
    EXPECT_EQ(f.versions().size(), 1u);
    EXPECT_EQ(count(f.events(), "write g"), 4);
  }
}

TEST(Versions, ALoopThatCallsItsOwnFunctionNeedsNoChange) {
  Monitored f = versions_of(function(R"(
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      store i64 %i, ptr %x
      call void @f(ptr %x, ptr %y, i1 %c, i64 %i)
      store i64 %i, ptr %y
      %next = add i64 %i, 1
      %more = icmp ult i64 %next, %n
      br i1 %more, label %loop, label %end
    end:
      ret void)"));
  EXPECT_EQ(blocks_named(f, "dh.change"), 0u);
  EXPECT_EQ(f.versions().size(), 2u);
}

TEST(Versions, VariablesAreTheSameInBoth) {
  Monitored f = versions_of(function(R"(
      %v = alloca i64
      %w = alloca i64
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      store ptr %v, ptr %x
      call void @unknown()
      store ptr %w, ptr %x
      call void @unknown()
      %next = add i64 %i, 1
      %more = icmp ult i64 %next, %n
      br i1 %more, label %loop, label %end
    end:
      ret void)"));
  unsigned variables = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(*f.module().getFunction("f"))) {
    variables += llvm::isa<llvm::AllocaInst>(instruction);
    if (llvm::isa<llvm::AllocaInst>(instruction)) {
      EXPECT_TRUE(instruction.getParent()->isEntryBlock());
    }
  }
  EXPECT_EQ(variables, 2u);
}

// Or the code generator computes it twice (monitor_pass.cc).
TEST(Versions, WhatALoopComputesHasAPhiBehindIt) {
  Monitored f = versions_of(function(R"(
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %p = getelementptr i64, ptr %x, i64 %i
      store i64 %i, ptr %p
      call void @unknown()
      %next = add i64 %i, 1
      %more = icmp ult i64 %next, %n
      br i1 %more, label %loop, label %end
    end:
      store ptr %p, ptr %y
      ret void)"));
  for (llvm::Function* version : f.versions()) {
    llvm::DominatorTree dominators(*version);
    llvm::LoopInfo loops(dominators);
    EXPECT_FALSE(loops.empty());
    for (llvm::Loop* loop : loops) EXPECT_TRUE(loop->isRecursivelyLCSSAForm(dominators, loops)) << f.print();
  }
}

TEST(Versions, WhatCannotBeCopiedIsNot) {
  Monitored f = versions_of(R"(
    define void @f(ptr %x, ptr %to) {
    entry:
      store i32 1, ptr %x
      call void @unknown()
      store i32 2, ptr %x
      indirectbr ptr %to, [label %a, label %b]
    a:
      ret void
    b:
      ret void
    })");
  EXPECT_EQ(count(f.events(), "unknown"), 1);
}

}  // namespace
}  // namespace deadheat::instrument::testing
