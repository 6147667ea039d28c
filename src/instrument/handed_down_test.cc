#include "instrument/handed_down.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "instrument/testing.h"

namespace deadheat::instrument {
namespace {

using ::testing::ElementsAre;
using testing::Instrumented;
using ::testing::IsEmpty;

constexpr char kDeclarations[] = R"(
    declare void @llvm.lifetime.start.p0(i64, ptr)
    declare void @llvm.lifetime.end.p0(i64, ptr)
    declare void @look(ptr nocapture)
    declare void @take(ptr)
    declare i32 @personality(...)
    @flag = global i64 0
    @g = global [400 x i8] zeroinitializer
    )";
constexpr char kStart[] = "call void @llvm.lifetime.start.p0(i64 16, ptr %x)\n";
constexpr char kEnd[] = "call void @llvm.lifetime.end.p0(i64 16, ptr %x)\n";
constexpr char kStore[] = "store i64 %n, ptr %x, align 8\n";
constexpr char kStoreSecond[] = "store i64 %n, ptr %second, align 8\n";
constexpr char kRead[] = "%read = load i64, ptr %x, align 8\n";
constexpr char kCall[] = "call void %fn(ptr %x)\n";
constexpr char kRelease[] = "store atomic i64 1, ptr @flag release, align 8\n";

// A function with a variable `%x` of 16 bytes, which `body` hands to `%fn`, or to something else.
std::string function(const std::string& body, const std::string& attributes = "nounwind") {
  return std::string(kDeclarations) + "define void @f(ptr %fn, i64 %n, i1 %c) " + attributes + R"( {
      %x = alloca { i64, i64 }, align 8
      %second = getelementptr i8, ptr %x, i64 8
      )" +
         body + "ret void\n}\n";
}

// How often an unknown function is asked for a version.
size_t questions(const Instrumented& module) {
  size_t found = 0;
  const std::string text = module.print();
  for (size_t at = 0; (at = text.find("%dh.has_version", at)) != std::string::npos; ++at) {
    const size_t end = text.find(" = ", at);
    found += end != std::string::npos && text.find_first_of(" ,\n", at) == end;
  }
  return found;
}
bool is_handed_down(const std::string& text) {
  Instrumented module(text);
  return module.statistics().handed_down != 0;
}

const llvm::Instruction& only(const std::vector<llvm::CallInst*>& calls) {
  EXPECT_EQ(calls.size(), 1u);
  return *calls.at(0);
}
// Runs whenever its function does.
bool is_unconditional(const llvm::Instruction& instruction) {
  llvm::Function& function = const_cast<llvm::Function&>(*instruction.getFunction());
  const llvm::DominatorTree dominators(function);
  for (llvm::BasicBlock& block : function)
    if (llvm::isa<llvm::ReturnInst>(block.getTerminator()) &&
        !dominators.dominates(instruction.getParent(), &block))
      return false;
  return true;
}

TEST(HandedDown, AreCheckedOnlyWhereTheFunctionHasNoVersion) {
  Instrumented f(function(std::string(kStore) + kCall));
  EXPECT_EQ(questions(f), 1u);
  const llvm::Instruction& check = only(f.calls("__dh_write8"));
  EXPECT_FALSE(is_unconditional(check));
  // And that is where the function itself is called.
  const llvm::Function& body = *f.module().getFunction("f");
  const llvm::DominatorTree dominators(const_cast<llvm::Function&>(body));
  for (const llvm::Instruction& instruction : llvm::instructions(body))
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isIndirectCall())
      EXPECT_EQ(dominators.dominates(&check, call), call->getCalledOperand() == body.getArg(0));
  EXPECT_FALSE(is_unconditional(only(f.calls("__dh_end_of_life"))));
}

TEST(HandedDown, AreCheckedBeforeAnythingIsReleased) {
  Instrumented f(function(std::string(kStore) + kRelease + kStoreSecond + kCall));
  const std::vector<std::string> hooks = f.hooks();
  EXPECT_THAT(hooks, ElementsAre("enter_with_variables", "write8", ::testing::StartsWith("atomic"), "write8",
                                 "end_of_life", "leave"));
  // The function is not asked any more.
  for (const llvm::CallInst* check : f.calls("__dh_write8")) EXPECT_TRUE(is_unconditional(*check));
  EXPECT_TRUE(is_unconditional(only(f.calls("__dh_end_of_life"))));
}

TEST(HandedDown, AreCheckedBeforeTheRoundOfALoopThatReleases) {
  Instrumented f(function(std::string(kStore) + "br label %loop\n loop:\n" + kRelease +
                          "br i1 %c, label %loop, label %end\n end:\n" + kCall));
  ASSERT_EQ(f.calls("__dh_write8").size(), 1u);
  EXPECT_EQ(f.hooks()[1], "write8");
}

