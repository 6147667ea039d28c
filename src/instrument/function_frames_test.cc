#include <llvm/Analysis/ValueTracking.h>

#include "instrument/module_setup.h"
#include "instrument/sanitizer_marks.h"
#include "instrument/testing.h"
#include "runtime/abi.h"

namespace deadheat::instrument::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Frames, AFunctionThatChecksOrCallsHasAFrame) {
  Instrumented f(R"(
    declare void @g()
    define i32 @reads(ptr %p) {
      %1 = load i32, ptr %p, align 4
      ret i32 %1
    }
    define void @calls() {
      call void @g()
      ret void
    }
    define i32 @computes(i32 %a) {
      %1 = add i32 %a, 1
      ret i32 %1
    })");
  EXPECT_THAT(f.hooks("reads"), ElementsAre("enter", "read4", "leave"));
  EXPECT_THAT(f.hooks("calls"), ElementsAre("enter", "leave"));
  EXPECT_THAT(f.hooks("computes"), IsEmpty());
}

TEST(Frames, EveryReturnLeavesTheSameFrame) {
  Instrumented f(R"(
    define i32 @f(ptr %p, i1 %c) {
      br i1 %c, label %a, label %b
    a:
      %1 = load i32, ptr %p, align 4
      ret i32 %1
    b:
      ret i32 0
    })");
  ASSERT_EQ(f.calls("__dh_leave").size(), 2u);
  for (const llvm::CallInst* leave : f.calls("__dh_leave")) {
    EXPECT_EQ(leave->getArgOperand(0), f.calls("__dh_enter")[0]);
    EXPECT_TRUE(llvm::isa<llvm::ReturnInst>(leave->getNextNode()));
  }
}

TEST(Frames, AMustTailCallIsLeftBefore) {
  Instrumented f(R"(
    declare i32 @g(ptr)
    define i32 @f(ptr %p) {
      %1 = musttail call i32 @g(ptr %p)
      ret i32 %1
    })");
  EXPECT_EQ(
      llvm::cast<llvm::CallInst>(f.calls("__dh_leave")[0]->getNextNode())->getCalledFunction()->getName(),
      "g");
}

TEST(Frames, LandingsAndSecondReturnsResume) {
  Instrumented f(R"(
    declare void @g()
    declare i32 @_setjmp(ptr) returns_twice
    declare i32 @__gxx_personality_v0(...)
    define void @f() personality ptr @__gxx_personality_v0 {
      invoke void @g() to label %normal unwind label %pad
    normal:
      ret void
    pad:
      %1 = landingpad { ptr, i32 } catch ptr null
      ret void
    }
    define void @h(ptr %buffer) {
      %1 = call i32 @_setjmp(ptr %buffer) returns_twice
      ret void
    })");
  EXPECT_THAT(f.hooks("f"), ElementsAre("enter", "leave", "resume", "leave"));
  EXPECT_THAT(f.hooks("h"), ElementsAre("enter", "resume", "leave"));
  EXPECT_TRUE(llvm::isa<llvm::LandingPadInst>(f.calls("__dh_resume")[0]->getPrevNode()));
}

TEST(Frames, AnExceptionThatPassesLeavesToo) {
  Instrumented f(R"(
    declare void @g()
    declare i32 @__gxx_personality_v0(...)
    define void @f() personality ptr @__gxx_personality_v0 {
      invoke void @g() to label %normal unwind label %pad
    normal:
      ret void
    pad:
      %1 = landingpad { ptr, i32 } cleanup
      resume { ptr, i32 } %1
    })");
  EXPECT_THAT(f.hooks("f"), ElementsAre("enter", "leave", "resume", "leave"));
}

TEST(Frames, EscapingVariablesAreDescribedAndEnd) {
  Instrumented f(R"(
    declare void @take(ptr)
    define void @f() {
      %count.addr.i3 = alloca i32, align 4
      %private = alloca i32, align 4
      %table = alloca [10 x i64], align 8
      call void @take(ptr %count.addr.i3)
      call void @take(ptr %table)
      ret void
    })");
  EXPECT_THAT(f.hooks(), ElementsAre("enter_with_variables", "end_of_life", "end_of_life", "leave"));
  const std::string text = f.print();
  EXPECT_THAT(text, HasSubstr("c\"count\\00\""));
  EXPECT_THAT(text, HasSubstr("c\"table\\00\""));
  EXPECT_THAT(text, Not(HasSubstr("c\"private\\00\"")));
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(f.calls("__dh_end_of_life")[1]->getArgOperand(1))->getZExtValue(),
            80u);
}

