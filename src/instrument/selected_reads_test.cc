#include "instrument/selected_reads.h"

#include <llvm/Transforms/InstCombine/InstCombine.h>

#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

using namespace llvm;

// A function before InstCombine, and what is read in it afterwards.
class Combined {
 public:
  auto instructions() const { return llvm::instructions(*module_->getFunction("f")); }

  explicit Combined(const std::string& text) {
    SMDiagnostic error;
    module_ = parseAssemblyString(text, error, context_);
    if (!module_) {
      ADD_FAILURE() << "line " << error.getLineNo() << ": " << error.getMessage().str();
      module_ = std::make_unique<Module>("empty", context_);
      return;
    }
    Function& function = *module_->getFunction("f");
    PassBuilder builder;
    LoopAnalysisManager loops;
    FunctionAnalysisManager functions;
    CGSCCAnalysisManager components;
    ModuleAnalysisManager modules;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    const Masks masks = mark_reads(function);
    InstCombinePass().run(function, functions);
    invented_ = reads().size();
    united_ = unite_selected_reads(function, masks);
    std::string problem;
    raw_string_ostream stream(problem);
    EXPECT_FALSE(verifyModule(*module_, &stream)) << problem;
  }

  std::vector<const LoadInst*> reads() const {
    std::vector<const LoadInst*> found;
    for (const Instruction& i : instructions())
      if (const auto* const read = dyn_cast<LoadInst>(&i)) found.push_back(read);
    return found;
  }
  size_t invented() const { return invented_; }  // how many reads InstCombine has left
  unsigned united() const { return united_; }

 private:
  LLVMContext context_;
  std::unique_ptr<Module> module_;
  size_t invented_ = 0;
  unsigned united_ = 0;
};

// What a read is of: the names of what is selected.
std::vector<std::string> variables(const LoadInst* read) {
  const auto* const selected = dyn_cast<SelectInst>(read->getPointerOperand());
  if (selected == nullptr) return {read->getPointerOperand()->getName().str()};
  return {selected->getTrueValue()->getName().str(), selected->getFalseValue()->getName().str()};
}

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST(SelectedReads, OfTwoVariablesTheChosenOneIsRead) {
  const Combined f(R"(
    @a = global i32 0
    @b = global i32 0
    define i32 @f(i1 %c) {
      %p = select i1 %c, ptr @a, ptr @b
      %v = load i32, ptr %p, align 4
      ret i32 %v
    })");
  EXPECT_EQ(f.invented(), 2u) << "LLVM has learnt not to, and all this may go";
  EXPECT_EQ(f.united(), 1u);
  ASSERT_EQ(f.reads().size(), 1u);
  EXPECT_THAT(variables(f.reads()[0]), ElementsAre("a", "b"));
  EXPECT_FALSE(f.reads()[0]->hasMetadata("deadheat.read"));
}

TEST(SelectedReads, BesideAConstantTheVariableIsReadIfItIsChosen) {
  const Combined f(R"(
    @a = constant i32 7
    @b = global i32 0
    define i32 @f(i1 %c) {
      %p = select i1 %c, ptr @a, ptr @b
      %v = load i32, ptr %p, align 4
      ret i32 %v
    })");
  EXPECT_EQ(f.united(), 1u);
  ASSERT_EQ(f.reads().size(), 1u);
  EXPECT_THAT(variables(f.reads()[0]), UnorderedElementsAre("__deadheat_nothing4", "b"));
}

TEST(SelectedReads, AVariableOfTwoSelectionsIsReadIfOneOfThemChoosesIt) {
  const Combined f(R"(
    @a = global i32 0
    @b = global i32 0
    @k = constant i32 7
    define i32 @f(i1 %c, i1 %d) {
      %p = select i1 %c, ptr @a, ptr @b
      %v = load i32, ptr %p, align 4
      %q = select i1 %d, ptr @b, ptr @k
      %w = load i32, ptr %q, align 4
      %x = xor i32 %v, %w
      ret i32 %x
    })");
  for (const LoadInst* const read : f.reads()) EXPECT_EQ(variables(read).size(), 2u);
  EXPECT_EQ(f.reads().size(), 2u);
}

