#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Accesses, EachNaturallyAlignedSizeHasItsHook) {
  Instrumented f(R"(
    define void @f(ptr %p, ptr %q, i8 %a, i16 %b, i32 %c, i64 %d) {
      %1 = load i8, ptr %p, align 1
      %2 = load i16, ptr %p, align 2
      store i8 %a, ptr %q, align 1
      store i16 %b, ptr %q, align 2
      store i32 %c, ptr %q, align 4
      store i64 %d, ptr %q, align 8
      %3 = load double, ptr %q, align 8
      %4 = load <2 x i64>, ptr %q, align 16
      ret void
    })",
                 "-all");
  EXPECT_THAT(f.checks(),
              ElementsAre("read1", "read2", "write1", "write2", "write4", "write8", "read8", "read8x2"));
}

TEST(Accesses, UnalignedOnesHaveOneCheckAndLargerOnesAreCutIntoAlignedPieces) {
  Instrumented f(R"(
    define void @f(ptr %p) {
      %1 = load i64, ptr %p, align 4
      ret void
    }
    define void @g(ptr %p) {
      %1 = load <4 x i64>, ptr %p, align 8
      ret void
    }
    define void @h(ptr %p) {
      %1 = load x86_fp80, ptr %p, align 16
      ret void
    }
    define void @i(ptr %p) {
      %1 = load i64, ptr %p, align 1
      ret void
    }
    define void @j(ptr %p, i32 %v) {
      store i32 %v, ptr %p, align 2
      ret void
    }
    define void @k(ptr %p, <2 x i64> %v) {
      store <2 x i64> %v, ptr %p, align 1
      %1 = load <2 x i64>, ptr %p, align 8
      ret void
    }
    define void @l(ptr %p) {
      %1 = load <4 x i64>, ptr %p, align 1
      ret void
    })",
                 "-all");
  EXPECT_THAT(f.checks("f"), ElementsAre("read_unaligned8"));
  EXPECT_THAT(f.checks("g"), ElementsAre("read8x2", "read8x2"));
  EXPECT_THAT(f.checks("h"), ElementsAre("read8", "read2"));
  EXPECT_THAT(f.checks("i"), ElementsAre("read_unaligned8"));
  EXPECT_THAT(f.checks("j"), ElementsAre("write_unaligned4"));
  EXPECT_THAT(f.checks("k"), ElementsAre("write_unaligned16", "read8x2"));
  EXPECT_THAT(f.checks("l"), ElementsAre("read_range"));
}

TEST(Accesses, WritesSayTheirValue) {
  Instrumented f("define void @f(ptr %p) {\n store i32 -2, ptr %p, align 4\n ret void\n}");
  ASSERT_EQ(f.calls("__dh_write4").size(), 1u);
  const auto* value = llvm::dyn_cast<llvm::ConstantInt>(f.calls("__dh_write4")[0]->getArgOperand(1));
  ASSERT_TRUE(value);
  EXPECT_EQ(value->getZExtValue(), 0xfffffffeu);
}

TEST(Accesses, AggregatesHaveNoValueAndSaySo) {
  Instrumented f(
      "define void @f(ptr %p, {i32, i32} %v) {\n store {i32, i32} %v, ptr %p, align 8\n ret void\n}");
  EXPECT_THAT(f.checks(), ElementsAre("write_range"));
}

TEST(Accesses, TwoWordsSayBothValuesIfTheyAreAtHand) {
  Instrumented f(R"(
    define void @value(ptr %p) {
      store i128 110680464442257309701, ptr %p, align 8
      ret void
    }
    define void @aggregate(ptr %p, {ptr, ptr} %v) {
      store {ptr, ptr} %v, ptr %p, align 8
      ret void
    }
    define void @vector(ptr %p, <2 x i64> %v) {
      store <2 x i64> %v, ptr %p, align 16
      ret void
    }
    define void @three(ptr %p, <3 x i64> %v) {
      store <3 x i64> %v, ptr %p, align 8
      ret void
    })",
                 "-all");
  ASSERT_THAT(f.checks("value"), ElementsAre("write8x2"));
  const llvm::CallInst* call = f.calls("__dh_write8x2")[0];
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(call->getArgOperand(1))->getZExtValue(), 5u);
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(call->getArgOperand(2))->getZExtValue(), 6u);
  EXPECT_THAT(f.checks("aggregate"), ElementsAre("write16"));
  EXPECT_THAT(f.checks("vector"), ElementsAre("write16"));
  EXPECT_THAT(f.checks("three"), ElementsAre("write8x2", "write8"));
}