// What is stored to a row of a function's table of variables, in order: "x", "x ended", "nothing".
std::vector<std::string> told_of(const Instrumented& f, unsigned row) {
  std::vector<std::string> told;
  const llvm::Value* const addresses = f.calls("__dh_enter_with_variables")[0]->getArgOperand(1);
  const llvm::DataLayout& layout = f.calls("__dh_enter_with_variables")[0]->getDataLayout();
  for (const llvm::Instruction& instruction : llvm::instructions(*f.calls("__dh_leave")[0]->getFunction())) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    if (!store) continue;
    int64_t offset = 0;
    if (llvm::GetPointerBaseWithConstantOffset(store->getPointerOperand(), offset, layout) != addresses)
      continue;
    if (offset != row * 8) continue;
    int64_t mark = 0;
    const llvm::Value* variable =
        llvm::GetPointerBaseWithConstantOffset(store->getValueOperand(), mark, layout);
    if (llvm::isa<llvm::ConstantPointerNull>(variable))
      told.push_back("nothing");
    else
      told.push_back(variable->getName().str() + (mark == kDhEnded ? " ended" : ""));
  }
  return told;
}

const std::string kMarkers = R"(
    declare void @take(ptr)
    declare void @llvm.lifetime.start.p0(i64, ptr)
    declare void @llvm.lifetime.end.p0(i64, ptr)
    )";

TEST(Frames, VariablesThatMayHaveOnePlaceAreInTheTableOnlyWhileTheyLive) {
  Instrumented f(kMarkers + R"(
    define void @f() {
      %x = alloca [4 x i8], align 1
      %y = alloca [4 x i8], align 1
      %all = alloca i32, align 4
      call void @take(ptr %all)
      call void @llvm.lifetime.start.p0(i64 4, ptr %x)
      call void @take(ptr %x)
      call void @llvm.lifetime.end.p0(i64 4, ptr %x)
      call void @llvm.lifetime.start.p0(i64 4, ptr %y)
      call void @take(ptr %y)
      call void @llvm.lifetime.end.p0(i64 4, ptr %y)
      ret void
    })");
  EXPECT_THAT(told_of(f, 0), ElementsAre("nothing", "x", "x ended"));
  EXPECT_THAT(told_of(f, 1), ElementsAre("nothing", "y", "y ended"));
  EXPECT_THAT(told_of(f, 2), ElementsAre("all"));
  for (llvm::Instruction& instruction : f.module().getFunction("f")->getEntryBlock())
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
      EXPECT_GE(variable->getAlign().value(), 2u) << "an odd address says that it has ended";
}

TEST(Frames, VariablesWhoseScopesOverlapCostNothing) {
  Instrumented f(kMarkers + R"(
    define void @f(i1 %c) {
      %x = alloca i32, align 4
      %y = alloca i32, align 4
      %z = alloca i32, align 4
      call void @llvm.lifetime.start.p0(i64 4, ptr %x)
      call void @take(ptr %x)
      br i1 %c, label %more, label %end
    more:
      call void @llvm.lifetime.start.p0(i64 4, ptr %y)
      call void @take(ptr %y)
      call void @take(ptr %z)
      call void @llvm.lifetime.end.p0(i64 4, ptr %y)
      br label %end
    end:
      call void @llvm.lifetime.end.p0(i64 4, ptr %x)
      ret void
    })");
  EXPECT_THAT(told_of(f, 0), ElementsAre("x"));
  EXPECT_THAT(told_of(f, 1), ElementsAre("y"));
  EXPECT_THAT(told_of(f, 2), ElementsAre("z"));
}

