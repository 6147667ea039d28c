#include "instrument/private_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "instrument/testing.h"

namespace deadheat::instrument {
namespace {

using ::testing::ElementsAre;
using testing::Instrumented;
using ::testing::IsEmpty;

constexpr char kDeclarations[] = R"(
    declare void @take(ptr)
    declare void @look(ptr nocapture)
    @g = global i64 0
    @place = global ptr null
    )";

// The arguments that the version of `name` is for; 0 if there is none.
ArgumentMask version_of(Instrumented& module, const std::string& name = "f") {
  for (llvm::Function& function : module.module()) {
    llvm::StringRef rest = function.getName();
    unsigned arguments = 0;
    if (rest.consume_front(name + ".dh_private_") && !rest.getAsInteger(10, arguments)) return arguments;
  }
  return 0;
}
ArgumentMask version_of(const std::string& functions, const std::string& name = "f") {
  Instrumented module(kDeclarations + functions);
  return version_of(module, name);
}

constexpr char kReads[] = "define i64 @f(ptr %p) { %v = load i64, ptr %p\n ret i64 %v }\n";

TEST(PrivateVersions, DoNotCheckWhatTheirCallerAloneCanReach) {
  Instrumented f(R"(
    define i64 @f(i64 %n, ptr %p, ptr %q) {
      %at = getelementptr i64, ptr %p, i64 %n
      store i64 %n, ptr %at
      call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 16, i1 false)
      %v = load i64, ptr @g
      ret i64 %v
    }
    @g = global i64 0
    )");
  EXPECT_THAT(f.checks("f"), ElementsAre("write8", "read_unaligned16", "write_unaligned16", "read8"));
  EXPECT_THAT(f.checks("f.dh_private_6"), ElementsAre("read8"));
}

TEST(PrivateVersions, LetGoOfNothing) {
  EXPECT_EQ(version_of(kReads), 1u);
  EXPECT_EQ(version_of("define ptr @f(ptr %p) { %v = load i64, ptr %p\n ret ptr %p }"), 0u);
  EXPECT_EQ(
      version_of("define void @f(ptr %p) { store i64 1, ptr %p\n store ptr %p, ptr @place\n ret void }"), 0u);
  EXPECT_EQ(version_of("define void @f(ptr %p) { store i64 1, ptr %p\n call void @take(ptr %p)\n ret void }"),
            0u);
  EXPECT_EQ(
      version_of("define i64 @f(ptr %p) { store i64 1, ptr %p\n %n = ptrtoint ptr %p to i64\n ret i64 %n }"),
      0u);
  // Of two, the one that stays.
  EXPECT_EQ(
      version_of("define ptr @f(ptr %p, ptr %q) { store i64 1, ptr %p\n store i64 1, ptr %q\n ret ptr %p }"),
      2u);
}

TEST(PrivateVersions, AccessSomethingThroughThem) {
  EXPECT_EQ(version_of("define void @f(ptr %p) { call void @look(ptr %p)\n ret void }"), 0u);
  EXPECT_EQ(version_of("define i64 @f(ptr %p, ptr %q) { %v = load i64, ptr %q\n ret i64 %v }"), 2u);
}

// Else records would be left of what no one ends.
TEST(PrivateVersions, DoNothingButAccess) {
  EXPECT_EQ(version_of("define void @f(ptr %p) { store i64 1, ptr %p\n call void @look(ptr %p)\n ret void }"),
            0u);
  EXPECT_EQ(version_of("define i64 @f(ptr %p, i1 %c) { store i64 1, ptr %p\n"
                       "%e = getelementptr i64, ptr %p, i64 1\n %either = select i1 %c, ptr %e, ptr @g\n"
                       "%v = load i64, ptr %either\n ret i64 %v }"),
            0u);
  EXPECT_EQ(version_of("define i64 @f(ptr %p, i1 %c) { store i64 1, ptr %p\n br i1 %c, label %a, label %b\n"
                       "a:\n br label %b\n b:\n %either = phi ptr [ %p, %0 ], [ @g, %a ]\n"
                       "%v = load i64, ptr %either\n ret i64 %v }"),
            0u);
}

