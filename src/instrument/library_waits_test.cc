#include "instrument/library_waits.h"

#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

unsigned marked(const std::string& name) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString("define void @" + name +
                                    "(ptr %p) {\n"
                                    "  %a = atomicrmw add ptr %p, i32 1 seq_cst\n"
                                    "  %b = load atomic i32, ptr %p acquire, align 4\n"
                                    "  %c = load i32, ptr %p, align 4\n"
                                    "  ret void\n}\n",
                                error, context);
  if (!module) {
    ADD_FAILURE() << error.getMessage().str();
    return 0;
  }
  llvm::Function& function = *module->getFunction(name);
  mark_library_waits(function);
  unsigned count = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    count += is_of_library_wait(instruction) ? 1 : 0;
  return count;
}

TEST(LibraryWaits, AtomicsOfTheLibrarysPoolAreMarked) {
  EXPECT_EQ(marked("_ZNSt8__detail18__waiter_pool_base13_M_enter_waitEv"), 2u);
  EXPECT_EQ(marked("_ZNKSt8__detail18__waiter_pool_base10_M_waitingEv"), 2u);
  EXPECT_EQ(marked("_ZNSt8__detail13__waiter_pool10_M_do_waitEPKii"), 2u);
  EXPECT_EQ(marked("_ZNSt8__detail13__waiter_baseINS_13__waiter_poolEE9_M_notifyEbb"), 2u);
}

TEST(LibraryWaits, AtomicsOfWhoWaitsAreNot) {
  EXPECT_EQ(marked("_ZNSt13__atomic_baseIiE4waitEiSt12memory_order"), 0u);
  EXPECT_EQ(marked("_ZZNKSt13__atomic_baseIiE4waitEiSt12memory_orderENKUlvE_clEv"), 0u);
  EXPECT_EQ(marked("_ZNSt8__detail6__waitEv"), 0u);
  EXPECT_EQ(marked("f"), 0u);
}

}  // namespace
}  // namespace deadheat::instrument::testing