TEST(HandedDown, AreNotCheckedForWhatIsReleasedBeforeOrAfterwards) {
  Instrumented f(function(std::string(kRelease) + kStore + kCall + kRelease));
  EXPECT_FALSE(is_unconditional(only(f.calls("__dh_write8"))));
  EXPECT_EQ(questions(f), 1u);
}

TEST(HandedDown, AreCheckedAsUsualOnceTheyAreExposed) {
  Instrumented f(function(std::string(kCall) + kRead));
  EXPECT_THAT(f.checks(), ElementsAre("read8"));
  EXPECT_FALSE(is_unconditional(only(f.calls("__dh_read8"))));
}

TEST(HandedDown, HaveBeenAccessedOnAllWaysToTheCall) {
  EXPECT_FALSE(is_handed_down(function(std::string("br i1 %c, label %yes, label %no\n yes:\n") + kStore +
                                       "br label %no\n no:\n" + kCall)));
  EXPECT_TRUE(is_handed_down(function(std::string(kStore) + "br i1 %c, label %yes, label %no\n yes:\n" +
                                      kCall + "br label %no\n no:\n")));
  // In this life: the first round's is another one's.
  EXPECT_FALSE(is_handed_down(
      function(std::string("br label %loop\n loop:\n br i1 %c, label %yes, label %no\n yes:\n") + kStart +
               "br label %no\n no:\n" + kStore + kStart + "br i1 %c, label %a, label %b\n a:\n" + kStart +
               "br label %b\n b:\n" + kRead + "br i1 %c, label %once, label %both\n once:\n" + kStart +
               "br label %both\n both:\n" + kCall + "br i1 %c, label %loop, label %end\n end:\n")));
}

TEST(HandedDown, AreHandedDownOnceInALife) {
  EXPECT_FALSE(is_handed_down(function(std::string(kStore) + kCall + kCall)));
  EXPECT_FALSE(is_handed_down(function(std::string(kStore) + "br label %loop\n loop:\n" + kCall +
                                       "br i1 %c, label %loop, label %end\n end:\n")));
  EXPECT_TRUE(is_handed_down(function(std::string("br label %loop\n loop:\n") + kStart + kStore + kCall +
                                      kEnd + "br i1 %c, label %loop, label %end\n end:\n")));
  EXPECT_TRUE(is_handed_down(
      function(std::string(kStart) + kStore + kCall + kEnd + kStart + kStoreSecond + kCall + kEnd)));
  EXPECT_FALSE(is_handed_down(function("call void %fn(ptr %x, ptr %x)\n")));
}

TEST(HandedDown, ForgetThatTheyWereExposedWhenTheirScopeBegins) {
  Instrumented f(function(std::string(kStart) + kStore + kRelease + kCall + kEnd + kStart + kStoreSecond +
                          kCall + kEnd));
  EXPECT_EQ(questions(f), 1u);
  ASSERT_EQ(f.calls("__dh_write8").size(), 2u);
  EXPECT_TRUE(is_unconditional(*f.calls("__dh_write8")[0]));
  EXPECT_FALSE(is_unconditional(*f.calls("__dh_write8")[1]));
}

TEST(HandedDown, GoNowhereElse) {
  // Whose records nobody would end.
  EXPECT_FALSE(is_handed_down(function(std::string(kStore) + "call void @look(ptr %x)\n" + kCall)));
  EXPECT_FALSE(is_handed_down(function(std::string("store ptr %x, ptr @g\n") + kCall)));
  EXPECT_FALSE(is_handed_down(function(std::string("%i = ptrtoint ptr %x to i64\n") + kCall)));
  EXPECT_FALSE(is_handed_down(
      function(std::string("%s = select i1 %c, ptr %x, ptr @g\n store i64 1, ptr %s\n") + kCall)));
  EXPECT_FALSE(is_handed_down(
      function(std::string("%e = getelementptr i64, ptr %x, i64 %n\n store i64 1, ptr %e\n") + kCall)));
  EXPECT_FALSE(
      is_handed_down(function(std::string("store atomic i64 1, ptr %x monotonic, align 8\n") + kCall)));
  EXPECT_FALSE(is_handed_down(function(std::string("store volatile i64 1, ptr %x, align 8\n") + kCall)));
  EXPECT_FALSE(
      is_handed_down(function(std::string("call void asm sideeffect \"\", \"r\"(ptr %x)\n") + kCall)));
}

TEST(HandedDown, AreHandedToCallsThatCanBeDoubled) {
  EXPECT_FALSE(is_handed_down(function("call void %fn(ptr %x) noduplicate\n")));
  EXPECT_FALSE(is_handed_down(function("call void %fn(ptr %x) [ \"some\"(i64 1) ]\n")));
  EXPECT_FALSE(is_handed_down(function("call void %fn(ptr byval({ i64, i64 }) %x)\n" + std::string(kCall))));
}

