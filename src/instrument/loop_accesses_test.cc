#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kOn[] = "-all,+loops,+syncfree";

// for (i = 0; i < n; i++) BODY, with the test at the bottom and behind a guard, as the optimiser leaves it.
std::string counted(const std::string& body, const std::string& attributes = "") {
  return R"(
    declare void @unknown()
    declare void @quiet() nosync nounwind willreturn
    declare void @throws() nosync willreturn
    declare void @llvm.assume(i1)
    @flag = global i32 0
    define void @f(ptr %p, ptr %q, i64 %n, i1 %c) )" +
         attributes + R"( {
    entry:
      %some = icmp sgt i64 %n, 0
      br i1 %some, label %before, label %end
    before:
      br label %loop
    loop:
      %i = phi i64 [ 0, %before ], [ %next, %latch ]
      %element = getelementptr inbounds i32, ptr %p, i64 %i
      )" +
         body + R"(
      br label %latch
    latch:
      %next = add nuw nsw i64 %i, 1
      %more = icmp slt i64 %next, %n
      br i1 %more, label %loop, label %leave
    leave:
      br label %end
    end:
      ret void
    })";
}

bool is_in_loop(Instrumented& f, const std::string& hook) {
  return f.calls(hook).size() == 1 && f.calls(hook)[0]->getParent()->getName() != "before";
}

TEST(Loops, AnArrayWalkedForwardIsOneRange) {
  Instrumented f(counted("store i32 1, ptr %element, align 4"), kOn);
  ASSERT_THAT(f.checks(), ElementsAre("write_range"));
  EXPECT_FALSE(is_in_loop(f, "__dh_write_range"));
  EXPECT_EQ(f.calls("__dh_write_range")[0]->getArgOperand(0), f.module().getFunction("f")->getArg(0));
  EXPECT_EQ(f.statistics().loop_strided, 1u);
}

TEST(Loops, SwitchedOffEveryElementIsChecked) {
  Instrumented f(counted("store i32 1, ptr %element, align 4"), "-loops");
  EXPECT_THAT(f.checks(), ElementsAre("write4"));
}

TEST(Loops, ElementsWithGapsAreStrided) {
  Instrumented f(counted(R"(
      %wide = getelementptr inbounds {i32, i32, i32}, ptr %p, i64 %i
      store i32 1, ptr %wide, align 4)"),
                 kOn);
  ASSERT_THAT(f.checks(), ElementsAre("write_strided"));
  const llvm::CallInst* call = f.calls("__dh_write_strided")[0];
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(call->getArgOperand(1))->getSExtValue(), 4);
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(call->getArgOperand(2))->getSExtValue(), 12);
}

TEST(Loops, BackwardsTheRangeBeginsAtTheLastElement) {
  Instrumented f(counted(R"(
      %back = sub nsw i64 0, %i
      %wide = getelementptr inbounds i32, ptr %p, i64 %back
      store i32 1, ptr %wide, align 4)"),
                 kOn);
  ASSERT_THAT(f.checks(), ElementsAre("write_range"));
  EXPECT_NE(f.calls("__dh_write_range")[0]->getArgOperand(0), f.module().getFunction("f")->getArg(0));
}

TEST(Loops, AnInvariantAddressIsCheckedOnceBefore) {
  Instrumented f(counted("%v = load i32, ptr %q, align 4"), kOn);
  ASSERT_THAT(f.checks(), ElementsAre("read4"));
  EXPECT_FALSE(is_in_loop(f, "__dh_read4"));
  EXPECT_EQ(f.statistics().loop_invariant, 1u);
}

TEST(Loops, AnInvariantWriteWithoutAKnownValueClaimsNone) {
  Instrumented f(counted("%v = trunc i64 %i to i32\n store i32 %v, ptr %q, align 4"), kOn);
  EXPECT_THAT(f.checks(), ElementsAre("write_range"));
  EXPECT_THAT(Instrumented(counted("store i32 7, ptr %q, align 4"), kOn).checks(), ElementsAre("write4"));
}

TEST(Loops, NothingInTheLoopMayOrderOrNotReturn) {
  for (const char* code :
       {"call void @unknown()", "call void @throws()", "%a = load atomic i32, ptr @flag acquire, align 4",
        "store atomic i32 1, ptr @flag release, align 4", "fence seq_cst",
        "call void asm sideeffect \"\", \"~{memory}\"()"}) {
    Instrumented f(counted("store i32 1, ptr %element, align 4\n" + std::string(code)), kOn);
    ASSERT_THAT(f.checks(), ElementsAre("write4")) << code;
    EXPECT_TRUE(is_in_loop(f, "__dh_write4")) << code;
    Instrumented g(counted("%v = load i32, ptr %q, align 4\n" + std::string(code)), kOn);
    ASSERT_THAT(g.checks(), ElementsAre("read4")) << code;
    EXPECT_TRUE(is_in_loop(g, "__dh_read4")) << code;
  }
}

