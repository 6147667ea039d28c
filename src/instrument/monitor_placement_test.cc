// What is started where, what is left out because it is active already, and what the runtime is told.
#include "instrument/monitor_testing.h"

namespace deadheat::instrument::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

std::string function(const std::string& body) {
  return "define void @f(ptr %x, ptr %y, i1 %c, i64 %n) mustprogress {\nentry:\n" + body + "\n}\n";
}
std::string straight(const std::string& body) { return function(body + "\nret void"); }

TEST(Placement, WhatIsActiveIsNotStartedAgain) {
  const char* body = R"(
      store i32 1, ptr %x
      br i1 %c, label %left, label %end
    left:
      store volatile i32 2, ptr %x
      br label %end
    end:
      store volatile i32 3, ptr %x
      ret void)";
  EXPECT_THAT(Monitored(function(body)).starts(), ElementsAre("strong x in entry"));
}

TEST(Placement, AnAcquireStopsNothing) {
  // Certain again after the lock, but active since before it.
  EXPECT_THAT(
      Monitored(
          straight("store i32 1, ptr %x\n %l = call i32 @pthread_mutex_lock(ptr @m1)\n store i32 2, ptr %x"))
          .events(),
      ElementsAre("strong x", "write x", "lock", "write x"));
}

TEST(Placement, WhatMayReleaseStopsEverything) {
  EXPECT_THAT(
      Monitored(straight("store i32 1, ptr %x\n call void @unknown()\n store i32 2, ptr %x")).events(),
      ElementsAre("strong x", "write x", "ask", "unknown", "strong x", "write x"));
}

TEST(Placement, AWeakMonitorBecomesStrongWhereAWriteIsCertain) {
  const char* body = R"(
      %r = load i32, ptr %x
      %l = call i32 @pthread_mutex_lock(ptr @m1)
      store i32 2, ptr %x
      ret void)";
  EXPECT_THAT(Monitored(function(body)).events(),
              ElementsAre("weak x", "read x", "lock", "strong x", "write x"));
}

TEST(Placement, AWideMonitorCoversANarrowOne) {
  EXPECT_THAT(Monitored(straight("store i64 1, ptr %x\n %l = call i32 @pthread_mutex_lock(ptr @m1)\n"
                                 "%h = getelementptr i8, ptr %x, i64 4\n %r = load i32, ptr %h"))
                  .events(),
              ElementsAre("strong x", "write x", "lock", "read h"));
}

TEST(Placement, OnlyOneSideOfAMergeIsNotEnough) {
  const char* body = R"(
      br i1 %c, label %left, label %end
    left:
      store i32 1, ptr %x
      br label %end
    end:
      store volatile i32 2, ptr %x
      ret void)";
  // In `left` for the first write; at the end for those who come from elsewhere. At the entry, which write is
  // the first is not known.
  EXPECT_THAT(Monitored(function(body)).starts(), ElementsAre("strong x in left", "strong x in end"));
}

