// Accesses that a program makes by calls of the sanitizers' interface, as the instructions that they are.
//
// `__has_feature(thread_sanitizer)` is true (sanitizer_marks.h), so libraries make misaligned accesses by
// __sanitizer_unaligned_load32 and its like, and some their atomics by __tsan_atomic32_load and its like. The
// runtime has functions of these names (src/runtime/sanitizer_interface), but an access in there would be
// reported at a line that is not the program's. So what is called directly, with an order that is known, is
// made an instruction before anything else looks at it: then every lane knows what to do.
#pragma once

#include <llvm/IR/Function.h>

namespace deadheat::instrument {

void lower_sanitizer_calls(llvm::Function& function);

}  // namespace deadheat::instrument
