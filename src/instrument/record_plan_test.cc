// The plan: which instructions are points, and that a round trip through bitcode changes nothing.
#include <llvm/Analysis/TargetFolder.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "instrument/record/pieces.h"
#include "instrument/record/plan.h"
#include "instrument/record/recorder.h"

namespace deadheat::instrument::record {
namespace {

using namespace llvm;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const char* name_of(PointKind kind) {
  static const char* const names[] = {"load",     "store",   "copy",   "fill",    "local",
                                      "by value", "atomic",  "call",   "visible", "opaque",
                                      "setjmp",   "landing", "resume", "dropped"};
  return names[static_cast<int>(kind)];
}

class RecordPlan : public ::testing::Test {
 protected:
  Module& parse(const std::string& text) {
    SMDiagnostic error;
    const std::string target =
        "target datalayout = "
        "\"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n"
        "target triple = \"x86_64-pc-linux-gnu\"\n";
    module_ = parseAssemblyString(target + text, error, context_);
    if (!module_) {
      ADD_FAILURE() << "line " << error.getLineNo() - 2 << ": " << error.getMessage().str();
      module_ = std::make_unique<Module>("empty", context_);
    }
    ModulePlan::prepare(*module_);
    return *module_;
  }

  static std::vector<std::string> kinds(const ModulePlan& plan, const std::string& function = "f") {
    for (const FunctionPlan& candidate : plan.functions()) {
      if (candidate.function->getName() != function) continue;
      std::vector<std::string> names;
      for (const Point& point : candidate.points) names.push_back(name_of(point.kind));
      return names;
    }
    return {"no function " + function};
  }
  std::vector<std::string> kinds(const std::string& text) { return kinds(ModulePlan(parse(text))); }

