#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

using ::testing::ElementsAre;

constexpr char kOn[] = "-all,+neighbours";

std::string two(const std::string& first, const std::string& second, const std::string& between = "") {
  return R"(
    declare void @unknown()
    @flag = global i32 0
    define void @f(ptr %p, i32 %v, i32 %w) {
      %q = getelementptr inbounds i8, ptr %p, i64 4
      )" +
         first + "\n" + between + "\n" + second + R"(
      ret void
    })";
}

TEST(Neighbours, TwoHalvesOfAWordAreOneRead) {
  Instrumented f(two("%a = load i32, ptr %p, align 8", "%b = load i32, ptr %q, align 4"), kOn);
  EXPECT_THAT(f.checks(), ElementsAre("read8"));
  EXPECT_EQ(f.statistics().neighbours, 1u);
  EXPECT_EQ(f.calls("__dh_read8")[0]->getArgOperand(0), f.module().getFunction("f")->getArg(0));
}

TEST(Neighbours, TheHigherHalfMayComeFirst) {
  Instrumented f(two("%b = load i32, ptr %q, align 4", "%a = load i32, ptr %p, align 8"), kOn);
  ASSERT_THAT(f.checks(), ElementsAre("read8"));
  // It stands before the first access, at the address of the lower half.
  const llvm::CallInst* call = f.calls("__dh_read8")[0];
  EXPECT_EQ(llvm::cast<llvm::LoadInst>(call->getNextNode())->getName(), "b");
}

TEST(Neighbours, TwoWritesAreOneWithBothValues) {
  Instrumented f(two("store i32 1, ptr %p, align 8", "store i32 2, ptr %q, align 4"), kOn);
  ASSERT_THAT(f.checks(), ElementsAre("write8"));
  const auto* value = llvm::dyn_cast<llvm::ConstantInt>(f.calls("__dh_write8")[0]->getArgOperand(1));
  ASSERT_TRUE(value);
  EXPECT_EQ(value->getZExtValue(), 0x0000000200000001u);
}

TEST(Neighbours, FourBytesGrowIntoOne) {
  Instrumented f(R"(
    define void @f(ptr %p) {
      %p1 = getelementptr inbounds i8, ptr %p, i64 1
      %p2 = getelementptr inbounds i8, ptr %p, i64 2
      %p3 = getelementptr inbounds i8, ptr %p, i64 3
      %a = load i8, ptr %p, align 4
      %b = load i8, ptr %p1, align 1
      %c = load i8, ptr %p2, align 2
      %d = load i8, ptr %p3, align 1
      ret void
    })",
                 kOn);
  EXPECT_THAT(f.checks(), ElementsAre("read4"));
}

TEST(Neighbours, UnknownAlignmentKeepsThemApart) {
  Instrumented f(two("%a = load i32, ptr %p, align 4", "%b = load i32, ptr %q, align 4"), kOn);
  EXPECT_THAT(f.checks(), ElementsAre("read4", "read4"));
  EXPECT_EQ(f.statistics().neighbours, 0u);
}

TEST(Neighbours, KindsAreNotMixed) {
  EXPECT_THAT(
      Instrumented(two("%a = load i32, ptr %p, align 8", "store i32 1, ptr %q, align 4"), kOn).checks(),
      ElementsAre("read4", "write4"));
}

TEST(Neighbours, NothingMayStandBetween) {
  for (const char* code : {"call void @unknown()", "%x = load atomic i32, ptr @flag acquire, align 4",
                           "store atomic i32 1, ptr @flag release, align 4", "fence seq_cst"})
    EXPECT_THAT(
        Instrumented(two("%a = load i32, ptr %p, align 8", "%b = load i32, ptr %q, align 4", code), kOn)
            .checks(),
        ElementsAre("read4", "read4"))
        << code;
}

TEST(Neighbours, TwoLinesAreTwoChecks) {
  // A report must not name a line that does not touch the variable.
  const auto lines = [](const std::string& first, const std::string& second) {
    return R"(
    define void @f(ptr %p) !dbg !3 {
      %q = getelementptr inbounds i8, ptr %p, i64 4, !dbg !6
      %a = load i32, ptr %p, align 8, !dbg )" +
           first + R"(
      %b = load i32, ptr %q, align 4, !dbg )" +
           second + R"(
      ret void, !dbg !7
    }
    !llvm.dbg.cu = !{!0}
    !llvm.module.flags = !{!2}
    !0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: LineTablesOnly)
    !1 = !DIFile(filename: "a.c", directory: "/")
    !2 = !{i32 2, !"Debug Info Version", i32 3}
    !3 = distinct !DISubprogram(name: "f", file: !1, line: 1, scopeLine: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
    !4 = !DISubroutineType(types: !5)
    !5 = !{}
    !6 = !DILocation(line: 5, column: 3, scope: !3)
    !7 = !DILocation(line: 6, column: 3, scope: !3)
    !8 = distinct !DISubprogram(name: "g", file: !1, line: 9, scopeLine: 9, type: !4, unit: !0, spFlags: DISPFlagDefinition)
    !9 = !DILocation(line: 10, column: 3, scope: !8, inlinedAt: !12)
    !10 = !DILocation(line: 10, column: 3, scope: !8, inlinedAt: !13)
    !11 = !DILocation(line: 10, column: 3, scope: !8, inlinedAt: !14)
    !12 = distinct !DILocation(line: 5, column: 3, scope: !3)
    !13 = distinct !DILocation(line: 5, column: 9, scope: !3)
    !14 = distinct !DILocation(line: 6, column: 3, scope: !3)
    )";
  };
  EXPECT_THAT(Instrumented(lines("!6", "!6"), kOn).checks(), ElementsAre("read8"));
  EXPECT_THAT(Instrumented(lines("!6", "!7"), kOn).checks(), ElementsAre("read4", "read4"));
  // The same line of a function that was inlined twice: on one line, and on two.
  EXPECT_THAT(Instrumented(lines("!9", "!10"), kOn).checks(), ElementsAre("read8"));
  EXPECT_THAT(Instrumented(lines("!9", "!11"), kOn).checks(), ElementsAre("read4", "read4"));
  EXPECT_THAT(Instrumented(lines("!6", "!9"), kOn).checks(), ElementsAre("read4", "read4"));
}

TEST(Neighbours, SwitchedOffTheyAreTwo) {
  EXPECT_THAT(
      Instrumented(two("%a = load i32, ptr %p, align 8", "%b = load i32, ptr %q, align 4"), "-neighbours")
          .checks(),
      ElementsAre("read4", "read4"));
}

}  // namespace
}  // namespace deadheat::instrument::testing