TEST(Loops, CallsThatOrderNothingAndReturnDoNoHarm) {
  Instrumented f(counted("store i32 1, ptr %element, align 4\n call void @quiet()"), kOn);
  EXPECT_THAT(f.checks(), ElementsAre("write_range"));
}

TEST(Loops, AnAccessThatMayNotHappenStays) {
  Instrumented f(counted(R"(
      br i1 %c, label %then, label %latch
    then:
      store i32 1, ptr %element, align 4)"),
                 kOn);
  ASSERT_THAT(f.checks(), ElementsAre("write4"));
  EXPECT_TRUE(is_in_loop(f, "__dh_write4"));
}

TEST(Loops, ALoopThatMayEndEarlierIsNotCounted) {
  // Leaves when it finds something: how far it gets is not known before.
  const char* early = R"(
      %v = load i32, ptr %element, align 4
      %found = icmp eq i32 %v, 7
      br i1 %found, label %leave, label %latch
    dead:)";
  Instrumented f(counted(early), kOn);
  ASSERT_THAT(f.checks(), ElementsAre("read4"));
  EXPECT_TRUE(is_in_loop(f, "__dh_read4"));
}

TEST(Loops, AnInvariantReadBeforeTheEarlyExitHappensForSure) {
  const char* early = R"(
      %v = load i32, ptr %q, align 4
      %found = icmp eq i32 %v, 7
      br i1 %found, label %leave, label %latch
    dead:)";
  Instrumented f(counted(early), kOn);
  ASSERT_THAT(f.checks(), ElementsAre("read4"));
  EXPECT_FALSE(is_in_loop(f, "__dh_read4"));
}

TEST(Loops, WhatStandsBehindAnExitHappensOnceLess) {
  // while (i != n) { element; }: the test is at the top, the access may happen not at all.
  Instrumented f(R"(
    define void @f(ptr %p, i64 %n) {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %body ]
      %done = icmp eq i64 %i, %n
      br i1 %done, label %end, label %body
    body:
      %element = getelementptr inbounds i32, ptr %p, i64 %i
      store i32 1, ptr %element, align 4
      %next = add nuw i64 %i, 1
      br label %loop
    end:
      ret void
    })",
                 kOn);
  ASSERT_THAT(f.checks(), ElementsAre("write_range"));
  // n elements, not n + 1: the size is n shifted, with nothing added.
  const auto* size = llvm::dyn_cast<llvm::BinaryOperator>(f.calls("__dh_write_range")[0]->getArgOperand(1));
  ASSERT_TRUE(size);
  EXPECT_EQ(size->getOpcode(), llvm::Instruction::Shl);
  EXPECT_EQ(size->getOperand(0), f.module().getFunction("f")->getArg(1));
}

TEST(Loops, WhatStandsBehindAnExitAndACondition) {
  Instrumented f(R"(
    define void @f(ptr %p, i64 %n, i1 %c) {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %latch ]
      %done = icmp eq i64 %i, %n
      br i1 %done, label %end, label %body
    body:
      %element = getelementptr inbounds i32, ptr %p, i64 %i
      br i1 %c, label %then, label %latch
    then:
      store i32 1, ptr %element, align 4
      br label %latch
    latch:
      %next = add nuw i64 %i, 1
      br label %loop
    end:
      ret void
    })",
                 kOn);
  EXPECT_THAT(f.checks(), ElementsAre("write4"));
}

TEST(Loops, AnInvariantAccessBehindTheExitStays) {
  Instrumented f(R"(
    define void @f(ptr %p, i64 %n) {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %body ]
      %done = icmp eq i64 %i, %n
      br i1 %done, label %end, label %body
    body:
      store i32 1, ptr %p, align 4
      %next = add nuw i64 %i, 1
      br label %loop
    end:
      ret void
    })",
                 kOn);
  ASSERT_THAT(f.checks(), ElementsAre("write4"));
  EXPECT_EQ(f.calls("__dh_write4")[0]->getParent()->getName(), "body");
}

