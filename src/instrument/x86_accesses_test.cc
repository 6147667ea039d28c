#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

uint64_t constant(const llvm::Value* value) { return llvm::cast<llvm::ConstantInt>(value)->getZExtValue(); }

TEST(X86Accesses, AMaskIsTheSignsOfItsLanes) {
  Instrumented f(R"(
    declare <4 x i32> @llvm.x86.avx2.maskload.d(ptr, <4 x i32>)
    declare <4 x double> @llvm.x86.avx.maskload.pd.256(ptr, <4 x i64>)
    define <4 x i32> @known(ptr %p) {
      %1 = call <4 x i32> @llvm.x86.avx2.maskload.d(ptr %p, <4 x i32> <i32 -1, i32 1, i32 -2147483648, i32 0>)
      ret <4 x i32> %1
    }
    define <4 x double> @unknown(ptr %p, <4 x i64> %m) {
      %1 = call <4 x double> @llvm.x86.avx.maskload.pd.256(ptr %p, <4 x i64> %m)
      ret <4 x double> %1
    })");
  EXPECT_THAT(f.checks("known"), ElementsAre("read_unaligned4", "read_unaligned4"));
  EXPECT_EQ(f.module().getFunction("known")->size(), 1u);
  EXPECT_THAT(f.checks("unknown"), AllOf(SizeIs(4), Each("read_unaligned8")));
  EXPECT_EQ(f.module().getFunction("unknown")->size(), 9u);  // each behind its own branch
}

TEST(X86Accesses, MaskedStoresSayTheirValues) {
  Instrumented f(R"(
    declare void @llvm.x86.avx.maskstore.ps(ptr, <4 x i32>, <4 x float>)
    declare void @llvm.x86.sse2.maskmov.dqu(<16 x i8>, <16 x i8>, ptr)
    declare void @llvm.x86.mmx.maskmovq(x86_mmx, x86_mmx, ptr)
    define void @f(ptr %p, <4 x float> %v) {
      call void @llvm.x86.avx.maskstore.ps(ptr %p, <4 x i32> <i32 0, i32 -1, i32 0, i32 -1>, <4 x float> %v)
      ret void
    }
    define void @g(ptr %p, <16 x i8> %v, <16 x i8> %m) {
      call void @llvm.x86.sse2.maskmov.dqu(<16 x i8> %v, <16 x i8> %m, ptr %p)
      ret void
    }
    define void @h(ptr %p, x86_mmx %v, x86_mmx %m) {
      call void @llvm.x86.mmx.maskmovq(x86_mmx %v, x86_mmx %m, ptr %p)
      ret void
    })");
  EXPECT_THAT(f.checks("f"), ElementsAre("write_unaligned4", "write_unaligned4"));
  EXPECT_THAT(f.checks("g"), AllOf(SizeIs(16), Each("write1")));
  EXPECT_THAT(f.checks("h"), AllOf(SizeIs(8), Each("write1")));
}

TEST(X86Accesses, AGatherReadsAsManyLanesAsThereAreIndicesAndRoom) {
  Instrumented f(R"(
    declare <8 x i32> @llvm.x86.avx2.gather.d.d.256(<8 x i32>, ptr, <8 x i32>, <8 x i32>, i8)
    declare <4 x float> @llvm.x86.avx2.gather.q.ps(<4 x float>, ptr, <2 x i64>, <4 x float>, i8)
    declare <2 x double> @llvm.x86.avx2.gather.d.pd(<2 x double>, ptr, <4 x i32>, <2 x double>, i8)
    define <8 x i32> @eight(ptr %p, <8 x i32> %i) {
      %1 = call <8 x i32> @llvm.x86.avx2.gather.d.d.256(<8 x i32> undef, ptr %p, <8 x i32> %i, <8 x i32> <i32 -1, i32 -1, i32 -1, i32 -1, i32 -1, i32 -1, i32 -1, i32 -1>, i8 4)
      ret <8 x i32> %1
    }
    define <4 x float> @few_indices(ptr %p, <2 x i64> %i, <4 x float> %m) {
      %1 = call <4 x float> @llvm.x86.avx2.gather.q.ps(<4 x float> undef, ptr %p, <2 x i64> %i, <4 x float> %m, i8 1)
      ret <4 x float> %1
    }
    define <2 x double> @few_lanes(ptr %p, <4 x i32> %i, <2 x double> %m) {
      %1 = call <2 x double> @llvm.x86.avx2.gather.d.pd(<2 x double> undef, ptr %p, <4 x i32> %i, <2 x double> %m, i8 8)
      ret <2 x double> %1
    })");
  EXPECT_THAT(f.checks("eight"), AllOf(SizeIs(8), Each("read_unaligned4")));
  EXPECT_EQ(f.module().getFunction("eight")->size(), 1u);
  EXPECT_THAT(f.checks("few_indices"), ElementsAre("read_unaligned4", "read_unaligned4"));
  EXPECT_THAT(f.checks("few_lanes"), ElementsAre("read_unaligned8", "read_unaligned8"));
}

