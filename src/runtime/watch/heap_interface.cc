// Of <sanitizer/allocator_interface.h>, what asks about one block: this lane knows the program's blocks. (For
// the other lanes: runtime/sanitizer_interface/no_blocks.c.)
#include "runtime/abi.h"
#include "runtime/watch/heap.h"
#include "runtime/watch/thread.h"

using namespace deadheat::watch;

namespace {

bool find(const volatile void* address, bool (*look)(uintptr_t, HeapBlock*), HeapBlock* block) {
  Thread* const thread = current_or_adopt();
  if (thread == nullptr) return false;
  Inside const inside(thread);
  return look(reinterpret_cast<uintptr_t>(address), block) && block->thread != kHiddenBlock;
}

}  // namespace

DH_HOOK int __sanitizer_get_ownership(const volatile void* address) {
  HeapBlock block;
  return find(address, heap_at, &block) ? 1 : 0;
}
DH_HOOK const void* __sanitizer_get_allocated_begin(const void* address) {
  HeapBlock block;
  return find(address, heap_find, &block) ? reinterpret_cast<const void*>(block.address) : nullptr;
}
DH_HOOK size_t __sanitizer_get_allocated_size(const volatile void* address) {
  HeapBlock block;
  return find(address, heap_at, &block) ? block.size : 0;
}
DH_HOOK size_t __sanitizer_get_allocated_size_fast(const volatile void* address) {
  return __sanitizer_get_allocated_size(address);
}
