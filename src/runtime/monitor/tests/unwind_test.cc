// The walk up the stack by unwind tables, against the compiler's own unwinder, from functions with and
// without frame pointers, large and small frames, and through code of other libraries.
#include "runtime/monitor/unwind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdlib.h>
#include <unwind.h>

#include <vector>

namespace deadheat::monitor {
namespace {

using ::testing::ElementsAreArray;
using ::testing::SizeIs;

struct Both {
  std::vector<uintptr_t> ours;
  std::vector<uintptr_t> theirs;
};

uintptr_t stack_high() {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<uintptr_t>(low) + size;
}

// Called by the functions below: from here up.
__attribute__((noinline)) void look(Both& both) {
  constexpr unsigned kMost = 64;
  uintptr_t pcs[kMost];
  both.ours.assign(pcs, pcs + walk(caller_of(__builtin_frame_address(0)), stack_high(), pcs, kMost));
  both.theirs.clear();
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* argument) {
        if (uintptr_t const pc = _Unwind_GetIP(context))
          static_cast<std::vector<uintptr_t>*>(argument)->push_back(pc);
        return _URC_NO_REASON;
      },
      &both.theirs);
  both.theirs.erase(both.theirs.begin());  // this function itself
}

volatile int zero = 0;
#define LEAVES_NOTHING asm volatile("" ::: "memory")

__attribute__((noinline)) int without_pointer(Both& both, int depth);

__attribute__((noinline)) int with_pointer(Both& both, int depth) {
  auto* const room = static_cast<char*>(__builtin_alloca(static_cast<size_t>(depth) * 48 + 16));
  room[0] = static_cast<char>(depth);
  asm volatile("" : : "r"(room) : "memory");  // a frame of no fixed size has a frame pointer
  int const result = without_pointer(both, depth - 1);
  LEAVES_NOTHING;
  return result + room[0];
}

__attribute__((noinline)) int with_large_frame(Both& both, int depth) {
  char room[5000];
  room[zero] = 1;
  asm volatile("" : : "r"(room) : "memory");
  int const result = with_pointer(both, depth);
  LEAVES_NOTHING;
  return result + room[zero];
}

// Every register that a callee must keep is in use, rbp among them.
__attribute__((noinline)) int without_pointer(Both& both, int depth) {
  if (depth <= 0) {
    look(both);
    LEAVES_NOTHING;
    return 0;
  }
  int a = depth * 3, b = depth ^ 5, c = depth + 7, d = depth - 9, e = depth * 11, f = depth | 13;
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f) : : "memory");
  int const result = depth % 3 == 0 ? with_large_frame(both, depth) : without_pointer(both, depth - 1);
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f) : : "memory", "rbp");
  return result + a + b + c + d + e + f;
}

TEST(Unwind, FindsEveryCallerThatTheCompilersUnwinderFinds) {
  for (int depth = 0; depth < 12; ++depth) {
    Both both;
    without_pointer(both, depth);
    ASSERT_GT(both.theirs.size(), static_cast<size_t>(depth) + 3);
    EXPECT_THAT(both.ours, ElementsAreArray(both.theirs)) << depth;
  }
}

TEST(Unwind, PassesThroughLibrariesThatWereNotBuiltForIt) {
  static Both both;
  int items[] = {3, 1, 2};
  qsort(items, 3, sizeof *items, [](const void* a, const void* b) {
    without_pointer(both, 2);
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  EXPECT_THAT(both.ours, ElementsAreArray(both.theirs));
  EXPECT_GT(both.ours.size(), 5u);
}

TEST(Unwind, EndsWhereAThreadBegins) {
  static Both both;
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void*) -> void* {
                  without_pointer(both, 4);
                  return nullptr;
                },
                nullptr),
            0);
  pthread_join(thread, nullptr);
  EXPECT_THAT(both.ours, ElementsAreArray(both.theirs));
}

TEST(Unwind, StopsAtAsManyAsThereIsRoomFor) {
  uintptr_t pcs[3];
  EXPECT_EQ(walk(caller_of(__builtin_frame_address(0)), stack_high(), pcs, 3), 3u);
  EXPECT_EQ(walk(caller_of(__builtin_frame_address(0)), stack_high(), pcs, 1), 1u);
}

TEST(Unwind, WhatLeadsNowhereEndsTheWalk) {
  uintptr_t pcs[8];
  uintptr_t words[8] = {};
  auto const here = reinterpret_cast<uintptr_t>(words);
  // Code that no table knows, and a frame pointer to nothing; below the stack; beyond its end; to itself.
  EXPECT_EQ(walk({5000, here, 0}, stack_high(), pcs, 8), 1u);
  EXPECT_EQ(walk({5000, here, here - 64}, stack_high(), pcs, 8), 1u);
  EXPECT_EQ(walk({5000, here, stack_high()}, stack_high(), pcs, 8), 1u);
  words[0] = here;
  words[1] = 4000;
  EXPECT_EQ(walk({5000, here, here}, stack_high(), pcs, 8), 1u);
  words[1] = 6000;
  EXPECT_EQ(walk({5000, here, here}, stack_high(), pcs, 8), 2u);
}

TEST(Unwind, KnowsWhereFunctionsBegin) {
  auto const look_at = reinterpret_cast<uintptr_t>(&look);
  EXPECT_EQ(function_around(look_at), look_at);
  EXPECT_EQ(function_around(look_at + 5), look_at);
  EXPECT_EQ(function_around(5000), 0u);
}

}  // namespace
}  // namespace deadheat::monitor
