#include "runtime/platform/own_stack.h"

#include <stddef.h>
#include <stdint.h>

#include "runtime/platform/memory.h"
#include "runtime/platform/signal_mask.h"
#include "runtime/platform/syscalls.h"

namespace deadheat::platform {
namespace {

constexpr size_t kSize = size_t{128} << 10;
constexpr size_t kGuard = 4096;  // at its low end
constexpr unsigned kStacks = 64;

struct Stack {
  uint32_t taken;
  uintptr_t low;  // 0: not mapped yet
};
Stack stacks[kStacks];

bool map(Stack* stack) {
  if (stack->low != 0) return true;
  void* const pages = try_map_pages(kSize);
  if (pages == nullptr) return false;
  syscall6(SYS_mprotect, reinterpret_cast<long>(pages), kGuard, PROT_NONE);
  __atomic_store_n(&stack->low, reinterpret_cast<uintptr_t>(pages), __ATOMIC_RELAXED);
  return true;
}

bool is_on_one(uintptr_t here) {
  for (const Stack& stack : stacks) {
    uintptr_t const low = __atomic_load_n(&stack.low, __ATOMIC_RELAXED);
    if (low != 0 && here - low < kSize) return true;
  }
  return false;
}

Stack* take() {
  for (Stack& stack : stacks) {
    if (__atomic_exchange_n(&stack.taken, 1u, __ATOMIC_ACQUIRE) != 0) continue;
    if (map(&stack)) return &stack;
    __atomic_store_n(&stack.taken, 0u, __ATOMIC_RELEASE);
    return nullptr;
  }
  return nullptr;
}

}  // namespace

// The frame pointer stays on the old stack, so that unwinding goes from one to the other.
__attribute__((naked)) void call_on_stack(uintptr_t /*top*/, void (* /*work*/)(void*), void* /*argument*/) {
  __asm__(
      "push %rbp\n"
      ".cfi_def_cfa_offset 16\n"
      ".cfi_offset %rbp, -16\n"
      "mov %rsp, %rbp\n"
      ".cfi_def_cfa_register %rbp\n"
      "mov %rdi, %rsp\n"
      "mov %rdx, %rdi\n"
      "call *%rsi\n"
      "mov %rbp, %rsp\n"
      "pop %rbp\n"
      ".cfi_def_cfa %rsp, 8\n"
      "ret");
}

void on_own_stack(void (*work)(void*), void* argument) {
  if (is_on_one(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)))) return work(argument);
  uint64_t mask = 0;
  block_all_signals(&mask);
  if (Stack* const stack = take()) {
    call_on_stack(stack->low + kSize, work, argument);
    __atomic_store_n(&stack->taken, 0u, __ATOMIC_RELEASE);
  } else {
    work(argument);
  }
  set_signal_mask(mask);
}

}  // namespace deadheat::platform