TEST(PrivateVersions, AreNotOfWhatIsCopiedByCalls) {
  const auto copy = [](const char* bytes) {
    return std::string("define void @f(ptr %p, i64 %n) { store i64 1, ptr %p\n") +
           "call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr @g, i64 " + bytes + ", i1 false)\n ret void }";
  };
  EXPECT_EQ(version_of(copy("128")), 1u);
  EXPECT_EQ(version_of(copy("129")), 0u);
  EXPECT_EQ(version_of(copy("%n")), 0u);
}

TEST(PrivateVersions, AreNotOfWhatIsAccessedAtomically) {
  EXPECT_EQ(version_of("define void @f(ptr %p) { store i64 1, ptr %p\n"
                       "%v = load atomic i64, ptr %p monotonic, align 8\n ret void }"),
            0u);
  EXPECT_EQ(
      version_of("define void @f(ptr %p) { store i64 1, ptr %p\n %next = getelementptr i64, ptr %p, i64 1\n"
                 "%v = atomicrmw add ptr %next, i64 1 monotonic\n ret void }"),
      0u);
  EXPECT_EQ(version_of("define void @f(ptr %p) { store i64 1, ptr %p\n"
                       "%v = cmpxchg ptr %p, i64 1, i64 2 monotonic monotonic\n ret void }"),
            0u);
}

TEST(PrivateVersions, AreNotOfArgumentsThatAreCopies) {
  EXPECT_EQ(version_of("define i64 @f(ptr byval(i64) %p) { %v = load i64, ptr %p\n ret i64 %v }"), 0u);
}

TEST(PrivateVersions, AreNotOfThis) {
  EXPECT_EQ(
      version_of("define i64 @_ZN1A1fEv(ptr %this) { %v = load i64, ptr %this\n ret i64 %v }", "_ZN1A1fEv"),
      0u);
  EXPECT_EQ(version_of("define void @_ZNK1A1fERl(ptr %this, ptr %p) { %v = load i64, ptr %this\n"
                       "store i64 %v, ptr %p\n ret void }",
                       "_ZNK1A1fERl"),
            2u);
  // Where the result goes stands before it.
  EXPECT_EQ(
      version_of("define void @_ZNK1A1fERl(ptr sret(i64) %result, ptr %this, ptr %p) {\n"
                 "%v = load i64, ptr %this\n store i64 %v, ptr %p\n store i64 %v, ptr %result\n ret void }",
                 "_ZNK1A1fERl"),
      5u);
}

TEST(PrivateVersions, AreAnnouncedRightBeforeTheEntry) {
  Instrumented f(kReads);
  const llvm::Function& function = *f.module().getFunction("f");
  const llvm::Function& version = *f.module().getFunction("f.dh_private_1");
  ASSERT_TRUE(function.hasPrefixData());
  EXPECT_FALSE(version.hasPrefixData());
  const auto& announced = *function.getPrefixData();
  EXPECT_EQ(f.module().getDataLayout().getTypeAllocSize(announced.getType()).getFixedValue(), 16u);
  const auto tag_of = [](const llvm::Constant& prefix) {
    return llvm::cast<llvm::ConstantInt>(prefix.getAggregateElement(2))->getZExtValue();
  };
  Instrumented other("define i64 @f(i64 %n, ptr %p) { %v = load i64, ptr %p\n ret i64 %v }");
  EXPECT_NE(tag_of(announced), tag_of(*other.module().getFunction("f")->getPrefixData()));
}

TEST(PrivateVersions, AreNotAnnouncedWhereSomethingElseStands) {
  EXPECT_EQ(version_of("define i64 @f(ptr %p) prefix i32 1 { %v = load i64, ptr %p\n ret i64 %v }"), 0u);
  EXPECT_EQ(version_of("define i64 @f(ptr %p) prologue i32 1 { %v = load i64, ptr %p\n ret i64 %v }"), 0u);
  EXPECT_EQ(version_of("define i64 @f(ptr %p) \"patchable-function-prefix\"=\"2\" {\n"
                       "%v = load i64, ptr %p\n ret i64 %v }"),
            0u);
  EXPECT_EQ(version_of(std::string(kReads) + "!llvm.module.flags = !{!0}\n !0 = !{i32 4, !\"kcfi\", i32 1}"),
            0u);
}

