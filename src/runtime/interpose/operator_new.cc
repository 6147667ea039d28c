// operator new and delete, all forms of C++17, so that a report's stack starts at the user's `new`, not in
// libstdc++.
//
// Done without the library: allocate, ask the new-handler, throw. The C++ library is only referred to weakly,
// because C programs have none. A program that replaces some of these keeps its own: ours are weak, and the
// forms that the standard defines through others (new[] through new, sized delete through delete, ...) call
// whichever definition the program ended up with.
//
// Dynamic builds only. In a static one, operator new is libstdc++'s or the program's, and reaches us through
// malloc.
#include "runtime/interpose/allocator.h"
#include "runtime/platform/print.h"

using namespace deadheat;
using namespace deadheat::interpose;

extern "C" {
using NewHandler = void (*)();
__attribute__((weak)) NewHandler get_new_handler() __asm__("_ZSt15get_new_handlerv");
__attribute__((weak)) void throw_bad_alloc() __asm__("_ZSt17__throw_bad_allocv");

// The program's definitions, and ours whatever the program's are.
void* program_new(size_t size) __asm__("_Znwm");
void* program_new_array(size_t size) __asm__("_Znam");
void* program_new_aligned(size_t size, size_t alignment) __asm__("_ZnwmSt11align_val_t");
void* program_new_array_aligned(size_t size, size_t alignment) __asm__("_ZnamSt11align_val_t");
void program_delete(void* block) __asm__("_ZdlPv");
void program_delete_array(void* block) __asm__("_ZdaPv");
void program_delete_aligned(void* block, size_t alignment) __asm__("_ZdlPvSt11align_val_t");
void program_delete_array_aligned(void* block, size_t alignment) __asm__("_ZdaPvSt11align_val_t");
#define OWN(name) __attribute__((alias(name), visibility("hidden")))
#ifdef DEADHEAT_ALLOCATOR_JUMPS
#define OWN_HOT(name) __attribute__((visibility("hidden")))
#else
#define OWN_HOT(name) OWN(name)
#endif
OWN_HOT("_Znwm") void* own_new(size_t);
OWN_HOT("_Znam") void* own_new_array(size_t);
OWN("_ZnwmSt11align_val_t") void* own_new_aligned(size_t, size_t);
OWN("_ZnamSt11align_val_t") void* own_new_array_aligned(size_t, size_t);
OWN_HOT("_ZdlPv") void own_delete(void*);
OWN_HOT("_ZdaPv") void own_delete_array(void*);
OWN("_ZdlPvSt11align_val_t") void own_delete_aligned(void*, size_t);
OWN("_ZdaPvSt11align_val_t") void own_delete_array_aligned(void*, size_t);
}

namespace {

// Null only if the new-handler gave up and `may_fail`. A handler that throws, throws through us.
void* allocate_or_throw(size_t size, size_t alignment, bool may_fail, lane::Pc pc) {
  if (size == 0) size = 1;
  for (;;) {
    void* const block = alignment == 0 ? allocate(size, pc) : allocate_aligned(alignment, size, pc);
    if (block != nullptr) return block;
    NewHandler const handler = &get_new_handler != nullptr ? get_new_handler() : nullptr;
    if (handler != nullptr) {
      handler();
      continue;
    }
    if (may_fail) return nullptr;
    if (&throw_bad_alloc != nullptr) throw_bad_alloc();
    platform::die(70, "operator new: out of memory, and the program has no std::bad_alloc to throw");
  }
}

}  // namespace

#ifdef DEADHEAT_ALLOCATOR_JUMPS

// As the standard defines the default ones, each by whichever definition of the next the program ended up
// with. The library's own take as many steps, through its table of addresses each.
DH_ALLOCATOR_JUMP("_Znwm", "own_new",
                  "pushq %rbx\n"
                  ".cfi_adjust_cfa_offset 8\n"
                  ".cfi_rel_offset %rbx, 0\n"
                  "movq %rdi, %rbx\n"
                  "callq malloc@PLT\n"
                  "testq %rax, %rax\n"
                  "je 1f\n"
                  "popq %rbx\n"
                  ".cfi_remember_state\n"
                  ".cfi_adjust_cfa_offset -8\n"
                  ".cfi_restore %rbx\n"
                  "retq\n"
                  ".cfi_restore_state\n"
                  "1: movq %rbx, %rdi\n"
                  "popq %rbx\n"
                  ".cfi_adjust_cfa_offset -8\n"
                  ".cfi_restore %rbx\n"
                  "jmp deadheat_new_again")
DH_ALLOCATOR_JUMP("_Znam", "own_new_array", "jmp _Znwm@PLT")
DH_ALLOCATOR_JUMP("_ZdlPv", "own_delete", "jmp free@PLT")
DH_ALLOCATOR_JUMP("_ZdaPv", "own_delete_array", "jmp _ZdlPv@PLT")
DH_ALLOCATOR_JUMP("_ZdlPvm", "own_sized_delete", "jmp _ZdlPv@PLT")
DH_ALLOCATOR_JUMP("_ZdaPvm", "own_sized_delete_array", "jmp _ZdaPv@PLT")