TEST(SelectedReads, WhatTheProgramReadsAnywayStays) {
  const Combined f(R"(
    @a = global i32 0
    @b = global i32 0
    define i32 @f(i1 %c) {
      %v = load i32, ptr @a, align 4
      %w = load i32, ptr @b, align 4
      %x = select i1 %c, i32 %v, i32 %w
      ret i32 %x
    })");
  EXPECT_EQ(f.united(), 0u);
  EXPECT_EQ(f.reads().size(), 2u);
}

TEST(SelectedReads, AReadBeforeTheSelectionIsNotMadeAgain) {
  const Combined f(R"(
    @a = global i32 0
    @b = global i32 0
    define i32 @f(i1 %c) {
      %v = load i32, ptr @b, align 4
      %p = select i1 %c, ptr @a, ptr @b
      %w = load i32, ptr %p, align 4
      %x = xor i32 %v, %w
      ret i32 %x
    })");
  ASSERT_EQ(f.reads().size(), 2u);
  EXPECT_THAT(variables(f.reads()[0]), ElementsAre("b"));
  EXPECT_EQ(variables(f.reads()[1]).size(), 2u);
}

// What is read under a mask, and the mask.
std::string masks_in(const Combined& f) {
  std::string text;
  raw_string_ostream stream(text);
  for (const Instruction& i : f.instructions())
    if (const auto* const call = dyn_cast<IntrinsicInst>(&i);
        call != nullptr && call->getIntrinsicID() == Intrinsic::masked_load) {
      EXPECT_FALSE(call->hasMetadata("deadheat.masked"));
      call->getArgOperand(0)->printAsOperand(stream, false);
      stream << " under ";
      call->getArgOperand(2)->printAsOperand(stream, false);
    }
  return text;
}

TEST(SelectedReads, WhatIsReadUnderAMaskStaysSo) {
  const Combined constant(R"(
    @a = global [4 x i32] zeroinitializer, align 16
    declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, i32, <4 x i1>, <4 x i32>)
    declare void @llvm.masked.store.v4i32.p0(<4 x i32>, ptr, i32, <4 x i1>)
    define void @f() {
      %v = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr @a, i32 16, <4 x i1> <i1 1, i1 0, i1 1, i1 0>, <4 x i32> poison)
      %w = add <4 x i32> %v, <i32 1, i32 1, i32 1, i32 1>
      call void @llvm.masked.store.v4i32.p0(<4 x i32> %w, ptr @a, i32 16, <4 x i1> <i1 1, i1 0, i1 1, i1 0>)
      ret void
    })");
  EXPECT_EQ(constant.invented(), 1u) << "LLVM has learnt not to, and all this may go";
  EXPECT_EQ(constant.united(), 1u);
  EXPECT_EQ(constant.reads().size(), 0u);
  EXPECT_EQ(masks_in(constant), "@a under <i1 true, i1 false, i1 true, i1 false>");

  const Combined variable(R"(
    @a = global [4 x i32] zeroinitializer, align 16
    declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, i32, <4 x i1>, <4 x i32>)
    define <4 x i32> @f(<4 x i1> %m, <4 x i32> %else) {
      %v = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr @a, i32 16, <4 x i1> %m, <4 x i32> %else)
      ret <4 x i32> %v
    })");
  EXPECT_EQ(variable.invented(), 1u);
  EXPECT_EQ(masks_in(variable), "@a under %m");
}

TEST(SelectedReads, WhatIsReadUnderNoMaskAnyMoreIsReadWhole) {
  const Combined f(R"(
    @a = global [4 x i32] zeroinitializer, align 16
    declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, i32, <4 x i1>, <4 x i32>)
    define <4 x i32> @f() {
      %v = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr @a, i32 16, <4 x i1> <i1 1, i1 1, i1 1, i1 1>, <4 x i32> poison)
      ret <4 x i32> %v
    })");
  EXPECT_EQ(f.united(), 0u);
  ASSERT_EQ(f.reads().size(), 1u);
  EXPECT_FALSE(f.reads()[0]->hasMetadata("deadheat.masked"));
}

}  // namespace
}  // namespace deadheat::instrument::testing