TEST(PrivateVersions, DoNotMoveAnEntryThatIsAligned) {
  EXPECT_EQ(version_of("define i64 @f(ptr %p) align 64 { %v = load i64, ptr %p\n ret i64 %v }"), 0u);
  EXPECT_EQ(version_of("define i64 @f(ptr %p) align 16 { %v = load i64, ptr %p\n ret i64 %v }"), 1u);
}

// A distance to a function whose address nobody compares may be one to its entry in a table (`@PLT`), which
// GNU's assembler cannot say.
TEST(PrivateVersions, AreAtADistanceThatAssemblersCanSay) {
  Instrumented f("define i64 @f(ptr %p) unnamed_addr { %v = load i64, ptr %p\n ret i64 %v }");
  EXPECT_FALSE(f.module().getFunction("f.dh_private_1")->hasGlobalUnnamedAddr());
}

TEST(PrivateVersions, AreFoundByNameIfSeveralFilesDefineTheFunction) {
  Instrumented f(R"(
    $inline = comdat any
    define linkonce_odr i64 @inline(ptr %p) comdat { %v = load i64, ptr %p
      ret i64 %v }
    define i64 @global(ptr %p) { %v = load i64, ptr %p
      ret i64 %v }
    define internal i64 @local(ptr %p) comdat($inline) { %v = load i64, ptr %p
      ret i64 %v }
    )");
  const llvm::Function& shared = *f.module().getFunction("inline.dh_private_1");
  EXPECT_EQ(shared.getLinkage(), llvm::GlobalValue::LinkOnceODRLinkage);
  EXPECT_TRUE(shared.hasHiddenVisibility());
  ASSERT_TRUE(shared.hasComdat());
  EXPECT_EQ(shared.getComdat()->getName(), "inline.dh_private_1");
  // Two of the same name may be different functions.
  for (const char* name : {"global.dh_private_1", "local.dh_private_1"}) {
    EXPECT_TRUE(f.module().getFunction(name)->hasInternalLinkage()) << name;
    EXPECT_FALSE(f.module().getFunction(name)->hasComdat()) << name;
  }
}

TEST(PrivateVersions, AreNotOfFunctionsThatAnotherMayReplace) {
  for (const char* linkage : {"weak", "linkonce", "available_externally"})
    EXPECT_EQ(version_of(std::string("define ") + linkage +
                         " i64 @f(ptr %p) { %v = load i64, ptr %p\n ret i64 %v }"),
              0u)
        << linkage;
  EXPECT_EQ(version_of("define weak_odr i64 @f(ptr %p) { %v = load i64, ptr %p\n ret i64 %v }"), 1u);
}

TEST(PrivateVersions, AreOfFunctionsThatCanBeCopied) {
  EXPECT_EQ(version_of("define i64 @f(ptr %p, ...) { %v = load i64, ptr %p\n ret i64 %v }"), 0u);
  EXPECT_EQ(
      version_of(
          "declare i32 @setjmp(ptr) returns_twice\n"
          "define i64 @f(ptr %p) { %v = load i64, ptr %p\n %i = call i32 @setjmp(ptr @g)\n ret i64 %v }"),
      0u);
  EXPECT_EQ(version_of("declare void @once() noduplicate\n"
                       "define i64 @f(ptr %p) { %v = load i64, ptr %p\n call void @once()\n ret i64 %v }"),
            0u);
  EXPECT_EQ(version_of("define i64 @f(ptr %p) { %v = load i64, ptr %p\n"
                       "indirectbr ptr blockaddress(@f, %a), [label %a]\n a:\n ret i64 %v }"),
            0u);
  std::string large = "define void @f(ptr %p) {\n";
  for (int i = 0; i < 150; ++i) large += "store volatile i64 0, ptr @g\n";
  EXPECT_EQ(version_of(large + "store i64 1, ptr %p\n ret void }"), 0u);
}

TEST(PrivateVersions, CanBeSwitchedOff) {
  Instrumented f(kReads, "-handed");
  EXPECT_EQ(version_of(f), 0u);
  EXPECT_FALSE(f.module().getFunction("f")->hasPrefixData());
}

TEST(PrivateVersions, HaveTheNameOfTheirFunction) {
  Instrumented f(kReads);
  EXPECT_EQ(PrivateVersions::name_of(*f.module().getFunction("f.dh_private_1")), "f");
}

}  // namespace
}  // namespace deadheat::instrument
