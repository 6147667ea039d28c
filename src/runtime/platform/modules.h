// The executable and the shared libraries in this process, as a report needs them.
//
// Read from /proc/thread-self/maps, not from the dynamic loader: its lock may be held by a thread that waits
// for us.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat::platform {

struct Module {
  uintptr_t base;  // address minus base is the ELF file's virtual address
  uintptr_t begin;
  uintptr_t end;
  const char* path;
};

// Reads the list anew; paths stay valid. Returns how many modules there are.
unsigned read_modules();
const Module* module_at(uintptr_t address);
const Module& module_number(unsigned index);

// Where the executable's thread-local variables of a thread begin; how many bytes they have. On this machine
// they stand directly below the thread pointer, which is what a pthread_t is.
struct ThreadLocals {
  uintptr_t begin;
  size_t size;
};
ThreadLocals executables_thread_locals(uintptr_t thread_pointer);

// Is this an address in code that guards what it allocates by locks of its own, which nobody can see? The
// dynamic loader (thread-local storage, the list of libraries), and what `let_order_by_itself` was told of.
bool orders_by_itself(uintptr_t address);
// The whole library around an address; one at most.
void let_order_by_itself(uintptr_t address);

}  // namespace deadheat::platform