  LLVMContext context_;
  std::unique_ptr<Module> module_;
};

TEST_F(RecordPlan, LoadsAndStoresOfSharedMemoryArePoints) {
  EXPECT_THAT(kinds("@g = global i32 0\n define void @f(ptr %p) { %v = load i32, ptr @g\n store i32 %v, ptr "
                    "%p\n ret void }"),
              ElementsAre("load", "store"));
}

TEST_F(RecordPlan, ALocalThatOnlyThisFunctionTouchesIsLeftAlone) {
  EXPECT_THAT(kinds("define i32 @f(i32 %v) { %x = alloca [2 x i32]\n %e = getelementptr i8, ptr %x, i64 4\n"
                    " store i32 %v, ptr %e\n %r = load i32, ptr %e\n ret i32 %r }"),
              IsEmpty());
}

TEST_F(RecordPlan, ALocalWhoseAddressLeavesIsLogged) {
  EXPECT_THAT(kinds("declare void @g(ptr)\n define i32 @f(i32 %v) { %x = alloca i32\n store i32 %v, ptr %x\n"
                    " call void @g(ptr %x)\n %r = load i32, ptr %x\n ret i32 %r }"),
              ElementsAre("local", "store", "call", "load"));
}

TEST_F(RecordPlan, AnIndexThatIsNotConstantMakesALocalVisible) {
  EXPECT_THAT(kinds("define i32 @f(i64 %i) { %x = alloca [4 x i32]\n %e = getelementptr i32, ptr %x, i64 %i\n"
                    " %r = load i32, ptr %e\n ret i32 %r }"),
              ElementsAre("local", "load"));
}

TEST_F(RecordPlan, AnAccessBeyondALocalMakesItVisible) {
  EXPECT_THAT(kinds("define i32 @f() { %x = alloca i32\n %e = getelementptr i8, ptr %x, i64 2\n"
                    " %r = load i32, ptr %e\n ret i32 %r }"),
              ElementsAre("local", "load"));
}

TEST_F(RecordPlan, CallsAreVisibleOnlyWhereTheBodyIsCertain) {
  EXPECT_THAT(
      kinds("define internal void @own() { ret void }\n define dso_local void @strong() { ret void }\n"
            "define linkonce_odr dso_local void @inline() { ret void }\n define void @replaceable() { ret "
            "void }\n"
            "declare void @elsewhere()\n"
            "define void @f(ptr %p) { call void @own()\n call void @strong()\n call void @inline()\n"
            " call void @replaceable()\n call void @elsewhere()\n call void %p()\n ret void }"),
      ElementsAre("visible", "visible", "call", "call", "call", "call"));
}

TEST_F(RecordPlan, AtomicsOfAnyKindAreAtomics) {
  EXPECT_THAT(
      kinds("define void @f(ptr %p) { %a = load atomic i32, ptr %p acquire, align 4\n"
            " store atomic i32 1, ptr %p release, align 4\n %b = atomicrmw add ptr %p, i32 1 seq_cst\n"
            " %c = cmpxchg ptr %p, i32 0, i32 1 acq_rel monotonic\n fence seq_cst\n"
            " fence syncscope(\"singlethread\") seq_cst\n ret void }"),
      ElementsAre("atomic", "atomic", "atomic", "atomic", "atomic"));
}

TEST_F(RecordPlan, UnusualReadModifyWritesBecomeCompareExchanges) {
  const std::vector<std::string> found =
      kinds("define float @f(ptr %p) { %a = atomicrmw fadd ptr %p, float 1.0 seq_cst\n ret float %a }");
  EXPECT_THAT(found, ElementsAre("atomic", "atomic"));
}

TEST_F(RecordPlan, WhatComesFromOutsideIsOpaque) {
  EXPECT_THAT(kinds("@t = thread_local global i32 0\n declare ptr @llvm.threadlocal.address.p0(ptr)\n"
                    "declare i64 @llvm.readcyclecounter()\n declare double @llvm.sqrt.f64(double)\n"
                    "define i64 @f(double %d) { %a = call ptr @llvm.threadlocal.address.p0(ptr @t)\n"
                    " %b = call i64 @llvm.readcyclecounter()\n %c = call i64 asm \"rdtsc\", \"={rax}\"()\n"
                    " %e = call double @llvm.sqrt.f64(double %d)\n ret i64 %b }"),
              ElementsAre("opaque", "opaque", "opaque"));
}

TEST_F(RecordPlan, ArgumentsByValueComeFirst) {
  EXPECT_THAT(kinds("define i32 @f(ptr byval([4 x i32]) %p) { %v = load i32, ptr %p\n ret i32 %v }"),
              ElementsAre("by value", "load"));
}

TEST_F(RecordPlan, ExceptionsLandAndGoOn) {
  EXPECT_THAT(kinds("declare void @g()\n declare i32 @__gxx_personality_v0(...)\n"
                    "define void @f() personality ptr @__gxx_personality_v0 { invoke void @g() to label %n "
                    "unwind label %u\n"
                    "n: ret void\nu: %l = landingpad { ptr, i32 } cleanup\n resume { ptr, i32 } %l }"),
              ElementsAre("call", "landing", "resume"));
}

TEST_F(RecordPlan, ComputedGotoIsLeftToTheInvisible) {
  const ModulePlan plan(parse("define void @f(ptr %p) { indirectbr ptr %p, [label %a]\na: ret void }"));
  EXPECT_TRUE(plan.functions().empty());
  ASSERT_EQ(plan.left_out().size(), 1u);
  EXPECT_EQ(plan.left_out()[0].second, "computed goto");
}

TEST_F(RecordPlan, OnlyWhatIsReferredToByAddressIsAGlobal) {
  const ModulePlan plan(
      parse("@used = global i32 0\n @unused = global i32 0\n @inside = global [4 x i32] zeroinitializer\n"
            "declare void @called()\n define internal void @own() { ret void }\n"
            "define void @f(ptr %p) { store ptr @used, ptr %p\n"
            " store i32 1, ptr getelementptr ([4 x i32], ptr @inside, i64 0, i64 2)\n"
            " call void @called()\n call void @own()\n ret void }"));
  std::vector<std::string> names;
  for (const GlobalValue* global : plan.globals()) names.push_back(global->getName().str());
  EXPECT_THAT(names, ElementsAre("used", "inside", "called"));
}

constexpr const char* kMixed =
    "@g = global [4 x i64] zeroinitializer\n declare i64 @outside(ptr)\n declare void "
    "@llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
    "declare i32 @__gxx_personality_v0(...)\n"
    "define internal i64 @helper(ptr %p) { %v = load i64, ptr %p\n ret i64 %v }\n"
    "define i64 @f(ptr %p, <4 x i32> %w) personality ptr @__gxx_personality_v0 {\n %x = alloca i64\n %y = "
    "alloca i64\n"
    " store <4 x i32> %w, ptr %p, align 4\n %a = call i64 @helper(ptr %p)\n store i64 %a, ptr %y\n"
    " %b = invoke i64 @outside(ptr %x) to label %n unwind label %u\n"
    "n: call void @llvm.memcpy.p0.p0.i64(ptr @g, ptr %p, i64 32, i1 false)\n"
    " %c = atomicrmw max ptr %p, i64 %b monotonic\n %d = load { i8, i64 }, ptr %p\n"
    " %e = extractvalue { i8, i64 } %d, 1\n ret i64 %e\n"
    "u: %l = landingpad { ptr, i32 } catch ptr null\n ret i64 0 }";

TEST_F(RecordPlan, SurvivesARoundTripThroughBitcode) {
  Module& original = parse(kMixed);
  const ModulePlan before(original);
  SmallString<0> bitcode;
  raw_svector_ostream stream(bitcode);
  WriteBitcodeToFile(original, stream);
  LLVMContext other;
  Expected<std::unique_ptr<Module>> read = parseBitcodeFile(MemoryBufferRef(bitcode.str(), "again"), other);
  ASSERT_TRUE(static_cast<bool>(read));
  const ModulePlan after(**read);
  ASSERT_EQ(before.functions().size(), after.functions().size());
  EXPECT_EQ(before.site_count(), after.site_count());
  EXPECT_EQ(before.globals().size(), after.globals().size());
  for (size_t i = 0; i < before.functions().size(); ++i) {
    const FunctionPlan& one = before.functions()[i];
    const FunctionPlan& two = after.functions()[i];
    EXPECT_EQ(one.function->getName(), two.function->getName());
    ASSERT_EQ(one.points.size(), two.points.size());
    for (size_t k = 0; k < one.points.size(); ++k) {
      EXPECT_EQ(one.points[k].kind, two.points[k].kind);
      EXPECT_EQ(one.points[k].site, two.points[k].site);
    }
  }
}

TEST_F(RecordPlan, TheRecordedModuleIsValid) {
  for (const bool is_inlined : {false, true}) {
    Module& module = parse(kMixed);
    ModuleAnalysisManager analyses;
    Options options;
    options.mode = "record";
    RecordPass(options, is_inlined).run(module, analyses);
    std::string problem;
    raw_string_ostream stream(problem);
    EXPECT_FALSE(verifyModule(module, &stream)) << problem;
  }
}

TEST_F(RecordPlan, AVariadicFunctionThatMayBeCalledBackIsValid) {
  Module& module = parse(
      "define i32 @f(i32 %n, ...) { %c = icmp eq i32 %n, 0\n br i1 %c, label %a, label %b\n"
      "a: ret i32 1\nb: ret i32 2 }");
  ModuleAnalysisManager analyses;
  Options options;
  options.mode = "record";
  RecordPass(options, false).run(module, analyses);
  std::string problem;
  raw_string_ostream stream(problem);
  EXPECT_FALSE(verifyModule(module, &stream)) << problem;
}

TEST_F(RecordPlan, WhatIsRecordedIsReadOnce) {
  // The code generator may read the parts of a vector again, unless it is told that they can change.
  Module& module = parse(
      "define <2 x double> @f(ptr %p, ptr %q) { %v = load <2 x double>, ptr %p, align 8\n"
      " %w = load i64, ptr %q, align 8\n store i64 %w, ptr %p, align 8\n ret <2 x double> %v }");
  ModuleAnalysisManager analyses;
  Options options;
  options.mode = "record";
  RecordPass(options, false).run(module, analyses);
  unsigned loads = 0;
  for (Instruction& instruction : instructions(*module.getFunction("f"))) {
    const auto* const load = dyn_cast<LoadInst>(&instruction);
    if (load == nullptr || isa<AllocaInst>(load->getPointerOperand())) continue;
    EXPECT_TRUE(load->isVolatile());
    ++loads;
  }
  EXPECT_EQ(loads, 2u);
}

TEST_F(RecordPlan, ResultsAreKeyedByTheirFirstArgumentIfItIsANumber) {
  Module& module = parse(
      "declare i32 @n(i32)\n declare i32 @p(ptr)\n declare i32 @z()\n"
      "define void @f(i32 %a, ptr %b) { call i32 @n(i32 %a)\n call i32 @p(ptr %b)\n call i32 @z()\n ret void "
      "}");
  const auto keys = [&](const ModulePlan& plan) {
    std::vector<bool> found;
    for (const Point& point : plan.functions().front().points)
      found.push_back(plan.key_of(*cast<CallBase>(point.instruction)) != nullptr);
    return found;
  };
  EXPECT_THAT(keys(ModulePlan(module)), ElementsAre(true, false, false));
  // Of a recording that was made before.
  module.eraseNamedMetadata(module.getNamedMetadata("deadheat.keys"));
  EXPECT_THAT(keys(ModulePlan(module)), ElementsAre(false, false, false));
}

TEST(Pieces, ValuesOfAllTypesComeTogetherAgain) {
  LLVMContext context;
  Module module("m", context);
  module.setDataLayout("e-m:e-i64:64-i128:128-f80:128-n8:16:32:64-S128");
  Function* const function = Function::Create(FunctionType::get(Type::getVoidTy(context), false),
                                              GlobalValue::ExternalLinkage, "f", module);
  IRBuilder<TargetFolder> builder(BasicBlock::Create(context, "", function),
                                  TargetFolder(module.getDataLayout()));
  Type* const i64 = builder.getInt64Ty();
  const std::vector<Constant*> values = {
      builder.getInt1(true),
      builder.getInt8(200),
      builder.getIntN(24, 0x123456),
      builder.getInt64(0x123456789abcdef0),
      ConstantInt::get(context, APInt(128, "123456789abcdef0fedcba9876543210", 16)),
      ConstantFP::get(Type::getFloatTy(context), 1.5),
      ConstantFP::get(Type::getDoubleTy(context), -2.25),
      ConstantFP::get(Type::getX86_FP80Ty(context), 3.125),
      ConstantDataVector::get(context, ArrayRef<uint32_t>{1, 2, 3}),
      ConstantDataVector::get(context,
                              ArrayRef<uint8_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}),
      ConstantStruct::getAnon({builder.getInt8(7), ConstantInt::get(i64, 9), builder.getInt16(3)}),
      ConstantArray::get(ArrayType::get(i64, 2), {ConstantInt::get(i64, 1), ConstantInt::get(i64, 2)}),
  };
  const std::vector<size_t> counts = {1, 1, 1, 1, 2, 1, 1, 2, 2, 2, 3, 2};
  for (size_t i = 0; i < values.size(); ++i) {
    const SmallVector<Value*, 4> words = to_words(builder, values[i]);
    EXPECT_EQ(words.size(), counts[i]) << i;
    EXPECT_EQ(words.size(), pieces_of(values[i]->getType(), module.getDataLayout()).size());
    EXPECT_EQ(from_words(builder, values[i]->getType(), words), values[i]) << i;
  }
}

TEST(Pieces, PaddingIsNoPiece) {
  LLVMContext context;
  const DataLayout layout("e-m:e-i64:64-i128:128-f80:128-n8:16:32:64-S128");
  const auto pieces = pieces_of(StructType::get(Type::getInt8Ty(context), Type::getInt64Ty(context)), layout);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].size, 1u);
  EXPECT_EQ(pieces[1].offset, 8u);
}

}  // namespace
}  // namespace deadheat::instrument::record