TEST(HandedDown, AreNotInFunctionsThatReturnTwice) {
  EXPECT_FALSE(is_handed_down("declare i32 @setjmp(ptr) returns_twice\n" +
                              function(std::string("%i = call i32 @setjmp(ptr @g)\n") + kStore + kCall)));
}

// A copy longer than the variable, in code that is never reached, would become a call of a hook, which is
// another instruction.
TEST(HandedDown, AreNotCopiedByCalls) {
  const auto copy = [](const char* bytes) {
    return function(std::string("br i1 %c, label %yes, label %no\n yes:\n") +
                    "call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr @g, i64 " + bytes +
                    ", i1 false)\n ret void\n no:\n" + kCall);
  };
  EXPECT_TRUE(is_handed_down(copy("128")));
  EXPECT_FALSE(is_handed_down(copy("129")));
  EXPECT_FALSE(is_handed_down(copy("%n")));
}

TEST(HandedDown, AreSmall) {
  const auto of_size = [](const char* bytes) {
    return std::string("define void @f(ptr %fn) {\n %x = alloca [") + bytes +
           " x i8]\n call void %fn(ptr %x)\n ret void\n}";
  };
  EXPECT_TRUE(is_handed_down(of_size("128")));
  EXPECT_FALSE(is_handed_down(of_size("129")));
}

TEST(HandedDown, AskFunctionsOfOtherFilesOnlyWhereTheirAddressIsTheirOwn) {
  const std::string direct = function(std::string(kStore) + "call void @take(ptr %x)\n");
  const std::string position_independent =
      "!llvm.module.flags = !{!0}\n !0 = !{i32 8, !\"PIC Level\", i32 2}\n";
  EXPECT_FALSE(is_handed_down(direct));
  EXPECT_TRUE(is_handed_down(direct + position_independent));
  EXPECT_FALSE(is_handed_down("declare extern_weak void @weak(ptr)\n" +
                              function(std::string(kStore) + "call void @weak(ptr %x)\n") +
                              position_independent));
}

TEST(HandedDown, AreCheckedIfAFunctionOfThisFileLetsGoOfThem) {
  EXPECT_FALSE(is_handed_down("define void @keep(ptr %p) { store ptr %p, ptr @flag\n ret void }\n" +
                              function(std::string(kStore) + "call void @keep(ptr %x)\n")));
}

TEST(HandedDown, AreWhatTheVersionInThisFileIsFor) {
  EXPECT_FALSE(is_handed_down(
      "define void @keep(ptr %p, ptr %q) { store i64 1, ptr %p\n store ptr %q, ptr @flag\n ret void }\n" +
      function("%y = alloca i64\n call void @keep(ptr nocapture %y, ptr %x)\n")));
}

TEST(HandedDown, DoNotComeBack) {
  EXPECT_FALSE(is_handed_down(function("%r = call ptr %fn(ptr returned %x)\n store i64 1, ptr %r\n")));
}

TEST(HandedDown, AreHandedToAVersionInThisFile) {
  Instrumented f(
      "define void @add(ptr %p) noinline { %v = load i64, ptr %p\n store i64 %v, ptr @flag\n ret void }\n" +
      function(std::string(kStore) + "call void @add(ptr %x)\n" + kRead));
  EXPECT_THAT(f.checks(), IsEmpty());
  EXPECT_EQ(f.calls("add.dh_private_1").size(), 1u);
  EXPECT_TRUE(f.calls("add").empty());
  EXPECT_TRUE(f.calls("__dh_end_of_life").empty());
  EXPECT_EQ(questions(f), 0u);
}

TEST(HandedDown, AreAskedForTogetherWithWhatIsPrivate) {
  const auto tag = [](const std::string& arguments) {
    Instrumented f(
        function("%y = alloca i64\n" + std::string(kStore) + "call void %fn(" + arguments + ")\n"));
    for (llvm::Instruction& instruction : llvm::instructions(*f.module().getFunction("f")))
      if (instruction.getName().starts_with("dh.has_version"))
        return llvm::cast<llvm::ConstantInt>(instruction.getOperand(1))->getZExtValue();
    return uint64_t{0};
  };
  const uint64_t first = tag("ptr %x, i64 %n");
  EXPECT_EQ(tag("ptr %x, ptr @g"), first);
  EXPECT_EQ(tag("ptr %x, ptr null"), first);
  EXPECT_EQ(tag("ptr %x, ptr nocapture %y") ^ first, 2u);
  EXPECT_EQ(tag("i64 %n, ptr %x") ^ first, 3u);
}

