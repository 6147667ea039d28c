// Contexts: makecontext, swapcontext and setcontext switch to another stack, perhaps to one that another
// thread has run on before. The lane is told which, because functions end on the stack they began on
// (lane.h).
//
// Nothing is ordered by that: what a context does is done by the thread that runs it. Who hands a context to
// another thread synchronises, or they race.
//
// A context whose function returns goes on with `uc_link`, by a call inside libc that cannot be interposed.
// So the place that the function returns to (libc's __start_context, which finds uc_link where %rbx points)
// is replaced by one of ours, which tells the lane and goes on there.
#include <stdarg.h>
#include <ucontext.h>

#include "runtime/interpose/signals.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

const void* stack_pointer_of(const ucontext_t* context) {
  return reinterpret_cast<const void*>(context->uc_mcontext.gregs[REG_RSP]);
}

bool lane_is_interested() { return &lane::context_switching != nullptr; }

}  // namespace

extern "C" {
__attribute__((visibility("hidden"))) void deadheat_context_returns();
// What libc would have returned to.
__attribute__((visibility("hidden"))) void (*deadheat_start_context)();
__attribute__((visibility("hidden"), used)) void deadheat_context_returned(const ucontext_t* link,
                                                                           const void* here) {
  if (link != nullptr) lane::context_switching(here, stack_pointer_of(link), true);
}
}

// Entered by a return, with a stack that is aligned, as behind a call. Nobody unwinds beyond.
__asm__(
    ".pushsection .text\n"
    ".p2align 4\n"
    ".globl deadheat_context_returns\n"
    ".type deadheat_context_returns,@function\n"
    "deadheat_context_returns:\n"
    ".cfi_startproc\n"
    ".cfi_undefined %rip\n"
    "nop\n"
    "mov (%rbx), %rdi\n"
    "mov %rsp, %rsi\n"
    "mov %rsp, %r12\n"
    "and $-16, %rsp\n"
    "call deadheat_context_returned\n"
    "mov %r12, %rsp\n"
    "jmpq *deadheat_start_context(%rip)\n"
    ".cfi_endproc\n"
    ".size deadheat_context_returns,.-deadheat_context_returns\n"
    ".popsection\n");

// The arguments are passed on as words, as libc takes them: as many as there are, up to a number that nobody
// needs.
INTERPOSE(void, makecontext, ucontext_t* context, void (*function)(), int count, ...) {
  constexpr int kMost = 24;
  long a[kMost] = {};
  va_list list;
  va_start(list, count);
  for (int i = 0; i < count && i < kMost; ++i) a[i] = va_arg(list, long);
  va_end(list);
  REAL(makecontext)
  (context, function, count, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
   a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23]);
  if (!lane_is_interested()) return;
  lane::context_made(context->uc_stack.ss_sp, context->uc_stack.ss_size, stack_pointer_of(context));
  // As libc has left it, or not touched at all.
  auto** const return_to = reinterpret_cast<void (**)()>(context->uc_mcontext.gregs[REG_RSP]);
  auto** const link = reinterpret_cast<ucontext_t**>(context->uc_mcontext.gregs[REG_RBX]);
  auto const low = reinterpret_cast<uintptr_t>(context->uc_stack.ss_sp);
  auto const lies_in = [&](const void* at) {
    return reinterpret_cast<uintptr_t>(at) - low <= context->uc_stack.ss_size - sizeof(void*);
  };
  if (!lies_in(return_to) || !lies_in(link) || *link != context->uc_link) return;
  void (*const before)() = __atomic_load_n(&deadheat_start_context, __ATOMIC_RELAXED);
  if (before != nullptr && *return_to != before) return;
  __atomic_store_n(&deadheat_start_context, *return_to, __ATOMIC_RELAXED);
  *return_to = deadheat_context_returns;
}

// The frame of this call stays on the stack that is left, and may return in another thread.
INTERPOSE(int, swapcontext, ucontext_t* left, const ucontext_t* context) {
  if (lane_is_interested())
    lane::context_switching(__builtin_frame_address(0), stack_pointer_of(context), false);
  return REAL(swapcontext)(left, context);
}

INTERPOSE(int, setcontext, const ucontext_t* context) {
  leave_handlers_of_faults();
  if (lane_is_interested())
    lane::context_switching(__builtin_frame_address(0), stack_pointer_of(context), false);
  return REAL(setcontext)(context);
}
