#include "instrument/source_lines.h"

#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

// !7 is line 0 of f; !8 and !9 are lines of f; !12 is one of g, inlined into f.
const std::string kLines = kDebugInfoOfF + R"(
    !7 = !DILocation(line: 0, scope: !3)
    !8 = !DILocation(line: 8, column: 1, scope: !3)
    !9 = !DILocation(line: 9, column: 1, scope: !3)
    !10 = distinct !DISubprogram(name: "g", file: !1, line: 20, type: !4, unit: !0, spFlags: DISPFlagDefinition)
    !11 = !DILocation(line: 11, column: 1, scope: !3)
    !12 = !DILocation(line: 21, column: 1, scope: !10, inlinedAt: !11)
    )";

// The line of the first hook of this name.
unsigned line_of(const Instrumented& f, const char* hook) {
  const auto calls = f.calls(hook);
  if (calls.empty()) ADD_FAILURE() << "no " << hook;
  return calls.empty() ? 0 : calls[0]->getDebugLoc().getLine();
}

TEST(SourceLines, AnAccessHasTheLineOfWhatUsesItsValue) {
  Instrumented f(R"(
    define i32 @f(ptr %p, i32 %a) !dbg !3 {
      %1 = load i32, ptr %p, align 4, !dbg !7
      %2 = add i32 %a, 1, !dbg !9
      %3 = add i32 %1, %2, !dbg !8
      ret i32 %3, !dbg !9
    })" + kLines);
  EXPECT_EQ(line_of(f, "__dh_read4"), 8u);
}

TEST(SourceLines, WhatBothBranchesDoHasTheLineOfTheDecision) {
  Instrumented f(R"(
    declare void @other()
    define void @f(ptr %p, i1 %c) !dbg !3 {
      br i1 %c, label %both, label %end, !dbg !8
    both:
      store i32 0, ptr %p, align 4, !dbg !7
      call void @other(), !dbg !7
      br label %end, !dbg !7
    end:
      ret void, !dbg !9
    })" + kLines);
  EXPECT_EQ(line_of(f, "__dh_write4"), 8u);
  EXPECT_EQ(line_of(f, "other"), 8u);
}

TEST(SourceLines, ALineOfAnotherFunctionWouldMakeItPartOfThat) {
  Instrumented f(R"(
    declare void @other()
    define void @f(ptr %p, i1 %c) !dbg !3 {
      br i1 %c, label %both, label %end, !dbg !8
    both:
      store i32 0, ptr %p, align 4, !dbg !12
      call void @other(), !dbg !7
      br label %end, !dbg !12
    end:
      ret void, !dbg !9
    })" + kLines);
  EXPECT_EQ(line_of(f, "__dh_write4"), 21u);
  EXPECT_EQ(line_of(f, "other"), 8u);
}

}  // namespace
}  // namespace deadheat::instrument::testing
