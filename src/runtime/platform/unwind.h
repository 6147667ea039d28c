// The real call stack, from unwind tables: for the few places where the shadow call stack is not enough.
//
// The shadow stack knows where each instrumented function was called from, but not where in the innermost one
// the program stands when it is inside a library that was not instrumented (std::thread's constructor ends in
// libstdc++, and with it goes the user's line). Unwinding costs microseconds: right for the creation of a
// thread, wrong for an access, unless what was found can be used again.
#pragma once

#include <stdint.h>

namespace deadheat::platform {

// Return addresses, innermost first, beginning with `from` (which must be on the stack). Returns how many; 0
// if the program has no unwinder (C programs need not) or `from` was not found. `places`, if not null: where
// on the stack each of them is.
unsigned unwind_from(uintptr_t from, uintptr_t* pcs, unsigned max, const uintptr_t** places = nullptr);

// The loaded file around a code address, from the loader's own table, without a lock. False if there is none,
// or this libc has no such table.
struct CodeRange {
  uintptr_t begin;
  uintptr_t end;
};
bool code_range_at(uintptr_t address, CodeRange* range);

}  // namespace deadheat::platform