TEST(Loops, UnrolledNeighboursBecomeOneRange) {
  Instrumented f(counted(R"(
      %even = shl i64 %i, 1
      %a = getelementptr inbounds i32, ptr %q, i64 %even
      %b = getelementptr inbounds i8, ptr %a, i64 4
      store i32 1, ptr %a, align 4
      store i32 1, ptr %b, align 4)"),
                 kOn);
  EXPECT_THAT(f.checks(), ElementsAre("write_range"));
  EXPECT_EQ(f.statistics().loop_joined, 1u);
}

TEST(Loops, NeighboursOfAnotherKindOrWithAGapStayApart) {
  Instrumented f(counted(R"(
      %even = shl i64 %i, 2
      %a = getelementptr inbounds i32, ptr %q, i64 %even
      %b = getelementptr inbounds i8, ptr %a, i64 8
      store i32 1, ptr %a, align 4
      store i32 1, ptr %b, align 4)"),
                 kOn);
  EXPECT_THAT(f.checks(), ElementsAre("write_strided", "write_strided"));
}

TEST(Loops, AMatrixWalkedRowByRowIsOneRange) {
  const std::string matrix = R"(
    define void @f(ptr %p) {
    entry:
      br label %rows
    rows:
      %r = phi i64 [ 0, %entry ], [ %r.next, %rows.latch ]
      br label %columns
    columns:
      %c = phi i64 [ 0, %rows ], [ %c.next, %columns ]
      %element = getelementptr inbounds [WIDTH x i32], ptr %p, i64 %r, i64 %c
      store i32 1, ptr %element, align 4
      %c.next = add nuw nsw i64 %c, 1
      %c.more = icmp ult i64 %c.next, 100
      br i1 %c.more, label %columns, label %rows.latch
    rows.latch:
      %r.next = add nuw nsw i64 %r, 1
      %r.more = icmp ult i64 %r.next, 50
      br i1 %r.more, label %rows, label %end
    end:
      ret void
    })";
  const auto with_width = [&](const char* width) {
    std::string text = matrix;
    return text.replace(text.find("WIDTH"), 5, width);
  };
  Instrumented f(with_width("100"), kOn);
  ASSERT_THAT(f.checks(), ElementsAre("write_range"));
  const llvm::CallInst* call = f.calls("__dh_write_range")[0];
  EXPECT_EQ(call->getParent()->getName(), "entry");
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(call->getArgOperand(1))->getZExtValue(), 100u * 50 * 4);

  // Rows with something between them: one strided check of whole rows.
  Instrumented g(with_width("120"), kOn);
  ASSERT_THAT(g.checks(), ElementsAre("write_strided"));
  const llvm::CallInst* rows = g.calls("__dh_write_strided")[0];
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(rows->getArgOperand(1))->getZExtValue(), 400u);
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(rows->getArgOperand(2))->getZExtValue(), 480u);
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(rows->getArgOperand(3))->getZExtValue(), 50u);
}

TEST(Loops, AnInnerLoopWithoutACountKeepsTheOuterOneFromCounting) {
  Instrumented f(counted(R"(
      store i32 1, ptr %element, align 4
      br label %wait
    wait:
      %v = load volatile i32, ptr %q, align 4
      %ready = icmp eq i32 %v, 1
      br i1 %ready, label %ready.now, label %wait
    ready.now:)"),
                 kOn);
  EXPECT_THAT(f.checks(), Contains("write4"));
}

TEST(Loops, TheCheckReportsTheLineOfTheAccess) {
  Instrumented f(R"(
    define void @f(ptr %p, i64 %n) !dbg !3 {
    entry:
      br label %loop, !dbg !6
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %element = getelementptr inbounds i32, ptr %p, i64 %i, !dbg !6
      store i32 1, ptr %element, align 4, !dbg !7
      %next = add nuw nsw i64 %i, 1, !dbg !6
      %more = icmp ult i64 %next, 100, !dbg !6
      br i1 %more, label %loop, label %end, !dbg !6
    end:
      ret void, !dbg !6
    }
    )" + kDebugInfoOfF +
                     R"(
    !6 = !DILocation(line: 5, column: 3, scope: !3)
    !7 = !DILocation(line: 6, column: 3, scope: !3)
  )",
                 kOn);
  ASSERT_THAT(f.checks(), ElementsAre("write_range"));
  EXPECT_EQ(f.calls("__dh_write_range")[0]->getDebugLoc().getLine(), 6u);
}

}  // namespace
}  // namespace deadheat::instrument::testing