TEST(Accesses, HookStandsRightBeforeTheAccessWithItsLine) {
  Instrumented f(R"(
    define i32 @f(ptr %p) !dbg !3 {
      %1 = load i32, ptr %p, align 4, !dbg !6
      ret i32 %1, !dbg !7
    }
    )" + kDebugInfoOfF +
                 R"(
    !6 = !DILocation(line: 17, column: 3, scope: !3)
    !7 = !DILocation(line: 18, column: 3, scope: !3)
  )");
  ASSERT_EQ(f.calls("__dh_read4").size(), 1u);
  const llvm::CallInst* call = f.calls("__dh_read4")[0];
  EXPECT_TRUE(llvm::isa<llvm::LoadInst>(call->getNextNode()));
  EXPECT_EQ(call->getDebugLoc().getLine(), 17u);
  EXPECT_EQ(f.calls("__dh_leave")[0]->getDebugLoc().getLine(), 18u);
}

TEST(Accesses, InlinedHooksCarryTheLineOfTheAccessAndNoScopeOfTheirOwn) {
  Instrumented f(R"(
    define i32 @f(ptr %p) "target-cpu"="x86-64" "target-features"="+avx2" !dbg !3 {
      %1 = load i32, ptr %p, align 4, !dbg !6
      ret i32 %1, !dbg !6
    }
    )" + kDebugInfoOfF +
                     R"(
    !6 = !DILocation(line: 17, column: 3, scope: !3)
  )",
                 "", /*inline_hooks=*/true);
  EXPECT_EQ(f.module().getFunction("__dh_read4"), nullptr);
  ASSERT_EQ(f.calls("__dh_read_slow").size(), 1u);
  const llvm::CallInst* slow = f.calls("__dh_read_slow")[0];
  ASSERT_TRUE(slow->getDebugLoc());
  EXPECT_EQ(slow->getDebugLoc().getLine(), 17u);
  EXPECT_EQ(slow->getDebugLoc().getInlinedAt(), nullptr);
  EXPECT_TRUE(slow->hasFnAttr(llvm::Attribute::NoMerge));
  EXPECT_GE(f.statistics().inlined_hooks, 3u);  // enter, read, leave
}

// Recursion must not need many times the stack that it has without us.
TEST(Accesses, HooksStayCallsInWhatIsNotOptimised) {
  Instrumented f(R"(
    define i32 @f(ptr %p) noinline optnone {
      %1 = load i32, ptr %p, align 4
      ret i32 %1
    })",
                 "", /*inline_hooks=*/true);
  EXPECT_EQ(f.calls("__dh_read4").size(), 1u);
  EXPECT_TRUE(f.calls("__dh_enter").empty());
  EXPECT_TRUE(f.calls("__dh_leave").empty());
}

TEST(Accesses, TheRuntimeIsAddressedDirectlyByWhatCannotBePartOfALibrary) {
  const std::string f = "define i32 @f(ptr %p) {\n %1 = load i32, ptr %p, align 4\n ret i32 %1\n}\n";
  const std::string pic = "!0 = !{i32 8, !\"PIC Level\", i32 2}\n";
  const std::string pie = "!1 = !{i32 7, !\"PIE Level\", i32 2}\n";
  auto const is_direct = [](const std::string& text, const std::string& switches) {
    Instrumented module(text, switches, /*inline_hooks=*/true);
    return module.module().getNamedValue("__dh_hot")->isDSOLocal() &&
           module.module().getNamedValue("__dh_read_slow")->isDSOLocal();
  };
  EXPECT_TRUE(is_direct(f, ""));
  EXPECT_TRUE(is_direct(f + "!llvm.module.flags = !{!0, !1}\n" + pic + pie, ""));
  EXPECT_FALSE(is_direct(f + "!llvm.module.flags = !{!0}\n" + pic, ""));
  EXPECT_FALSE(is_direct(f, "-direct"));
}

TEST(Accesses, VolatileOnesArePlain) {
  Instrumented f("define void @f(ptr %p) {\n %1 = load volatile i32, ptr %p, align 4\n ret void\n}");
  EXPECT_THAT(f.checks(), ElementsAre("read4"));
}

TEST(Accesses, OtherAddressSpacesHaveNoShadow) {
  Instrumented f(
      "define void @f(ptr addrspace(257) %p) {\n %1 = load i32, ptr addrspace(257) %p, align 4\n ret "
      "void\n}");
  EXPECT_THAT(f.hooks(), IsEmpty());
}

