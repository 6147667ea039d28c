#include "instrument/function_lines.h"

#include <llvm/IR/DebugInfoMetadata.h>

#include "instrument/testing.h"

namespace deadheat::instrument::testing {
namespace {

std::unique_ptr<llvm::Module> with_lines(llvm::LLVMContext& context, const std::string& kind) {
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(
      "define void @_Z1fv() !dbg !3 {\n ret void\n}\n"
      "define void @g() !dbg !6 {\n ret void\n}\n"
      "!llvm.dbg.cu = !{!0}\n"
      "!llvm.module.flags = !{!2}\n"
      "!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: " +
          kind +
          ")\n"
          "!1 = !DIFile(filename: \"a.cc\", directory: \"/\")\n"
          "!2 = !{i32 2, !\"Debug Info Version\", i32 3}\n"
          "!3 = distinct !DISubprogram(name: \"f\", file: !1, line: 7, type: !4, unit: !0, "
          "spFlags: DISPFlagDefinition)\n"
          "!4 = !DISubroutineType(types: !5)\n"
          "!5 = !{}\n"
          "!6 = distinct !DISubprogram(name: \"g\", file: !1, line: 9, type: !4, unit: !0, "
          "spFlags: DISPFlagDefinition)\n",
      error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  return module;
}

TEST(FunctionLines, LinesAloneGetFullNamesAndFirstLines) {
  llvm::LLVMContext context;
  auto module = with_lines(context, "LineTablesOnly");
  keep_function_lines(*module);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  for (const char* name : {"_Z1fv", "g"}) {
    const llvm::DICompileUnit* unit = module->getFunction(name)->getSubprogram()->getUnit();
    EXPECT_TRUE(unit->getDebugInfoForProfiling());
    EXPECT_EQ(unit, *module->debug_compile_units_begin());
  }
  EXPECT_EQ(module->getFunction("_Z1fv")->getSubprogram()->getLinkageName(), "_Z1fv");
  EXPECT_EQ(module->getFunction("g")->getSubprogram()->getLinkageName(), "") << "it is its name";
}

TEST(FunctionLines, WhatTheUserAskedForStays) {
  llvm::LLVMContext context;
  for (const char* kind : {"FullDebug", "DebugDirectivesOnly"}) {
    auto module = with_lines(context, kind);
    keep_function_lines(*module);
    EXPECT_FALSE(module->debug_compile_units_begin()->getDebugInfoForProfiling());
    EXPECT_EQ(module->getFunction("_Z1fv")->getSubprogram()->getLinkageName(), "");
  }
}

}  // namespace
}  // namespace deadheat::instrument::testing
