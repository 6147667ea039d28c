// The program's live heap blocks: what a report says of an address, and how much a free frees.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/watch/stacks.h"

namespace deadheat::watch {

struct HeapBlock {
  uintptr_t address;
  size_t size;
  StackId stack;
  uint32_t thread;
};
// Instead of a thread: of a library that guards its own by locks that nobody sees.
inline constexpr uint32_t kHiddenBlock = ~uint32_t{0};

void heap_add(const HeapBlock& block);
// False if there is no such block.
bool heap_remove(uintptr_t address, HeapBlock* removed);
// A block is larger from now on; `clear` is called for what it did not have yet, once.
void heap_extend(uintptr_t address, size_t size, void (*clear)(uintptr_t added, size_t size));
// The block that begins there.
bool heap_at(uintptr_t address, HeapBlock* found);
// The program's live block that contains `address`. Searches everything: for reports only.
bool heap_find(uintptr_t address, HeapBlock* found);
// The one that contained it and was freed, unless too much has been freed or allocated there since.
bool heap_find_freed(uintptr_t address, HeapBlock* found);
void heap_fork_preparing();
void heap_fork_done();

}  // namespace deadheat::watch
