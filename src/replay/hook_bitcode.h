// The hooks of replay_hooks.cc as bitcode, carried inside the library.
#pragma once

#include <llvm/ADT/StringRef.h>

#include "replay/mirror.h"

namespace deadheat::replay {

llvm::StringRef hook_bitcode(Variant variant, Predictor predictor);

}  // namespace deadheat::replay
