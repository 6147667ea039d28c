// The allocator the program ended up with, told to the lane with the caller of our choice (for operator new
// and strdup).
#pragma once

#include "runtime/interpose/interpose.h"

// What programs call all the time, in the monitor lane, which does not hear of new blocks at all, and of
// their ends only while it monitors: a few instructions before there is a frame, then a jump. `own` is a
// second name, by which ours can be told from a program's own.
#if defined(DEADHEAT_LANE_MONITOR) && !defined(DEADHEAT_INTERPOSE_STATIC)
#define DEADHEAT_ALLOCATOR_JUMPS
#define DH_ALLOCATOR_JUMP(name, own, code)            \
  __asm__(                                            \
      ".pushsection deadheat_text,\"ax\",@progbits\n" \
      ".p2align 4\n"                                  \
      ".weak " name                                   \
      "\n"                                            \
      ".globl " own                                   \
      "\n"                                            \
      ".hidden " own                                  \
      "\n"                                            \
      ".type " name                                   \
      ",@function\n"                                  \
      ".type " own ",@function\n" name ":\n" own      \
      ":\n"                                           \
      ".cfi_startproc\n" code                         \
      "\n"                                            \
      ".cfi_endproc\n"                                \
      ".size " name ",.-" name                        \
      "\n"                                            \
      ".popsection");
#endif

namespace deadheat::interpose {

// Is `free` ours, and not the program's own?
bool hears_of_frees();

// For its life, what libc allocates is for the program, which thereby fills it.
class HandsOut {
 public:
  explicit HandsOut(lane::Pc pc);
  ~HandsOut();
  HandsOut(const HandsOut&) = delete;
  HandsOut& operator=(const HandsOut&) = delete;
};

void* allocate(size_t size, lane::Pc pc);
void* allocate_aligned(size_t alignment, size_t size, lane::Pc pc);
void deallocate(void* block, lane::Pc pc);

}  // namespace deadheat::interpose
