#include "report/frames.h"

#include <gtest/gtest.h>

#include "report/test_findings.h"

namespace deadheat::report {
namespace {

Location library(const char* function) {
  Location frame = at("", 0, function);
  frame.module = "/usr/lib/x86_64-linux-gnu/libc.so.6";
  frame.offset = 0x1234;
  return frame;
}

const char kVector[] = "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/stl_vector.h";

TEST(Frames, ThePlaceIsTheProgramsOwnCode) {
  Stack stack = {library("memcpy"), at(kVector, 1294, "std::vector<int>::push_back(int&&)"),
                 at("bank.cpp", 21, "main")};
  EXPECT_EQ(own_frame(stack).file, "bank.cpp");
  stack.pop_back();
  EXPECT_EQ(own_frame(stack).function, "memcpy") << "nothing is our own: the innermost";
  EXPECT_EQ(own_frame({}).file, "");
}

TEST(Frames, SystemCodeIsKnownByModuleOrHeader) {
  Location with_sources = library("start_thread");  // a C library with debug information
  with_sources.file = "pthread_create.c";
  with_sources.line = 442;
  EXPECT_TRUE(is_foreign(with_sources));
  EXPECT_TRUE(is_foreign(at(kVector, 1, "f()")));
  EXPECT_TRUE(is_foreign(at("/usr/include/zlib.h", 1, "f()")));
  EXPECT_FALSE(is_foreign(at("include/zlib.h", 1, "f()")));
  EXPECT_FALSE(is_foreign(at("/home/me/include/c.h", 1, "f()")));
}

TEST(Frames, HeadersAreWrittenAsTheyAreIncluded) {
  auto text = [](const char* file) { return frame_place_text(at(file, 7, "f()")); };
  EXPECT_EQ(text(kVector), "<bits/stl_vector.h>:7");
  EXPECT_EQ(text("/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h"), "<bits/gthr-default.h>:7");
  EXPECT_EQ(text("/usr/lib/llvm-19/include/c++/v1/__memory/shared_ptr.h"), "<__memory/shared_ptr.h>:7");
  EXPECT_EQ(text("/usr/lib/llvm-19/lib/clang/19/include/emmintrin.h"), "<emmintrin.h>:7");
  EXPECT_EQ(text("/usr/include/x86_64-linux-gnu/bits/stdio2.h"), "<bits/stdio2.h>:7");
  EXPECT_EQ(text("/usr/include/boost/x.hpp"), "<boost/x.hpp>:7");
  EXPECT_EQ(text("src/bank.cpp"), "src/bank.cpp:7:3");
}

TEST(Frames, HooksDisappearAndInterposedCallsStayByName) {
  Location hook = at("/build/src/runtime/watch/hooks.cc", 10, "__dh_write4");
  Location inner = at("/build/src/runtime/watch/access.cc", 10, "deadheat::watch::access(int)");
  Location call = at("/build/src/runtime/interpose/memory.cc", 20, "memcpy");
  Location user = at("bank.cpp", 12, "deposit(int)");
  Location inlined = at("/build/src/runtime/inline_hooks.cc", 49, "read");
  Stack stack = {hook, inlined, inner, call, user};
  hide_runtime_frames(stack);
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_TRUE(is_interposed(stack[0]));
  EXPECT_EQ(function_text(stack[0]), "memcpy");
  EXPECT_EQ(frame_place_text(stack[0]), "");
  EXPECT_EQ(own_frame(stack).file, "bank.cpp");
}

TEST(Frames, AProgramMayHaveANamespaceOfOurName) {
  Stack stack = {at("src/report/merge.cc", 10, "deadheat::report::merge()")};
  hide_runtime_frames(stack);
  EXPECT_EQ(stack.size(), 1u);
}

TEST(Frames, HowThreadsStartIsNotShown) {
  Stack stack = {at("bank.cpp", 12, "worker(void*)"), library("start_thread"), library("clone")};
  EXPECT_EQ(without_thread_start(stack).size(), 1u);
  EXPECT_EQ(without_thread_start({library("start_thread")}).size(), 1u) << "if that is all there is, it is";
}

}  // namespace
}  // namespace deadheat::report
