#include "instrument/sanitizer_calls.h"

#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kDeclarations = R"(
  declare i32 @__sanitizer_unaligned_load32(ptr)
  declare void @__sanitizer_unaligned_store64(ptr, i64)
  declare i32 @__tsan_atomic32_load(ptr, i32)
  declare void @__tsan_atomic8_store(ptr, i8, i32)
  declare i64 @__tsan_atomic64_fetch_nand(ptr, i64, i32)
  declare i32 @__tsan_atomic32_compare_exchange_strong(ptr, ptr, i32, i32, i32)
  declare i16 @__tsan_atomic16_compare_exchange_val(ptr, i16, i16, i32, i32)
  declare void @__tsan_atomic_thread_fence(i32)
  declare void @__tsan_atomic_signal_fence(i32)
  declare i32 @personality(...)
)";

// The body of a function `f(ptr %p, ptr %c, i32 %o)` after its calls were lowered.
std::string lowered(const std::string& body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      kDeclarations +
          ("define void @f(ptr %p, ptr %c, i32 %o) personality ptr @personality {\n" + body + "}\n"),
      error, context);
  if (!module) {
    ADD_FAILURE() << error.getMessage().str();
    return "";
  }
  llvm::Function& function = *module->getFunction("f");
  lower_sanitizer_calls(function);
  std::string text;
  llvm::raw_string_ostream stream(text);
  EXPECT_FALSE(llvm::verifyModule(*module, &stream)) << text;
  function.print(stream);
  return text;
}

TEST(SanitizerCalls, MisalignedAccessesAreLoadsAndStores) {
  EXPECT_THAT(lowered("  %v = call i32 @__sanitizer_unaligned_load32(ptr %p)\n"
                      "  store i32 %v, ptr %c\n  ret void\n"),
              HasSubstr("load i32, ptr %p, align 1"));
  EXPECT_THAT(lowered("  call void @__sanitizer_unaligned_store64(ptr %p, i64 7)\n  ret void\n"),
              HasSubstr("store i64 7, ptr %p, align 1"));
}

TEST(SanitizerCalls, AtomicsOfAKnownOrderAreInstructions) {
  EXPECT_THAT(lowered("  %v = call i32 @__tsan_atomic32_load(ptr %p, i32 1)\n  ret void\n"),
              HasSubstr("load atomic volatile i32, ptr %p acquire, align 4"));
  EXPECT_THAT(lowered("  call void @__tsan_atomic8_store(ptr %p, i8 1, i32 3)\n  ret void\n"),
              HasSubstr("store atomic volatile i8 1, ptr %p release, align 1"));
  EXPECT_THAT(lowered("  %v = call i64 @__tsan_atomic64_fetch_nand(ptr %p, i64 1, i32 0)\n  ret void\n"),
              HasSubstr("atomicrmw volatile nand ptr %p, i64 1 monotonic, align 8"));
  EXPECT_THAT(lowered("  call void @__tsan_atomic_thread_fence(i32 5)\n  ret void\n"),
              HasSubstr("fence seq_cst"));
  EXPECT_THAT(lowered("  call void @__tsan_atomic_signal_fence(i32 4)\n  ret void\n"),
              HasSubstr("fence syncscope(\"singlethread\") acq_rel"));
}

TEST(SanitizerCalls, HintsInTheOrderAreIgnored) {
  EXPECT_THAT(lowered("  %v = call i32 @__tsan_atomic32_load(ptr %p, i32 65538)\n  ret void\n"),
              HasSubstr("load atomic volatile i32, ptr %p acquire, align 4"));
}

TEST(SanitizerCalls, ACompareExchangeReadsWhatIsExpectedAndWritesItIfItFails) {
  const std::string text = lowered(
      "  %v = call i32 @__tsan_atomic32_compare_exchange_strong(ptr %p, ptr %c, i32 2, i32 4, i32 2)\n"
      "  store i32 %v, ptr %p\n  ret void\n");
  EXPECT_THAT(text, HasSubstr("load i32, ptr %c, align 4"));
  EXPECT_THAT(text, HasSubstr("cmpxchg volatile ptr %p"));
  EXPECT_THAT(text, HasSubstr("acq_rel acquire"));
  EXPECT_THAT(text, HasSubstr("ptr %c, align 4\n  br label"));
  EXPECT_THAT(
      lowered("  %v = call i16 @__tsan_atomic16_compare_exchange_val(ptr %p, i16 1, i16 2, i32 0, i32 0)\n"
              "  store i16 %v, ptr %c\n  ret void\n"),
      HasSubstr("cmpxchg volatile ptr %p, i16 1, i16 2 monotonic monotonic, align 2"));
}

TEST(SanitizerCalls, CallsThatCouldThrowAreLoweredToo) {
  EXPECT_THAT(
      lowered("  %v = invoke i32 @__tsan_atomic32_load(ptr %p, i32 0) to label %go unwind label %pad\n"
              "go:\n  ret void\n"
              "pad:\n  %l = landingpad { ptr, i32 } cleanup\n  resume { ptr, i32 } %l\n"),
      HasSubstr("load atomic volatile i32, ptr %p monotonic, align 4"));
}

TEST(SanitizerCalls, WhatIsNotKnownStaysACall) {
  // An order that is not constant; one that a load cannot have; other arguments than declared.
  for (const char* body : {"  %v = call i32 @__tsan_atomic32_load(ptr %p, i32 %o)\n  ret void\n",
                           "  %v = call i32 @__tsan_atomic32_load(ptr %p, i32 3)\n  ret void\n",
                           "  %v = call i32 @__tsan_atomic32_load(ptr %p)\n  ret void\n",
                           "  call void @__tsan_atomic_thread_fence(i32 0)\n  ret void\n"})
    EXPECT_THAT(lowered(body), HasSubstr("call ")) << body;
}

}  // namespace
}  // namespace deadheat::instrument::testing
