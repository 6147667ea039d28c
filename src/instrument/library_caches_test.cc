#include "instrument/library_caches.h"

#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

unsigned marked(const std::string& name) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString("define void @" + name +
                                    "(ptr %p, ptr %q) {\n"
                                    "  %v = load i8, ptr %p, align 1\n"
                                    "  store i8 %v, ptr %p, align 1\n"
                                    "  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 8, i1 false)\n"
                                    "  ret void\n}\n"
                                    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n",
                                error, context);
  if (!module) {
    ADD_FAILURE() << error.getMessage().str();
    return 0;
  }
  llvm::Function& function = *module->getFunction(name);
  mark_library_caches(function);
  unsigned count = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    count += instruction.hasMetadata(llvm::LLVMContext::MD_nosanitize) ? 1 : 0;
  return count;
}

TEST(LibraryCaches, LoadsAndStoresOfCharacterTablesAreMarked) {
  EXPECT_EQ(marked("_ZNKSt5ctypeIcE6narrowEcc"), 2u);
  EXPECT_EQ(marked("_ZNKSt5ctypeIcE5widenEPKcS2_Pc"), 2u);
}

TEST(LibraryCaches, OtherCharacterTypesAndFunctionsAreNot) {
  EXPECT_EQ(marked("_ZNKSt5ctypeIwE6narrowEwc"), 0u);
  EXPECT_EQ(marked("f"), 0u);
}

}  // namespace
}  // namespace deadheat::instrument::testing