TEST(Frames, EveryBeginningAndEveryEndOfAScopeIsTold) {
  Instrumented f(kMarkers + R"(
    declare void @may_throw(ptr)
    declare i32 @__gxx_personality_v0(...)
    define void @f(i1 %c) personality ptr @__gxx_personality_v0 {
      %x = alloca i32, align 4
      %y = alloca i32, align 4
      br label %loop
    loop:
      call void @llvm.lifetime.start.p0(i64 4, ptr %x)
      invoke void @may_throw(ptr %x) to label %next unwind label %pad
    next:
      call void @llvm.lifetime.end.p0(i64 4, ptr %x)
      call void @llvm.lifetime.start.p0(i64 4, ptr %y)
      call void @take(ptr %y)
      call void @llvm.lifetime.end.p0(i64 4, ptr %y)
      br i1 %c, label %loop, label %end
    end:
      ret void
    pad:
      %1 = landingpad { ptr, i32 } cleanup
      call void @llvm.lifetime.end.p0(i64 4, ptr %x)
      resume { ptr, i32 } %1
    })");
  EXPECT_THAT(told_of(f, 0), ElementsAre("nothing", "x", "x ended", "x ended"));
  EXPECT_THAT(told_of(f, 1), ElementsAre("nothing", "y", "y ended"));
}

TEST(Frames, WaysThatMeetWithoutAnEndKeepNoPlaceApart) {
  // As in code generation: an exception has ended neither.
  Instrumented f(kMarkers + R"(
    declare void @may_throw(ptr)
    declare i32 @__gxx_personality_v0(...)
    define void @f() personality ptr @__gxx_personality_v0 {
      %x = alloca i32, align 4
      %y = alloca i32, align 4
      call void @llvm.lifetime.start.p0(i64 4, ptr %x)
      invoke void @may_throw(ptr %x) to label %next unwind label %pad
    next:
      call void @llvm.lifetime.end.p0(i64 4, ptr %x)
      call void @llvm.lifetime.start.p0(i64 4, ptr %y)
      invoke void @may_throw(ptr %y) to label %end unwind label %pad
    end:
      call void @llvm.lifetime.end.p0(i64 4, ptr %y)
      ret void
    pad:
      %1 = landingpad { ptr, i32 } cleanup
      resume { ptr, i32 } %1
    })");
  EXPECT_THAT(told_of(f, 0), ElementsAre("nothing", "x", "x ended"));
  EXPECT_THAT(told_of(f, 1), ElementsAre("nothing", "y", "y ended"));
}

TEST(Frames, AScopeThatALongJumpLeftHasNotBegunAgain) {
  Instrumented f(kMarkers + R"(
    declare i32 @_setjmp(ptr) returns_twice
    define void @f(ptr %buffer) {
      %x = alloca i32, align 4
      %y = alloca i32, align 4
      %outer = alloca i32, align 4
      call void @llvm.lifetime.start.p0(i64 4, ptr %outer)
      call void @take(ptr %outer)
      %1 = call i32 @_setjmp(ptr %buffer) returns_twice
      %2 = icmp eq i32 %1, 0
      br i1 %2, label %first, label %second
    first:
      call void @llvm.lifetime.start.p0(i64 4, ptr %x)
      call void @take(ptr %x)
      call void @llvm.lifetime.end.p0(i64 4, ptr %x)
      br label %end
    second:
      call void @llvm.lifetime.start.p0(i64 4, ptr %y)
      call void @take(ptr %y)
      call void @llvm.lifetime.end.p0(i64 4, ptr %y)
      br label %end
    end:
      call void @llvm.lifetime.end.p0(i64 4, ptr %outer)
      ret void
    })");
  EXPECT_THAT(told_of(f, 0), ElementsAre("nothing", "nothing", "x", "x ended"));
  EXPECT_THAT(told_of(f, 1), ElementsAre("nothing", "nothing", "y", "y ended"));
  EXPECT_THAT(told_of(f, 2), ElementsAre("outer"));
}

TEST(Frames, AScopeThatEndsInALoopEndsThere) {
  Instrumented f(R"(
    declare void @take(ptr)
    declare void @llvm.lifetime.start.p0(i64, ptr)
    declare void @llvm.lifetime.end.p0(i64, ptr)
    define void @f(i1 %c) {
      %x = alloca i32, align 4
      br label %loop
    loop:
      call void @llvm.lifetime.start.p0(i64 4, ptr %x)
      call void @take(ptr %x)
      call void @llvm.lifetime.end.p0(i64 4, ptr %x)
      br i1 %c, label %loop, label %end
    end:
      ret void
    })");
  ASSERT_EQ(f.calls("__dh_end_of_life").size(), 1u);
  EXPECT_EQ(f.calls("__dh_end_of_life")[0]->getParent()->getName(), "loop");
}

