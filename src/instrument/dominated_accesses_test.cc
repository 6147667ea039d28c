#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

using ::testing::ElementsAre;

constexpr char kOn[] = "-all,+dominated";

TEST(Dominated, SecondReadIsCovered) {
  Instrumented f(R"(
    define void @f(ptr %p) {
      %1 = load i32, ptr %p, align 4
      %2 = load i32, ptr %p, align 4
      ret void
    })",
                 kOn);
  EXPECT_THAT(f.checks(), ElementsAre("read4"));
  EXPECT_EQ(f.statistics().dominated, 1u);
}

TEST(Dominated, AWriteCoversAReadAndNotTheOtherWay) {
  Instrumented f(R"(
    define void @f(ptr %p) {
      store i32 1, ptr %p, align 4
      %1 = load i32, ptr %p, align 4
      ret void
    }
    define void @g(ptr %p) {
      %1 = load i32, ptr %p, align 4
      store i32 1, ptr %p, align 4
      ret void
    })",
                 kOn);
  EXPECT_THAT(f.checks("f"), ElementsAre("write4"));
  EXPECT_THAT(f.checks("g"), ElementsAre("read4", "write4"));
}

TEST(Dominated, BytesMustBeIncluded) {
  Instrumented f(R"(
    define void @f(ptr %p) {
      %1 = load i16, ptr %p, align 4
      %2 = load i32, ptr %p, align 4
      ret void
    }
    define void @g(ptr %p) {
      %1 = load i32, ptr %p, align 4
      %q = getelementptr i8, ptr %p, i64 2
      %2 = load i16, ptr %q, align 2
      ret void
    }
    define void @h(ptr %p) {
      %1 = load i32, ptr %p, align 8
      %q = getelementptr i8, ptr %p, i64 4
      %2 = load i32, ptr %q, align 4
      %3 = load i64, ptr %p, align 8
      ret void
    }
    define void @i(ptr %p) {
      %1 = load i32, ptr %p, align 8
      %q = getelementptr i8, ptr %p, i64 6
      %2 = load i16, ptr %q, align 2
      %3 = load i64, ptr %p, align 8
      ret void
    })",
                 kOn);
  EXPECT_THAT(f.checks("f"), ElementsAre("read2", "read4"));
  EXPECT_THAT(f.checks("g"), ElementsAre("read4"));
  EXPECT_THAT(f.checks("h"), ElementsAre("read4", "read4"));           // the two halves cover the whole
  EXPECT_THAT(f.checks("i"), ElementsAre("read4", "read2", "read8"));  // bytes 4 and 5 are missing
}

std::string between(const std::string& code) {
  return R"(
    declare void @unknown()
    declare void @quiet() nosync
    declare i64 @strlen(ptr)
    declare void @llvm.lifetime.end.p0(i64, ptr)
    @flag = global i32 0
    define void @harmless(ptr %p) {
      store i32 1, ptr %p, align 4
      ret void
    }
    define void @f(ptr %p) {
      store i32 0, ptr %p, align 4
      )" +
         code + R"(
      store i32 1, ptr %p, align 4
      ret void
    })";
}

TEST(Dominated, AReleaseInBetweenKeepsBoth) {
  for (const char* code : {"call void @unknown()", "store atomic i32 1, ptr @flag release, align 4",
                           "fence release", "fence seq_cst", "%a = atomicrmw add ptr @flag, i32 1 acq_rel",
                           "%a = cmpxchg ptr @flag, i32 0, i32 1 release monotonic",
                           "call void asm sideeffect \"\", \"~{memory}\"()", "call void %p()"})
    EXPECT_THAT(Instrumented(between(code), "-all,+dominated,+syncfree").checks(),
                ElementsAre("write4", "write4"))
        << code;
}

TEST(Dominated, AcquiresAndWhatOrdersNothingAreNoObstacle) {
  for (const char* code :
       {"%a = load atomic i32, ptr @flag acquire, align 4", "fence acquire", "call void @quiet()",
        "call void @harmless(ptr @flag)", "%a = call i64 @strlen(ptr @flag)",
        "store atomic i32 1, ptr @flag monotonic, align 4"})
    EXPECT_THAT(Instrumented(between(code), "-all,+dominated,+syncfree").checks(), ElementsAre("write4"))
        << code;
}

