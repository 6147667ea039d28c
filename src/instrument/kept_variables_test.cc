#include "instrument/kept_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "instrument/testing.h"

namespace deadheat::instrument {
namespace {

using testing::Instrumented;

// A loop whose body has a variable `%x` of 16 bytes.
std::string loop(const std::string& body, const std::string& attributes = "nounwind",
                 const std::string& before = "") {
  return R"(
    declare void @take(ptr) nounwind
    declare void @llvm.lifetime.start.p0(i64, ptr)
    declare void @llvm.lifetime.end.p0(i64, ptr)
    define void @f(i1 %c, i64 %n) )" +
         attributes + R"( {
      %x = alloca { i64, i64 }, align 8
      %second = getelementptr i8, ptr %x, i64 8
      )" +
         before +
         R"(
      br label %loop
    loop:
      call void @llvm.lifetime.start.p0(i64 16, ptr %x)
      )" +
         body +
         R"(
      call void @llvm.lifetime.end.p0(i64 16, ptr %x)
      br i1 %c, label %loop, label %end
    end:
      ret void
    })";
}

constexpr char kBoth[] = "store i64 %n, ptr %x, align 8\n store i64 %n, ptr %second, align 8\n";
constexpr char kTake[] = "call void @take(ptr %x)\n";

bool is_kept(const std::string& module) {
  Instrumented f(module);
  bool const asked = !f.calls("__dh_end_of_scope").empty();
  EXPECT_EQ(asked, f.calls("llvm.lifetime.start.p0").empty()) << "its place in the frame may be another's";
  return asked;
}

TEST(KeptVariables, AreWrittenWholeBeforeAnythingElse) {
  Instrumented f(loop(std::string(kBoth) + kTake));
  ASSERT_EQ(f.calls("__dh_end_of_scope").size(), 1u);
  EXPECT_EQ(f.calls("__dh_end_of_scope")[0]->getParent()->getName(), "loop");
  ASSERT_EQ(f.calls("__dh_end_of_life").size(), 1u);
  EXPECT_EQ(f.calls("__dh_end_of_life")[0]->getParent()->getName(), "end");
  EXPECT_TRUE(f.calls("llvm.lifetime.end.p0").empty());
}

TEST(KeptVariables, AreOfNoUseBeforeThat) {
  EXPECT_FALSE(is_kept(loop(std::string(kTake) + kBoth)));
  EXPECT_FALSE(is_kept(loop(std::string("store i64 %n, ptr %x, align 8\n") + kTake)));
  EXPECT_FALSE(
      is_kept(loop(std::string("store ptr %second, ptr %x, align 8\n store i64 %n, ptr %second\n") + kTake)));
  EXPECT_FALSE(is_kept(loop(
      std::string("store i64 %n, ptr %x, align 8\n store atomic i64 %n, ptr %second release, align 8\n") +
      kTake)));
}

TEST(KeptVariables, AreWrittenOnEveryWay) {
  EXPECT_FALSE(is_kept(loop(std::string("br i1 %c, label %yes, label %no\n yes:\n") + kBoth +
                            "br label %no\n no:\n" + kTake)));
  EXPECT_TRUE(is_kept(loop(std::string("br i1 %c, label %yes, label %no\n yes:\n") + kBoth +
                           "br label %both\n no:\n" + kBoth + "br label %both\n both:\n" + kTake)));
}

TEST(KeptVariables, HaveNoOtherNames) {
  EXPECT_FALSE(is_kept(loop(std::string("call void @take(ptr %hoisted)\n") + kBoth + kTake, "nounwind",
                            "%hoisted = getelementptr i8, ptr %x, i64 %n")));
  EXPECT_FALSE(is_kept(loop(std::string("call void @take(ptr %hoisted)\n") + kBoth + kTake, "nounwind",
                            "%hoisted = select i1 %c, ptr %x, ptr null")));
}

TEST(KeptVariables, EndEvenIfTheFunctionIsLeftByAnException) {
  EXPECT_FALSE(is_kept(loop(std::string(kBoth) + kTake, "")));
}

TEST(KeptVariables, AreOfLoops) {
  EXPECT_FALSE(is_kept(R"(
    declare void @take(ptr) nounwind
    declare void @llvm.lifetime.start.p0(i64, ptr)
    declare void @llvm.lifetime.end.p0(i64, ptr)
    define void @f(i64 %n) nounwind {
      %x = alloca i64, align 8
      call void @llvm.lifetime.start.p0(i64 8, ptr %x)
      store i64 %n, ptr %x, align 8
      call void @take(ptr %x)
      call void @llvm.lifetime.end.p0(i64 8, ptr %x)
      ret void
    })"));
}

TEST(KeptVariables, CanBeSwitchedOff) {
  Instrumented f(loop(std::string(kBoth) + kTake), "-scopes");
  EXPECT_TRUE(f.calls("__dh_end_of_scope").empty());
}

}  // namespace
}  // namespace deadheat::instrument