constexpr char kCopies[] = R"(
    declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
    declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
    declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
    declare void @llvm.memcpy.inline.p0.p0.i64(ptr, ptr, i64, i1)
    define void @long(ptr %p, ptr %q, i64 %n) {
      call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 %n, i1 false)
      call void @llvm.memmove.p0.p0.i64(ptr %p, ptr %q, i64 1000, i1 false)
      call void @llvm.memset.p0.i64(ptr %p, i8 7, i64 %n, i1 false)
      ret void
    }
    define void @short(ptr %p, ptr %q) {
      call void @llvm.memcpy.p0.p0.i64(ptr align 16 %p, ptr align 16 %q, i64 16, i1 false)
      ret void
    }
    define void @middle(ptr %p, ptr %q) {
      call void @llvm.memcpy.p0.p0.i64(ptr align 8 %p, ptr align 8 %q, i64 24, i1 false)
      call void @llvm.memset.p0.i64(ptr align 8 %p, i8 0, i64 100, i1 false)
      ret void
    }
    define void @nothing(ptr %p, ptr %q) {
      call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 0, i1 false)
      ret void
    }
    define void @inline(ptr %p, ptr %q) {
      call void @llvm.memcpy.inline.p0.p0.i64(ptr %p, ptr %q, i64 200, i1 false)
      ret void
    })";

TEST(Accesses, LongCopiesAreDoneByTheRuntime) {
  Instrumented f(kCopies, "-all");
  EXPECT_THAT(f.checks("long"), ElementsAre("memcpy", "memmove", "memset"));
  for (const llvm::Instruction& instruction : llvm::instructions(*f.module().getFunction("long")))
    EXPECT_FALSE(llvm::isa<llvm::MemIntrinsic>(instruction));
}

TEST(Accesses, ShortCopiesAreCheckedInPlace) {
  Instrumented f(kCopies, "-all");
  EXPECT_THAT(f.checks("short"), ElementsAre("read8x2", "write16"));
  EXPECT_THAT(f.checks("middle"), ElementsAre("read8x2", "read8", "write_range", "write_range"));
  EXPECT_THAT(f.checks("nothing"), IsEmpty());
  EXPECT_THAT(f.checks("inline"), ElementsAre("read_range", "write_range"));
}

TEST(Accesses, PassingByValueReadsTheOriginal) {
  Instrumented f(R"(
    declare void @g(ptr byval([3 x i64]) align 8)
    define void @f(ptr %p) {
      call void @g(ptr byval([3 x i64]) align 8 %p)
      ret void
    })");
  EXPECT_THAT(f.checks(), ElementsAre("read8x2", "read8"));
}

TEST(Accesses, MaskedLanesAreCheckedOnlyIfActive) {
  Instrumented f(R"(
    declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, i32, <4 x i1>, <4 x i32>)
    declare void @llvm.masked.scatter.v2i64.v2p0(<2 x i64>, <2 x ptr>, i32, <2 x i1>)
    declare <4 x i32> @llvm.masked.expandload.v4i32(ptr, <4 x i1>, <4 x i32>)
    define <4 x i32> @f(ptr %p) {
      %1 = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr %p, i32 4, <4 x i1> <i1 1, i1 0, i1 1, i1 0>, <4 x i32> zeroinitializer)
      ret <4 x i32> %1
    }
    define <4 x i32> @g(ptr %p, <4 x i1> %m) {
      %1 = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr %p, i32 16, <4 x i1> %m, <4 x i32> zeroinitializer)
      ret <4 x i32> %1
    }
    define void @h(<2 x ptr> %p, <2 x i64> %v, <2 x i1> %m) {
      call void @llvm.masked.scatter.v2i64.v2p0(<2 x i64> %v, <2 x ptr> %p, i32 8, <2 x i1> %m)
      ret void
    }
    define <4 x i32> @i(ptr %p, <4 x i1> %m) {
      %1 = call <4 x i32> @llvm.masked.expandload.v4i32(ptr %p, <4 x i1> %m, <4 x i32> zeroinitializer)
      ret <4 x i32> %1
    })");
  EXPECT_THAT(f.checks("f"), ElementsAre("read4", "read4"));
  EXPECT_EQ(f.module().getFunction("f")->size(), 1u);
  EXPECT_THAT(f.checks("g"), ElementsAre("read4", "read4", "read4", "read4"));
  EXPECT_EQ(f.module().getFunction("g")->size(), 9u);  // each behind its own branch
  EXPECT_THAT(f.checks("h"), ElementsAre("write8", "write8"));
  EXPECT_THAT(f.checks("i"), ElementsAre("read_range"));
}

TEST(Accesses, CompilersOwnCountersAreNotTheProgram) {
  Instrumented f(R"(
    @__profc_f = internal global [1 x i64] zeroinitializer
    define void @f() {
      %1 = load i64, ptr @__profc_f, align 8
      %2 = add i64 %1, 1
      store i64 %2, ptr @__profc_f, align 8
      ret void
    })");
  EXPECT_THAT(f.hooks(), IsEmpty());
}

}  // namespace
}  // namespace deadheat::instrument::testing
