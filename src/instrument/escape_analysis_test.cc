#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Escape, LocalsNobodyElseKnowsAreNotChecked) {
  Instrumented f(R"(
    declare void @nocapture(ptr nocapture)
    define i32 @f(i32 %v) {
      %x = alloca [4 x i32], align 16
      %y = getelementptr [4 x i32], ptr %x, i64 0, i64 2
      store i32 %v, ptr %y, align 4
      call void @nocapture(ptr %x)
      %1 = load i32, ptr %y, align 4
      ret i32 %1
    })");
  EXPECT_THAT(f.checks(), IsEmpty());
  EXPECT_EQ(f.statistics().private_memory, 2u);
}

TEST(Escape, SwitchedOffEverythingIsChecked) {
  Instrumented f(R"(
    define void @f(i32 %v) {
      %x = alloca i32, align 4
      store i32 %v, ptr %x, align 4
      ret void
    })",
                 "-escape");
  EXPECT_THAT(f.checks(), ElementsAre("write4"));
}

TEST(Escape, CapturedLocalsAreCheckedBeforeTheCaptureToo) {
  // Published without any order, the initialisation races: it must be checked.
  Instrumented f(R"(
    @g = global ptr null
    define void @f() {
      %x = alloca i32, align 4
      store i32 1, ptr %x, align 4
      store atomic ptr %x, ptr @g monotonic, align 8
      ret void
    })");
  EXPECT_THAT(f.checks(), Contains("write4"));
}

TEST(Escape, ReturnedOrStoredAddressesEscape) {
  Instrumented f(R"(
    declare noalias ptr @malloc(i64)
    define ptr @f() {
      %p = call noalias ptr @malloc(i64 4)
      store i32 1, ptr %p, align 4
      ret ptr %p
    }
    define void @g(ptr %to) {
      %p = call noalias ptr @malloc(i64 4)
      store i32 1, ptr %p, align 4
      store ptr %p, ptr %to, align 8
      ret void
    }
    define void @h() {
      %p = call noalias ptr @malloc(i64 4)
      store i32 1, ptr %p, align 4
      ret void
    })");
  EXPECT_THAT(f.checks("f"), ElementsAre("write4"));
  EXPECT_THAT(f.checks("g"), ElementsAre("write4", "write8"));
  EXPECT_THAT(f.checks("h"), IsEmpty());
}

TEST(Escape, OneSharedOriginIsEnough) {
  Instrumented f(R"(
    define void @f(ptr %q, i1 %c) {
      %x = alloca i32, align 4
      %p = select i1 %c, ptr %x, ptr %q
      store i32 1, ptr %p, align 4
      ret void
    }
    define void @g(i1 %c) {
      %x = alloca i32, align 4
      %y = alloca i32, align 4
      %p = select i1 %c, ptr %x, ptr %y
      store i32 1, ptr %p, align 4
      ret void
    })");
  EXPECT_THAT(f.checks("f"), ElementsAre("write4"));
  EXPECT_THAT(f.checks("g"), IsEmpty());
}

TEST(Escape, ByValueParametersArePrivateUntilCaptured) {
  Instrumented f(R"(
    declare void @take(ptr)
    define void @f(ptr byval(i64) align 8 %x) {
      store i64 1, ptr %x, align 8
      ret void
    }
    define void @g(ptr byval(i64) align 8 %x) {
      store i64 1, ptr %x, align 8
      call void @take(ptr %x)
      ret void
    })");
  EXPECT_THAT(f.checks("f"), IsEmpty());
  EXPECT_THAT(f.checks("g"), ElementsAre("write8"));
}

TEST(Escape, ConstantsAndVirtualTablesAreNotChecked) {
  Instrumented f(R"(
    @table = constant [2 x i32] [i32 1, i32 2]
    @variable = global [2 x i32] [i32 1, i32 2]
    define i32 @f(ptr %v, i64 %i) {
      %p = getelementptr [2 x i32], ptr @table, i64 0, i64 %i
      %1 = load i32, ptr %p, align 4
      %2 = load ptr, ptr %v, align 8, !invariant.load !0
      ret i32 %1
    }
    define i32 @g(i64 %i) {
      %p = getelementptr [2 x i32], ptr @variable, i64 0, i64 %i
      %1 = load i32, ptr %p, align 4
      ret i32 %1
    }
    !0 = !{}
  )",
                 "-handed");
  EXPECT_THAT(f.checks("f"), IsEmpty());
  EXPECT_THAT(f.checks("g"), ElementsAre("read4"));
  EXPECT_EQ(f.statistics().constant_memory, 2u);
}

TEST(Escape, ThreadLocalsArePrivateOnlyIfNoModuleCanShareThem) {
  Instrumented f(R"(
    @inner = internal thread_local global i32 0
    @shared = internal thread_local global i32 0
    @outer = thread_local global i32 0
    @place = global ptr null
    declare nonnull ptr @llvm.threadlocal.address.p0(ptr nonnull)
    define void @f() {
      %p = call ptr @llvm.threadlocal.address.p0(ptr @inner)
      store i32 1, ptr %p, align 4
      ret void
    }
    define void @g() {
      %p = call ptr @llvm.threadlocal.address.p0(ptr @outer)
      store i32 1, ptr %p, align 4
      ret void
    }
    define void @h() {
      %p = call ptr @llvm.threadlocal.address.p0(ptr @shared)
      store i32 1, ptr %p, align 4
      ret void
    }
    define void @share() {
      %p = call ptr @llvm.threadlocal.address.p0(ptr @shared)
      store atomic ptr %p, ptr @place release, align 8
      ret void
    })");
  EXPECT_THAT(f.checks("f"), IsEmpty());
  EXPECT_THAT(f.checks("g"), ElementsAre("write4"));
  EXPECT_THAT(f.checks("h"), ElementsAre("write4"));
}

}  // namespace
}  // namespace deadheat::instrument::testing