extern "C" __attribute__((visibility("hidden"), used, noinline)) void* deadheat_new_again(size_t size) {
  return allocate_or_throw(size, 0, false, CALLER);
}

#else

REPLACE(void*, _Znwm, size_t size) { return allocate_or_throw(size, 0, false, CALLER); }
REPLACE(void*, _Znam, size_t size) {
  if (!same(&program_new, &own_new)) return program_new(size);
  return allocate_or_throw(size, 0, false, CALLER);
}

REPLACE(void, _ZdlPv, void* block) { deallocate(block, CALLER); }
REPLACE(void, _ZdaPv, void* block) {
  if (!same(&program_delete, &own_delete)) return program_delete(block);
  deallocate(block, CALLER);
}
// Forms that only say more about the block, here and below. Each calls its plain form if that is the
// program's.
REPLACE(void, _ZdlPvm, void* block, size_t) {
  if (!same(&program_delete, &own_delete)) return program_delete(block);
  deallocate(block, CALLER);
}
REPLACE(void, _ZdaPvm, void* block, size_t) {
  if (!same(&program_delete_array, &own_delete_array) || !same(&program_delete, &own_delete)) {
    return program_delete_array(block);
  }
  deallocate(block, CALLER);
}

#endif

REPLACE(void*, _ZnwmSt11align_val_t, size_t size, size_t alignment) {
  return allocate_or_throw(size, alignment, false, CALLER);
}
REPLACE(void*, _ZnamSt11align_val_t, size_t size, size_t alignment) {
  if (!same(&program_new_aligned, &own_new_aligned)) return program_new_aligned(size, alignment);
  return allocate_or_throw(size, alignment, false, CALLER);
}

// The nothrow forms catch what a replaced form throws, which takes the C++ library.
#define NOTHROW_NEW(name, replaced, alignment_value, ...)                                 \
  INTERPOSE(void*, name, size_t size, __VA_ARGS__ const void* nothrow) {                  \
    if (replaced) {                                                                       \
      if (auto* const library = REAL_IF_ANY(name)) return library(size, FORWARD nothrow); \
    }                                                                                     \
    return allocate_or_throw(size, alignment_value, true, CALLER);                        \
  }
#define FORWARD
NOTHROW_NEW(_ZnwmRKSt9nothrow_t, !same(&program_new, &own_new), 0, )
NOTHROW_NEW(_ZnamRKSt9nothrow_t, !same(&program_new, &own_new) || !same(&program_new_array, &own_new_array),
            0, )
#undef FORWARD
#define FORWARD alignment,
#define ALIGNED size_t alignment,
NOTHROW_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, !same(&program_new_aligned, &own_new_aligned), alignment,
            ALIGNED)
NOTHROW_NEW(_ZnamSt11align_val_tRKSt9nothrow_t,
            !same(&program_new_aligned, &own_new_aligned) ||
                !same(&program_new_array_aligned, &own_new_array_aligned),
            alignment, ALIGNED)

REPLACE(void, _ZdlPvSt11align_val_t, void* block, size_t) { deallocate(block, CALLER); }
REPLACE(void, _ZdaPvSt11align_val_t, void* block, size_t alignment) {
  if (!same(&program_delete_aligned, &own_delete_aligned)) return program_delete_aligned(block, alignment);
  deallocate(block, CALLER);
}

REPLACE(void, _ZdlPvRKSt9nothrow_t, void* block, const void*) {
  if (!same(&program_delete, &own_delete)) return program_delete(block);
  deallocate(block, CALLER);
}
REPLACE(void, _ZdaPvRKSt9nothrow_t, void* block, const void*) {
  if (!same(&program_delete_array, &own_delete_array) || !same(&program_delete, &own_delete)) {
    return program_delete_array(block);
  }
  deallocate(block, CALLER);
}
REPLACE(void, _ZdlPvmSt11align_val_t, void* block, size_t, size_t alignment) {
  if (!same(&program_delete_aligned, &own_delete_aligned)) return program_delete_aligned(block, alignment);
  deallocate(block, CALLER);
}
REPLACE(void, _ZdlPvSt11align_val_tRKSt9nothrow_t, void* block, size_t alignment, const void*) {
  if (!same(&program_delete_aligned, &own_delete_aligned)) return program_delete_aligned(block, alignment);
  deallocate(block, CALLER);
}
REPLACE(void, _ZdaPvmSt11align_val_t, void* block, size_t, size_t alignment) {
  if (!same(&program_delete_array_aligned, &own_delete_array_aligned) ||
      !same(&program_delete_aligned, &own_delete_aligned)) {
    return program_delete_array_aligned(block, alignment);
  }
  deallocate(block, CALLER);
}
REPLACE(void, _ZdaPvSt11align_val_tRKSt9nothrow_t, void* block, size_t alignment, const void*) {
  if (!same(&program_delete_array_aligned, &own_delete_array_aligned) ||
      !same(&program_delete_aligned, &own_delete_aligned)) {
    return program_delete_array_aligned(block, alignment);
  }
  deallocate(block, CALLER);
}
