// The executable and the shared libraries in this process, as a report needs them.
//
// Read from /proc/thread-self/maps, not from the dynamic loader: its lock may be held by a thread that waits
// for us. A program may lose /proc, or its root, before there is anything to report; so the list is read when
// the program starts and when it has loaded a library, and what was known is kept. Where there is no /proc
// from the start, it is read from the loader, at these times only.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat::platform {

struct Module {
  uintptr_t base;  // address minus base is the ELF file's virtual address
  uintptr_t begin;
  uintptr_t end;
  const char* path;
  // Which file that was; 0 if it is not known.
  uint64_t device;
  uint64_t number;
};

// Reads the list anew; paths stay valid. Returns how many modules there are.
unsigned read_modules();
// The same where the loader may be asked as well. REQUIRES: no lock is held that anybody may take who has the
// loader's.
void remember_modules();
void modules_fork_child();
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
