// The end of memory's life: free, munmap. It counts as an access of every byte.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/watch/heap.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

// The end of life of every byte of [address, address + size) that was ever touched, page of shadow by page.
void check_end_where_touched(Thread* thread, uintptr_t address, size_t size, uintptr_t pc);

void check_free(Thread* thread, const HeapBlock& block, uintptr_t pc);
// The same of a block whose memory is about to be unmapped: its shadow is given back, as far as nothing
// but the end of the block is known there (ended.h).
void check_free_and_give_back(Thread* thread, const HeapBlock& block, uintptr_t pc);

// `address` is given to free, and no block begins there: there was one, and somebody has freed it already. In
// another thread, unordered, that is a race of two frees; in order, it is a mistake that the allocator itself
// complains of.
void check_second_free(Thread* thread, uintptr_t address, uintptr_t pc);

}  // namespace deadheat::watch