TEST(Placement, StartsOfOneStretchStandTogether) {
  const Monitored f(straight(R"(
      %p = load ptr, ptr %x
      %q = load ptr, ptr %p
      store i32 1, ptr %q)"));
  EXPECT_THAT(f.events(), ElementsAre("read x", "read p", "weak x", "weak p", "strong q", "write q"));
}

TEST(Placement, AStretchEndsAtACall) {
  EXPECT_THAT(
      Monitored(straight("%p = load ptr, ptr %x\n call void @quiet()\n store i32 1, ptr %p")).events(),
      ElementsAre("read x", "weak x", "strong p", "quiet", "write p"));
}

TEST(Placement, AStretchEndsAtAnAtomicOperation) {
  // Both would start at the beginning; y is too wide to be kept, and starts again behind the release. The
  // start of x must not wait for it: behind the release the thread is no longer in its region.
  const Monitored f(straight(R"(
      store i32 1, ptr %x
      store atomic i32 1, ptr @flag release, align 4
      store <16 x i32> zeroinitializer, ptr %y)"));
  EXPECT_THAT(f.events(), ElementsAre("strong x", "strong range y", "write x", "stop", "atomic write flag",
                                      "strong range y", "write y"));
}

TEST(Placement, CreatingAThreadKeepsWhatIsAccessedBehindIt) {
  EXPECT_THAT(Monitored(straight("%t = call i32 @pthread_create(ptr %y, ptr null, ptr null, ptr null)\n"
                                 "store i32 1, ptr %x"))
                  .events(),
              ElementsAre("strong x", "keep strong x", "pthread_create", "write x"));
}

TEST(Placement, IndirectCallsAreAskedAbout) {
  EXPECT_THAT(Monitored(straight("call void %x()")).events(), ElementsAre("ask", "call"));
}

TEST(Placement, LibraryFunctionsThatReleaseNothingAreAskedWhoseTheyAre) {
  const std::string declared = "declare i32 @usleep(i32)\ndeclare i32 @flock(i32, i32)\n";
  EXPECT_THAT(Monitored(declared + straight("%r = call i32 @usleep(i32 1)")).events(),
              ElementsAre("ask whose", "usleep"));
  EXPECT_THAT(Monitored(declared + straight("%r = call i32 @flock(i32 1, i32 8)")).events(),
              ElementsAre("ask", "flock"));
}

TEST(Placement, AFunctionThatReleasesEndsItsCallersCertainty) {
  const std::string callee =
      "define internal void @lets_go() { %u = call i32 @pthread_mutex_unlock(ptr @m1)\n ret void }\n";
  // x is not monitored before the call: at the unlock in there, what was started would be taken for made.
  EXPECT_THAT(Monitored(callee + straight("call void @lets_go()\n store i32 1, ptr %x")).events(),
              ElementsAre("lets_go", "strong x", "write x"));
}

// The linker may keep the body that came with an object which is not instrumented.
TEST(Placement, InlineFunctionsThatReleaseAreAskedAbout) {
  const std::string inlined =
      "define linkonce_odr void @lets_go() { %u = call i32 @pthread_mutex_unlock(ptr @m1)\n ret void }\n"
      "define linkonce_odr void @does_nothing() { ret void }\n";
  EXPECT_THAT(Monitored(inlined + straight("call void @lets_go()\n store i32 1, ptr %x")).events(),
              ElementsAre("ask", "lets_go", "strong x", "write x"));
  EXPECT_THAT(Monitored(inlined + straight("call void @does_nothing()")).events(),
              ElementsAre("does_nothing"));
}

TEST(Placement, AReleaseWithSomethingCertainBehindItSaysSo) {
  const std::string unlock = "%u = call i32 @pthread_mutex_unlock(ptr @m1)\n";
  const auto says_so = [](const std::string& body) {
    return Monitored(straight(body)).print().find("call void @__dh_monitor_ahead") != std::string::npos;
  };
  EXPECT_FALSE(says_so("store i32 1, ptr %x\n" + unlock));
  EXPECT_TRUE(says_so(unlock + "store i32 1, ptr %x"));
}

TEST(Placement, AStartRightBeforeItsAccessIsPrompt) {
  const auto prompt = [](const std::string& body) {
    std::vector<bool> found;
    Monitored monitored(body);
    for (llvm::Instruction& instruction : llvm::instructions(*monitored.module().getFunction("f")))
      if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction))
        if (call->getCalledFunction() && call->getCalledFunction()->getName() == "__dh_monitor_start")
          found.push_back((llvm::cast<llvm::ConstantInt>(call->getArgOperand(1))->getZExtValue() &
                           kDhMonitorPrompt) != 0);
    return found;
  };
  EXPECT_THAT(prompt(straight("store i32 1, ptr %x")), ElementsAre(true));
  EXPECT_THAT(prompt(straight("call void @quiet()\n store i32 1, ptr %x")), ElementsAre(false));
  EXPECT_THAT(prompt(function(R"(
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %j, %loop ]
      %j = add i64 %i, 1
      %more = icmp ult i64 %j, %n
      br i1 %more, label %loop, label %end
    end:
      store i32 1, ptr %x
      ret void)")),
              ElementsAre(false));
}

