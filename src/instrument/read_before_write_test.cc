#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

using ::testing::ElementsAre;

std::string between(const std::string& code) {
  return R"(
    declare void @unknown()
    declare void @quiet() nosync nounwind willreturn
    @flag = global i32 0
    define void @f(ptr %p) {
      %1 = load i32, ptr %p, align 4
      )" +
         code + R"(
      %2 = add i32 %1, 1
      store i32 %2, ptr %p, align 4
      ret void
    })";
}

TEST(ReadBeforeWrite, IncrementIsOneCheck) {
  Instrumented f(between(""), "-all,+readwrite");
  EXPECT_THAT(f.checks(), ElementsAre("write4"));
  EXPECT_EQ(f.statistics().read_before_write, 1u);
}

TEST(ReadBeforeWrite, SwitchedOffItIsTwo) {
  EXPECT_THAT(Instrumented(between(""), "-readwrite").checks(), ElementsAre("read4", "write4"));
}

TEST(ReadBeforeWrite, NothingMayStandBetween) {
  for (const char* code :
       {"call void @unknown()", "%a = load atomic i32, ptr @flag acquire, align 4",
        "store atomic i32 1, ptr @flag release, align 4", "fence acquire", "fence seq_cst",
        "%a = atomicrmw add ptr @flag, i32 1 acq_rel", "call void asm sideeffect \"\", \"~{memory}\"()"})
    EXPECT_THAT(Instrumented(between(code), "-all,+readwrite,+syncfree").checks(),
                ElementsAre("read4", "write4"))
        << code;
}

TEST(ReadBeforeWrite, WhatOrdersNothingMayStandBetween) {
  for (const char* code : {"%a = load atomic i32, ptr @flag monotonic, align 4", "call void @quiet()",
                           "fence syncscope(\"singlethread\") seq_cst"})
    EXPECT_THAT(Instrumented(between(code), "-all,+readwrite,+syncfree").checks(), ElementsAre("write4"))
        << code;
}

TEST(ReadBeforeWrite, TheWriteMustIncludeTheRead) {
  Instrumented f(R"(
    define void @f(ptr %p, ptr %q) {
      %1 = load i32, ptr %p, align 4
      store i16 1, ptr %p, align 2
      ret void
    }
    define void @g(ptr %p, ptr %q) {
      %1 = load i32, ptr %p, align 4
      store i32 1, ptr %q, align 4
      ret void
    }
    define void @h(ptr %p) {
      %high = getelementptr i8, ptr %p, i64 4
      %1 = load i32, ptr %high, align 4
      store i64 1, ptr %p, align 8
      ret void
    })",
                 "-all,+readwrite");
  EXPECT_THAT(f.checks("f"), ElementsAre("read4", "write2"));
  EXPECT_THAT(f.checks("g"), ElementsAre("read4", "write4"));
  EXPECT_THAT(f.checks("h"), ElementsAre("write8"));
}

TEST(ReadBeforeWrite, AWriteBeforeTheReadIsNotAfterIt) {
  Instrumented f(R"(
    define i32 @f(ptr %p) {
      store i32 1, ptr %p, align 4
      %1 = load i32, ptr %p, align 4
      ret i32 %1
    })",
                 "-all,+readwrite");
  EXPECT_THAT(f.checks(), ElementsAre("write4", "read4"));
}

}  // namespace
}  // namespace deadheat::instrument::testing
