// Inlining the hot hooks.
//
// The bodies of a lane's hot hooks (runtime/inline_hooks.cc for the watch lane) are compiled once to bitcode
// and carried inside the plugin. They are linked into the module as definitions that are never emitted
// (available_externally), inlined at every call, and dropped again. Their debug information is stripped
// first: LLVM then gives every inlined instruction the line of the call, so that the return address of a slow
// path symbolises to the access's own line and to nothing else. Attributes that name a processor are stripped
// as well, so that a module compiled for another one can inline them.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Module.h>

#include "base/result.h"
#include "instrument/statistics.h"

namespace deadheat::instrument {

// The bitcode carried by the plugin for one lane.
llvm::StringRef hook_bitcode(llvm::StringRef mode);

Status inline_hooks(llvm::Module& module, llvm::StringRef bitcode, Statistics& statistics);
// The runtime is part of the executable: if the module can be part of nothing else, because it is not
// compiled to be part of a library, it need not ask the dynamic linker where the runtime's variables and
// functions are.
void address_runtime_directly(llvm::Module& module);

// The same in two steps, for who has many modules: the hooks as definitions that are never emitted; and, once
// they are in a module, their inlining.
Result<std::unique_ptr<llvm::Module>> parse_hooks(llvm::LLVMContext& context, llvm::StringRef bitcode);
void inline_linked_hooks(llvm::Module& module, Statistics& statistics);

}  // namespace deadheat::instrument