TEST(Placement, WhoIsCalledInPlaceOfAnotherLooksWhereItReturns) {
  const std::string callee = "define internal void @last() { call void @unknown()\n ret void }\n";
  const auto returns = [](Monitored monitored) {
    return monitored.print().find("call void @__dh_monitor_returning") != std::string::npos;
  };
  EXPECT_FALSE(returns(Monitored(callee + "define internal void @f() { call void @last()\n ret void }\n"
                                          "define internal void @h() { call void @f()\n ret void }\n")));
  EXPECT_TRUE(
      returns(Monitored(callee + "define internal void @f() { musttail call void @last()\n ret void }\n")));
}

TEST(Placement, AnExcludedFunctionOfTheModuleThatReleasesIsToldOf) {
  const std::string hidden = R"(
    define internal void @hidden() "deadheat-excluded" {
      store atomic i32 1, ptr @flag release, align 4
      ret void
    })";
  EXPECT_THAT(Monitored(hidden + straight("store i32 1, ptr %x\n call void @hidden()")).events(),
              ElementsAre("strong x", "write x", "stop", "hidden"));
}

TEST(Placement, FunctionsThatStrangersMayCallLookWhereTheyReturn) {
  Monitored outer(straight("store i32 1, ptr %x"));
  EXPECT_NE(outer.print().find("@__dh_monitor_returning("), std::string::npos);
  Monitored inner(
      "define internal void @inner(ptr %x) {\n store i32 1, ptr %x\n ret void\n}\n"
      "define void @f(ptr %x) {\n call void @inner(ptr %x)\n ret void\n}\n");
  unsigned hooks = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(*inner.module().getFunction("inner")))
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction))
      hooks += call->getCalledFunction() && call->getCalledFunction()->getName() == "__dh_monitor_returning";
  EXPECT_EQ(hooks, 0u);
}

TEST(Placement, InstrumentedFunctionsAreMarked) {
  Monitored f(straight("store i32 1, ptr %x"));
  EXPECT_TRUE(f.module().getFunction("f")->hasPrefixData());
  EXPECT_FALSE(f.module().getFunction("unknown")->hasPrefixData());
}

TEST(LoopCopies, AnInnermostLoopIsCopiedAndTheCopyHasNoMonitors) {
  const char* search = R"(
      br label %loop
    loop:
      %p = phi ptr [ %y, %entry ], [ %q, %loop ]
      %q = load ptr, ptr %p
      %more = icmp ne ptr %q, null
      br i1 %more, label %loop, label %end
    end:
      store ptr %q, ptr %x
      ret void)";
  const Monitored f(function(search));
  unsigned loads = 0;
  for (const std::string& event : f.events()) loads += event.starts_with("read p");
  EXPECT_EQ(loads, 2u);
  unsigned monitors = 0;
  for (const std::string& start : f.starts()) monitors += start.starts_with("weak p");
  EXPECT_EQ(monitors, 1u);
}

TEST(LoopCopies, ALoopWhoseAddressesAreMonitoredOutsideIsNotCopied) {
  const char* search = R"(
      br label %loop
    loop:
      %p = phi ptr [ %y, %entry ], [ %q, %loop ]
      %q = load ptr, ptr %p
      %more = icmp ne ptr %q, null
      br i1 %more, label %loop, label %end
    end:
      call void @unknown()
      store i32 1, ptr %p
      ret void)";
  const Monitored f(function(search));
  unsigned loads = 0;
  for (const std::string& event : f.events()) loads += event.starts_with("read p");
  EXPECT_EQ(loads, 1u);
}

TEST(LoopCopies, ALoopThatCallsIsNotCopied) {
  const char* calls = R"(
      br label %loop
    loop:
      %p = phi ptr [ %y, %entry ], [ %q, %loop ]
      %q = load ptr, ptr %p
      call void @quiet()
      %more = icmp ne ptr %q, null
      br i1 %more, label %loop, label %end
    end:
      ret void)";
  EXPECT_THAT(Monitored(function(calls)).events(), ElementsAre("weak p", "read p", "quiet"));
}

}  // namespace
}  // namespace deadheat::instrument::testing
