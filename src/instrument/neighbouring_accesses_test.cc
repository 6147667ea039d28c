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

std::string two_words(const std::string& code) {
  return R"(
    declare void @unknown()
    define void @f(ptr %p, i64 %v, ptr %w) {
      %q = getelementptr inbounds i8, ptr %p, i64 8
      )" +
         code + R"(
      ret void
    })";
}

TEST(Neighbours, TwoWordsAreOneCheckOfTwoReads) {
  Instrumented f(two_words("%a = load i64, ptr %p, align 8\n %b = load ptr, ptr %q, align 8"), kOn);
  ASSERT_THAT(f.checks(), ElementsAre("read8x2"));
  EXPECT_EQ(f.statistics().neighbours, 1u);
  EXPECT_EQ(f.calls("__dh_read8x2")[0]->getArgOperand(0), f.module().getFunction("f")->getArg(0));
}

TEST(Neighbours, TwoWordsAreOneCheckOfTwoWritesAtTheFirstOfThem) {
  // Before either of them, so that a report finds what both overwrite.
  Instrumented f(two_words("store i64 %v, ptr %p, align 8\n store ptr %w, ptr %q, align 8"), kOn);
  ASSERT_THAT(f.checks(), ElementsAre("write8x2"));
  const llvm::CallInst* call = f.calls("__dh_write8x2")[0];
  const llvm::Function* function = f.module().getFunction("f");
  EXPECT_EQ(call->getArgOperand(0), function->getArg(0));
  EXPECT_EQ(call->getArgOperand(1), function->getArg(1));
  const auto* second = llvm::dyn_cast<llvm::PtrToIntInst>(call->getArgOperand(2));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->getOperand(0), function->getArg(2));
  EXPECT_TRUE(llvm::isa<llvm::StoreInst>(call->getNextNode()));
  EXPECT_TRUE(llvm::isa<llvm::StoreInst>(call->getNextNode()->getNextNode()));
}

TEST(Neighbours, TheHigherWordMayComeFirst) {
  Instrumented f(two_words("store i64 2, ptr %q, align 8\n store i64 1, ptr %p, align 8"), kOn);
  ASSERT_THAT(f.checks(), ElementsAre("write8x2"));
  const llvm::CallInst* call = f.calls("__dh_write8x2")[0];
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(call->getArgOperand(1))->getZExtValue(), 1u);
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(call->getArgOperand(2))->getZExtValue(), 2u);
  EXPECT_EQ(llvm::cast<llvm::StoreInst>(call->getNextNode())->getPointerOperand()->getName(), "q");
}

TEST(Neighbours, AValueThatIsNotKnownAtTheFirstWriteKeepsThemApart) {
  Instrumented f(
      two_words("store i64 %v, ptr %p, align 8\n %x = add i64 %v, 1\n store i64 %x, ptr %q, align 8"), kOn);
  EXPECT_THAT(f.checks(), ElementsAre("write8", "write8"));
}

TEST(Neighbours, FourWordsAreTwoChecks) {
  Instrumented f(two_words(R"(
      %r = getelementptr inbounds i8, ptr %p, i64 16
      %s = getelementptr inbounds i8, ptr %p, i64 24
      store i64 1, ptr %p, align 8
      store i64 2, ptr %q, align 8
      store i64 3, ptr %r, align 8
      store i64 4, ptr %s, align 8)"),
                 kOn);
  EXPECT_THAT(f.checks(), ElementsAre("write8x2", "write8x2"));
}

TEST(Neighbours, HalvesOfTwoWordsBecomeTwoWords) {
  Instrumented f(two_words(R"(
      %p4 = getelementptr inbounds i8, ptr %p, i64 4
      %a = load i32, ptr %p, align 8
      %b = load i32, ptr %p4, align 4
      %c = load i64, ptr %q, align 8)"),
                 kOn);
  EXPECT_THAT(f.checks(), ElementsAre("read8x2"));
}

TEST(Neighbours, WordsThatAreNotNextToEachOtherStayApart) {
  for (const char* code : {
           "%a = load i64, ptr %p, align 8\n call void @unknown()\n %b = load i64, ptr %q, align 8",
           "%a = load i64, ptr %p, align 8\n store i64 1, ptr %q, align 8",
           "%r = getelementptr inbounds i8, ptr %p, i64 16\n %a = load i64, ptr %p, align 8\n %b = load i64, "
           "ptr %r, align 8",
           "%a = load i64, ptr %p, align 8\n %b = load i64, ptr %w, align 8",
       })
    EXPECT_EQ(Instrumented(two_words(code), kOn).statistics().neighbours, 0u) << code;
  EXPECT_THAT(Instrumented(two_words("%a = load i64, ptr %p, align 4\n %b = load i64, ptr %q, align 4"), kOn)
                  .checks(),
              ElementsAre("read_unaligned8", "read_unaligned8"));
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
    )" + kDebugInfoOfF +
           R"(
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

TEST(Neighbours, TwoWordsAtTwoColumnsAreTwoChecks) {
  const auto columns = [](const std::string& first, const std::string& second) {
    return R"(
    define void @f(ptr %p) !dbg !3 {
      %q = getelementptr inbounds i8, ptr %p, i64 8, !dbg !6
      store i64 1, ptr %p, align 8, !dbg )" +
           first + R"(
      store i64 2, ptr %q, align 8, !dbg )" +
           second + R"(
      ret void, !dbg !7
    }
    )" + kDebugInfoOfF +
           R"(
    !6 = !DILocation(line: 5, column: 3, scope: !3)
    !7 = !DILocation(line: 5, column: 9, scope: !3)
    )";
  };
  EXPECT_THAT(Instrumented(columns("!6", "!6"), kOn).checks(), ElementsAre("write8x2"));
  EXPECT_THAT(Instrumented(columns("!6", "!7"), kOn).checks(), ElementsAre("write8", "write8"));
}

TEST(Neighbours, SwitchedOffTheyAreTwo) {
  EXPECT_THAT(
      Instrumented(two("%a = load i32, ptr %p, align 8", "%b = load i32, ptr %q, align 4"), "-neighbours")
          .checks(),
      ElementsAre("read4", "read4"));
}

}  // namespace
}  // namespace deadheat::instrument::testing