TEST(Frames, VariableSizedOnesEndBySize) {
  Instrumented f(R"(
    declare void @take(ptr)
    declare ptr @llvm.stacksave.p0()
    declare void @llvm.stackrestore.p0(ptr)
    define void @f(i64 %n) {
      %saved = call ptr @llvm.stacksave.p0()
      %x = alloca i32, i64 %n, align 4
      call void @take(ptr %x)
      call void @llvm.stackrestore.p0(ptr %saved)
      ret void
    })");
  ASSERT_EQ(f.calls("__dh_end_of_life").size(), 1u);
  EXPECT_FALSE(llvm::isa<llvm::Constant>(f.calls("__dh_end_of_life")[0]->getArgOperand(1)));
}

TEST(Modules, AConstructorIntroducesTheModule) {
  Instrumented f("define i32 @f(ptr %p) {\n %1 = load i32, ptr %p, align 4\n ret i32 %1\n}");
  ASSERT_EQ(f.calls("__dh_module_init").size(), 1u);
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(f.calls("__dh_module_init")[0]->getArgOperand(0))->getZExtValue(),
            DEADHEAT_ABI_VERSION);
  EXPECT_NE(f.module().getNamedGlobal("llvm.global_ctors"), nullptr);
  EXPECT_THAT(f.print(), HasSubstr("section \".note.deadheat\""));
}

TEST(Modules, NothingIsInstrumentedTwice) {
  Instrumented f("define i32 @f(ptr %p) {\n %1 = load i32, ptr %p, align 4\n ret i32 %1\n}");
  f.run(false);
  EXPECT_THAT(f.hooks(), ElementsAre("enter", "read4", "leave"));
  EXPECT_EQ(f.calls("__dh_module_init").size(), 1u);
}

TEST(Modules, BodiesThatAreNotOursStay) {
  Instrumented f(R"(
    define i32 @excluded(ptr %p) "deadheat-excluded" {
      %1 = load i32, ptr %p, align 4
      ret i32 %1
    }
    define void @bare(ptr %p) naked {
      unreachable
    })");
  EXPECT_THAT(f.hooks("excluded"), IsEmpty());
  EXPECT_THAT(f.hooks("bare"), IsEmpty());
}

TEST(Modules, FunctionsTheFrontEndLeftUnmarkedAreExcluded) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(
      "define void @watched() sanitize_thread {\n ret void\n}\n"
      "define void @opted_out() {\n ret void\n}\n"
      "define void @disabled() sanitize_thread disable_sanitizer_instrumentation {\n ret void\n}\n",
      error, context);
  ASSERT_TRUE(module);
  llvm::ModuleAnalysisManager analyses;
  PreparePass(/*is_marked=*/true).run(*module, analyses);
  EXPECT_FALSE(is_excluded(*module->getFunction("watched")));
  EXPECT_TRUE(is_excluded(*module->getFunction("opted_out")));
  EXPECT_TRUE(is_excluded(*module->getFunction("disabled")));
  EXPECT_TRUE(module->getFunction("watched")->hasFnAttribute(llvm::Attribute::SanitizeThread));
  // And ThreadSanitizer's own pass finds nothing to do.
  EXPECT_TRUE(
      module->getFunction("watched")->hasFnAttribute(llvm::Attribute::DisableSanitizerInstrumentation));
}

TEST(Modules, AttributesThatHooksMakeUntrueAreDropped) {
  Instrumented f(R"(
    define i32 @f(ptr %p) memory(argmem: read) nosync speculatable {
      %1 = load i32, ptr %p, align 4
      ret i32 %1
    }
    define i32 @g(ptr %p) {
      %1 = call i32 @f(ptr %p) memory(argmem: read) nosync
      ret i32 %1
    })");
  const llvm::Function* function = f.module().getFunction("f");
  EXPECT_FALSE(function->hasFnAttribute(llvm::Attribute::Memory));
  EXPECT_FALSE(function->hasFnAttribute(llvm::Attribute::NoSync));
  EXPECT_FALSE(function->hasFnAttribute(llvm::Attribute::Speculatable));
  for (const llvm::CallInst* call : f.calls("f"))
    EXPECT_FALSE(call->getAttributes().hasFnAttr(llvm::Attribute::Memory));
  // Inlined after this, __dh_enter would take the wrong return address.
  EXPECT_TRUE(function->hasFnAttribute(llvm::Attribute::NoInline));
}

}  // namespace
}  // namespace deadheat::instrument::testing
