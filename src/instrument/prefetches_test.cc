#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

TEST(Prefetches, WhatTheProgramAsksForEarlyItsShadowIsToo) {
  Instrumented f(R"(
    declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
    define i32 @data(ptr %p, ptr %q) {
      call void @llvm.prefetch.p0(ptr %q, i32 0, i32 3, i32 1)
      %1 = load i32, ptr %p, align 4
      ret i32 %1
    }
    define i32 @code(ptr %p, ptr %q) {
      call void @llvm.prefetch.p0(ptr %q, i32 0, i32 3, i32 0)
      %1 = load i32, ptr %p, align 4
      ret i32 %1
    })",
                 "-all");
  ASSERT_EQ(f.calls("__dh_prefetch").size(), 1u);
  const llvm::CallInst* const call = f.calls("__dh_prefetch")[0];
  EXPECT_EQ(call->getFunction()->getName(), "data");
  EXPECT_EQ(call->getArgOperand(0)->getName(), "q");
}

TEST(Prefetches, AFunctionWithNothingElseStaysAsItIs) {
  Instrumented f(R"(
    declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
    define void @f(ptr %p) {
      call void @llvm.prefetch.p0(ptr %p, i32 0, i32 3, i32 1)
      ret void
    })",
                 "-all");
  EXPECT_EQ(f.calls("__dh_prefetch").size(), 0u);
}

}  // namespace
}  // namespace deadheat::instrument::testing