TEST(X86Accesses, MasksOfAvx512AreBits) {
  Instrumented f(R"(
    declare <8 x double> @llvm.x86.avx512.mask.gather.dpd.512(<8 x double>, ptr, <8 x i32>, <8 x i1>, i32)
    declare void @llvm.x86.avx512.scatterdiv2.df(ptr, i8, <2 x i64>, <2 x double>, i32)
    define <8 x double> @f(ptr %p, <8 x i32> %i) {
      %1 = call <8 x double> @llvm.x86.avx512.mask.gather.dpd.512(<8 x double> undef, ptr %p, <8 x i32> %i, <8 x i1> <i1 0, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 1>, i32 8)
      ret <8 x double> %1
    }
    define void @g(ptr %p, <2 x i64> %i, <2 x double> %v) {
      call void @llvm.x86.avx512.scatterdiv2.df(ptr %p, i8 2, <2 x i64> %i, <2 x double> %v, i32 8)
      ret void
    })");
  EXPECT_THAT(f.checks("f"), ElementsAre("read_unaligned8", "read_unaligned8"));
  EXPECT_THAT(f.checks("g"), ElementsAre("write_unaligned8"));
}

TEST(X86Accesses, NarrowedLanesLieOneAfterTheOther) {
  Instrumented f(R"(
    declare void @llvm.x86.avx512.mask.pmovs.qw.mem.512(ptr, <8 x i64>, i8)
    declare <16 x i8> @llvm.x86.avx512.mask.pmov.db.128(<4 x i32>, <16 x i8>, i8)
    define void @f(ptr %p, <8 x i64> %v) {
      call void @llvm.x86.avx512.mask.pmovs.qw.mem.512(ptr %p, <8 x i64> %v, i8 9)
      ret void
    }
    define <16 x i8> @g(<4 x i32> %v, i8 %m) {
      %1 = call <16 x i8> @llvm.x86.avx512.mask.pmov.db.128(<4 x i32> %v, <16 x i8> zeroinitializer, i8 %m)
      ret <16 x i8> %1
    })");
  EXPECT_THAT(f.checks("f"), ElementsAre("write_range", "write_range"));
  for (const llvm::CallInst* call : f.calls("__dh_write_range"))
    EXPECT_EQ(constant(call->getArgOperand(1)), 2u);
  EXPECT_THAT(f.checks("g"), IsEmpty());
}

TEST(X86Accesses, FixedAreas) {
  Instrumented f(R"(
    declare <16 x i8> @llvm.x86.sse3.ldu.dq(ptr)
    declare <32 x i8> @llvm.x86.avx.ldu.dq.256(ptr)
    declare void @llvm.x86.fxsave64(ptr)
    declare void @llvm.x86.fxrstor64(ptr)
    declare void @llvm.x86.movdir64b(ptr, ptr)
    declare void @llvm.x86.sse2.clflush(ptr)
    define void @loads(ptr %p, ptr %q) {
      %1 = call <16 x i8> @llvm.x86.sse3.ldu.dq(ptr %p)
      %2 = call <32 x i8> @llvm.x86.avx.ldu.dq.256(ptr %q)
      ret void
    }
    define void @saves(ptr %p) {
      call void @llvm.x86.fxsave64(ptr %p)
      ret void
    }
    define void @restores(ptr %p) {
      call void @llvm.x86.fxrstor64(ptr %p)
      ret void
    }
    define void @copies(ptr %p, ptr %q) {
      call void @llvm.x86.movdir64b(ptr %p, ptr %q)
      ret void
    }
    define void @flushes(ptr %p) {
      call void @llvm.x86.sse2.clflush(ptr %p)
      ret void
    })");
  EXPECT_THAT(f.checks("loads"), ElementsAre("read_unaligned16", "read_range"));
  EXPECT_THAT(f.checks("saves"), ElementsAre("write_range"));
  EXPECT_THAT(f.checks("restores"), ElementsAre("read_range"));
  EXPECT_THAT(f.checks("copies"), ElementsAre("read_range", "write_range"));
  EXPECT_THAT(f.checks("flushes"), IsEmpty());
}

TEST(X86Accesses, XsaveWritesTheComponentsAskedForAndItsHeader) {
  Instrumented f(R"(
    declare void @llvm.x86.xsave64(ptr, i32, i32)
    define void @none(ptr %p) {
      call void @llvm.x86.xsave64(ptr %p, i32 0, i32 4)
      ret void
    }
    define void @sse(ptr %p) {
      call void @llvm.x86.xsave64(ptr %p, i32 0, i32 2)
      ret void
    }
    define void @unknown(ptr %p, i32 %mask) {
      call void @llvm.x86.xsave64(ptr %p, i32 0, i32 %mask)
      ret void
    })",
                 "-all");
  EXPECT_THAT(f.checks("none"), ElementsAre("write_range"));
  EXPECT_THAT(f.checks("sse"), ElementsAre("write_range", "write_range", "write_range"));
  EXPECT_THAT(f.checks("unknown"), AllOf(SizeIs(5), Each("write_range")));
  const auto ranges = f.calls("__dh_write_range");
  EXPECT_EQ(constant(ranges[0]->getArgOperand(1)), 8u);
  EXPECT_EQ(constant(ranges[1]->getArgOperand(1)), 8u);
  EXPECT_EQ(constant(ranges[2]->getArgOperand(1)), 256u);
  EXPECT_TRUE(llvm::isa<llvm::SelectInst>(ranges[4]->getArgOperand(1)));
}

}  // namespace
}  // namespace deadheat::instrument::testing
