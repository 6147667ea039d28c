// What an instrumented module carries besides its code: a constructor that introduces it to the runtime
// before anything else runs, and an ELF note by which tools tell an instrumented file.
//
// Both are one per linked file, however many modules go into it: their COMDAT names say version and lane, so
// that files of different versions do not silently share one.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "instrument/hooks.h"

namespace deadheat::instrument {

// The note: name "Deadheat", type kNoteType, description: the ABI version (4 bytes, little-endian) and the
// mode (12 bytes).
inline constexpr uint32_t kNoteType = 1;
inline constexpr const char* kNoteSection = ".note.deadheat";

void add_constructor(llvm::Module& module, Hooks& hooks, const std::string& mode);
void add_note(llvm::Module& module, const std::string& mode);

}  // namespace deadheat::instrument