TEST(Dominated, WithoutTheAnalysisEveryCallIsABarrier) {
  for (const char* code :
       {"call void @quiet()", "call void @harmless(ptr @flag)", "%a = call i64 @strlen(ptr @flag)"})
    EXPECT_THAT(Instrumented(between(code), kOn).checks(), ElementsAre("write4", "write4")) << code;
}

TEST(Dominated, EveryWayInMustCarryIt) {
  Instrumented f(R"(
    define void @f(ptr %p, i1 %c) {
      br i1 %c, label %then, label %else
    then:
      store i32 1, ptr %p, align 4
      br label %join
    else:
      br label %join
    join:
      store i32 2, ptr %p, align 4
      ret void
    }
    define void @g(ptr %p, i1 %c) {
      br i1 %c, label %then, label %else
    then:
      store i32 1, ptr %p, align 4
      br label %join
    else:
      store i32 3, ptr %p, align 4
      br label %join
    join:
      store i32 2, ptr %p, align 4
      ret void
    })",
                 kOn);
  EXPECT_THAT(f.checks("f"), ElementsAre("write4", "write4"));
  EXPECT_THAT(f.checks("g"), ElementsAre("write4", "write4"));  // both branches; the join is covered
  EXPECT_EQ(f.statistics().dominated, 1u);
}

TEST(Dominated, ACheckBeforeALoopServesInside) {
  const auto loop = [](const std::string& code) {
    return R"(
    declare void @unknown()
    define void @f(ptr %p, i1 %c) {
      store i32 0, ptr %p, align 4
      br label %loop
    loop:
      store i32 1, ptr %p, align 4
      )" + code +
           R"(
      br i1 %c, label %loop, label %end
    end:
      ret void
    })";
  };
  EXPECT_THAT(Instrumented(loop(""), kOn).checks(), ElementsAre("write4"));
  // The first iteration is covered, the next ones are not.
  EXPECT_THAT(Instrumented(loop("call void @unknown()"), kOn).checks(), ElementsAre("write4", "write4"));
}

TEST(Dominated, AnAddressComputedInTheLoopIsAnotherOneEachTime) {
  Instrumented f(R"(
    define void @f(ptr %start, i1 %c) {
    entry:
      br label %loop
    loop:
      %p = phi ptr [ %start, %entry ], [ %next, %loop ]
      store i32 1, ptr %p, align 4
      %next = load ptr, ptr %p, align 8
      br i1 %c, label %loop, label %end
    end:
      ret void
    })",
                 kOn);
  EXPECT_THAT(f.checks(), ElementsAre("write4", "read8"));
}

TEST(Dominated, AnotherLifeOfAVariableIsAnotherVariable) {
  Instrumented f(R"(
    declare void @llvm.lifetime.start.p0(i64, ptr)
    declare void @llvm.lifetime.end.p0(i64, ptr)
    @place = global ptr null
    define void @f() {
      %x = alloca i32, align 4
      store atomic ptr %x, ptr @place monotonic, align 8
      call void @llvm.lifetime.start.p0(i64 4, ptr %x)
      store i32 1, ptr %x, align 4
      call void @llvm.lifetime.end.p0(i64 4, ptr %x)
      call void @llvm.lifetime.start.p0(i64 4, ptr %x)
      store i32 2, ptr %x, align 4
      call void @llvm.lifetime.end.p0(i64 4, ptr %x)
      ret void
    })",
                 kOn);
  EXPECT_THAT(f.checks(), ElementsAre("write4", "write4"));
}

TEST(Dominated, InvokedFunctionsAreCallsToo) {
  Instrumented f(R"(
    declare void @unknown()
    declare i32 @__gxx_personality_v0(...)
    define void @f(ptr %p) personality ptr @__gxx_personality_v0 {
      store i32 0, ptr %p, align 4
      invoke void @unknown() to label %normal unwind label %pad
    normal:
      store i32 1, ptr %p, align 4
      ret void
    pad:
      %1 = landingpad { ptr, i32 } cleanup
      store i32 2, ptr %p, align 4
      resume { ptr, i32 } %1
    })",
                 kOn);
  EXPECT_THAT(f.checks(), ElementsAre("write4", "write4", "write4"));
}

}  // namespace
}  // namespace deadheat::instrument::testing
