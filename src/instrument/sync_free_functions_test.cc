#include "instrument/sync_free_functions.h"

#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

// Which of the calls in @f are free of synchronisation, in order.
std::vector<bool> judge(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  if (!module) return {};
  const SyncFreeFunctions sync_free(*module, /*analyse=*/true);
  std::vector<bool> verdicts;
  for (const llvm::Instruction& instruction : llvm::instructions(*module->getFunction("f")))
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
      verdicts.push_back(sync_free.is_sync_free(*call));
  return verdicts;
}

using ::testing::ElementsAre;

TEST(SyncFree, BodiesAreLookedAtThroughCalls) {
  EXPECT_THAT(judge(R"(
    @flag = global i32 0
    declare void @unknown()
    define void @leaf(ptr %p) {
      store i32 1, ptr %p
      %1 = load atomic i32, ptr @flag monotonic, align 4
      ret void
    }
    define void @middle(ptr %p) {
      call void @leaf(ptr %p)
      ret void
    }
    define void @locks(ptr %p) {
      %1 = atomicrmw xchg ptr %p, i32 1 acquire
      ret void
    }
    define void @above() {
      call void @locks(ptr @flag)
      ret void
    }
    define void @asks() {
      call void @unknown()
      ret void
    }
    define void @f() {
      call void @middle(ptr @flag)
      call void @above()
      call void @asks()
      ret void
    })"),
              ElementsAre(true, false, false));
}

TEST(SyncFree, RecursionIsNoObstacle) {
  EXPECT_THAT(judge(R"(
    declare void @unknown()
    define void @even(i32 %n) {
      call void @odd(i32 %n)
      ret void
    }
    define void @odd(i32 %n) {
      call void @even(i32 %n)
      ret void
    }
    define void @bad(i32 %n) {
      call void @worse(i32 %n)
      ret void
    }
    define void @worse(i32 %n) {
      call void @bad(i32 %n)
      call void @unknown()
      ret void
    }
    define void @f() {
      call void @even(i32 1)
      call void @bad(i32 1)
      ret void
    })"),
              ElementsAre(true, false));
}

TEST(SyncFree, ABodyOfAnotherSourceMayBeLinkedIn) {
  EXPECT_THAT(judge(R"(
    define weak void @replaceable() {
      ret void
    }
    define linkonce_odr void @inline() {
      ret void
    }
    define void @f() {
      call void @replaceable()
      call void @inline()
      ret void
    })"),
              ElementsAre(false, true));
}

TEST(SyncFree, LibraryFunctionsByNameUnlessDefinedHere) {
  EXPECT_THAT(judge(R"(
    declare i64 @strlen(ptr)
    declare double @sin(double)
    declare ptr @malloc(i64)
    declare i32 @puts(ptr)
    declare i32 @pthread_mutex_unlock(ptr)
    declare void @unknown()
    define i32 @toupper(i32 %c) {
      call void @unknown()
      ret i32 %c
    }
    define void @f(ptr %p) {
      %1 = call i64 @strlen(ptr %p)
      %2 = call double @sin(double 0.0)
      %3 = call ptr @malloc(i64 1)
      %4 = call i32 @puts(ptr %p)
      %5 = call i32 @pthread_mutex_unlock(ptr %p)
      %6 = call i32 @toupper(i32 1)
      ret void
    })"),
              ElementsAre(true, true, false, false, false, false));
}

TEST(SyncFree, AttributesIndirectCallsAndAssembly) {
  EXPECT_THAT(judge(R"(
    declare void @declared() nosync
    declare i32 @_setjmp(ptr) returns_twice nosync
    define void @f(ptr %p) {
      call void @declared()
      call void %p()
      call void %p() nosync
      call void asm sideeffect "mfence", "~{memory}"()
      %1 = call i32 asm "bsf $1, $0", "=r,r"(i32 4) memory(none)
      %2 = call i32 @_setjmp(ptr %p)
      ret void
    })"),
              ElementsAre(true, false, true, false, true, false));
}

}  // namespace
}  // namespace deadheat::instrument::testing
