// Which shadow stack goes on, told by stack pointers alone.
#include "runtime/watch/frame_stacks.h"

#include <gtest/gtest.h>

#include <memory>

#include "runtime/platform/memory.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {
namespace {

constexpr uintptr_t kStackBytes = 1u << 20;
constexpr uintptr_t kContextBytes = 1u << 16;

// A thread whose stack is `low` and a MiB above; what it pushes are numbers.
class Runner {
 public:
  explicit Runner(uintptr_t low) : thread_(platform::make<Thread>()), low_(low) {
    FrameStack* const stack = frame_stack_make(kStackBytes);
    stack->is_run = stack->is_home = true;
    thread_->frame_stack = thread_->home_frames = stack;
    thread_->frames = stack->frames;
    thread_->frames_end = stack->end;
    thread_->stack_low = low;
    thread_->stack_high = low + kStackBytes;
    thread_->hot = &hot_;
    hot_.next_frame = stack->frames;
  }
  ~Runner() {
    frame_stack_free(thread_->home_frames);
    platform::destroy(thread_);
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  [[nodiscard]] uintptr_t at(uintptr_t depth) const { return low_ + kStackBytes - depth; }
  void push(int n) { (hot_.next_frame++)->return_address = reinterpret_cast<const void*>(uintptr_t(n)); }
  [[nodiscard]] uintptr_t innermost() const {
    if (hot_.next_frame == thread_->frames) return 0;
    return reinterpret_cast<uintptr_t>(hot_.next_frame[-1].return_address);
  }
  void go(uintptr_t from, uintptr_t to, bool is_over = false) {
    frame_stack_switch(thread_, from, to - (is_over ? 0 : 64), is_over);
  }

 private:
  Thread* thread_;
  uintptr_t low_;
  DhHot hot_{};
};

constexpr uintptr_t kFirst = uintptr_t{1} << 40;
constexpr uintptr_t kSecond = uintptr_t{2} << 40;
constexpr uintptr_t kContext = uintptr_t{3} << 40;

TEST(FrameStacks, AContextTakesItsFramesToAnotherThread) {
  Runner first(kFirst);
  Runner second(kSecond);
  uintptr_t const top = kContext + kContextBytes;
  frame_stack_begin(kContext, kContextBytes, top);
  first.push(1);
  second.push(2);
  first.go(first.at(100), top);
  EXPECT_EQ(first.innermost(), 0u);
  first.push(3);
  first.push(4);
  first.go(top - 300, first.at(100));
  EXPECT_EQ(first.innermost(), 1u);
  second.go(second.at(100), top - 300);
  EXPECT_EQ(second.innermost(), 4u);
  second.go(top - 100, second.at(100), true);
  EXPECT_EQ(second.innermost(), 2u);
  EXPECT_EQ(known_frame_stacks, 2u) << "those of the threads";
}

TEST(FrameStacks, OneStackMayBeMadeAContextManyTimes) {
  Runner runner(kFirst);
  runner.push(1);
  for (int i = 0; i < 100000; ++i) {
    frame_stack_begin(kContext, kContextBytes, kContext + kContextBytes);
    runner.go(runner.at(100), kContext + kContextBytes);
    ASSERT_EQ(runner.innermost(), 0u);
    runner.push(2);
    runner.go(kContext + 1000, runner.at(100));
    ASSERT_EQ(runner.innermost(), 1u);
  }
  EXPECT_EQ(known_frame_stacks, 2u);
  frame_stacks_end_in(kContext - 64, kContextBytes + 128);
  EXPECT_EQ(known_frame_stacks, 1u);
}

TEST(FrameStacks, OfTwoThatContainAnAddressTheOneThatWasLeftThereGoesOn) {
  Runner runner(kFirst);
  runner.push(1);
  // A context within the thread's own stack, by a function that has returned since.
  uintptr_t const inner = runner.at(kContextBytes + 4096);
  frame_stack_begin(inner, kContextBytes, inner + kContextBytes);
  runner.go(runner.at(kContextBytes + 5000), inner + kContextBytes);
  runner.push(2);
  runner.go(inner + 1024, runner.at(kContextBytes + 5000));
  EXPECT_EQ(runner.innermost(), 1u);
  frame_stack_begin(kContext, kContextBytes, kContext + kContextBytes);
  runner.go(inner + 3000, kContext + kContextBytes);
  runner.go(kContext + 5000, inner + 3000);
  EXPECT_EQ(runner.innermost(), 1u);
  frame_stacks_end_in(inner, kContextBytes);
  frame_stacks_end_in(kContext, kContextBytes);
  EXPECT_EQ(known_frame_stacks, 1u);
}

TEST(FrameStacks, WhereNobodyKnowsAStackTheThreadsOwnGoesOn) {
  Runner runner(kFirst);
  runner.push(1);
  runner.go(runner.at(100), kSecond);
  EXPECT_EQ(runner.innermost(), 1u);
}

}  // namespace
}  // namespace deadheat::watch