TEST(HandedDown, AskInFrontOfAFunctionOnlyWithinItsPage) {
  Instrumented f(function(std::string(kStore) + kCall));
  const llvm::GlobalVariable* nothing = nullptr;
  for (const llvm::GlobalVariable& variable : f.module().globals())
    if (variable.getName().starts_with("__dh_no_version")) nothing = &variable;
  ASSERT_NE(nothing, nullptr);
  EXPECT_TRUE(nothing->isConstant());
  EXPECT_TRUE(nothing->getInitializer()->isZeroValue());
}

TEST(HandedDown, EndWhereTheyWereExposed) {
  Instrumented f(function(std::string(kStart) + kStore + kCall + kEnd));
  EXPECT_FALSE(is_unconditional(only(f.calls("__dh_end_of_life"))));
  Instrumented exposed(function(std::string(kStart) + kStore + kRelease + kCall + kEnd));
  EXPECT_TRUE(is_unconditional(only(exposed.calls("__dh_end_of_life"))));
}

TEST(HandedDown, EndWithTheFunctionIfTheyAreKeptAndWereEverExposed) {
  Instrumented f(function(std::string("br label %loop\n loop:\n") + kStart + kStore + kStoreSecond + kCall +
                          kEnd + "br i1 %c, label %loop, label %end\n end:\n"));
  const llvm::Instruction& scope = only(f.calls("__dh_end_of_scope"));
  const llvm::Instruction& life = only(f.calls("__dh_end_of_life"));
  EXPECT_FALSE(is_unconditional(scope));
  EXPECT_FALSE(is_unconditional(life));
  // One is asked of this round, the other of all of them: its value comes around the loop.
  const auto flag_of = [](const llvm::Instruction& end) {
    return llvm::cast<llvm::BranchInst>(end.getParent()->getSinglePredecessor()->getTerminator())
        ->getCondition();
  };
  EXPECT_NE(flag_of(scope), flag_of(life));
  const auto* round = llvm::cast<llvm::PHINode>(flag_of(scope));
  for (const llvm::Value* value : round->incoming_values()) EXPECT_TRUE(llvm::isa<llvm::Constant>(value));
}

TEST(HandedDown, AreCheckedWhereAnExceptionLands) {
  Instrumented f(function(std::string(kStore) + R"(
      invoke void %fn(ptr %x) to label %end unwind label %landing
    landing:
      %e = landingpad { ptr, i32 } cleanup
      %v = load i64, ptr %second, align 8
      resume { ptr, i32 } %e
    end:
    )",
                          "personality ptr @personality"));
  EXPECT_EQ(questions(f), 1u);
  EXPECT_THAT(f.checks(), ElementsAre("write8", "read8"));
  EXPECT_EQ(f.calls("__dh_end_of_life").size(), 2u);
}

TEST(HandedDown, AreLeftAloneWhereTooMuchIsReleased) {
  std::string releases;
  for (int i = 0; i < 3; ++i) releases += kRelease;
  EXPECT_TRUE(is_handed_down(function(kStore + releases + kCall)));
  EXPECT_FALSE(is_handed_down(function(kStore + releases + kRelease + kCall)));
}

TEST(HandedDown, AreJoinedWithTheirNeighbours) {
  Instrumented f(function(std::string(kStore) + kStoreSecond + kCall));
  EXPECT_THAT(f.checks(), ElementsAre("write8x2"));
}

TEST(HandedDown, CanBeSwitchedOff) {
  Instrumented f(function(std::string(kStore) + kCall), "-handed");
  EXPECT_EQ(questions(f), 0u);
  EXPECT_TRUE(is_unconditional(only(f.calls("__dh_write8"))));
  EXPECT_TRUE(is_unconditional(only(f.calls("__dh_end_of_life"))));
}

TEST(CallsOfPrivateVersions, ArePrivateAnyhow) {
  const std::string add =
      "define i64 @add(ptr nocapture %p, ptr nocapture %q) { %v = load i64, ptr %p\n %w = load i64, ptr %q\n"
      "%s = add i64 %v, %w\n ret i64 %s }\n";
  Instrumented f(add +
                 "@g = global i64 0\n"
                 "define i64 @f() { %x = alloca i64\n %y = alloca i64\n"
                 "%s = call i64 @add(ptr %x, ptr %y)\n ret i64 %s }\n"
                 "define i64 @h() { %x = alloca i64\n %s = call i64 @add(ptr %x, ptr @g)\n ret i64 %s }\n");
  EXPECT_EQ(f.calls("add.dh_private_3").size(), 1u);
  EXPECT_EQ(f.calls("add").size(), 1u);
  EXPECT_EQ(f.statistics().private_calls, 1u);
}

}  // namespace
}  // namespace deadheat::instrument
