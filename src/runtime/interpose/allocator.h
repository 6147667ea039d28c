// The allocator the program ended up with, told to the lane with the caller of our choice (for operator new
// and strdup).
#pragma once

#include "runtime/interpose/interpose.h"

namespace deadheat::interpose {

void* allocate(size_t size, lane::Pc pc);
void* allocate_aligned(size_t alignment, size_t size, lane::Pc pc);
void deallocate(void* block, lane::Pc pc);

}  // namespace deadheat::interpose
