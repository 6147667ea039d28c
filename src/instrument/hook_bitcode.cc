#include "instrument/inline_hooks.h"

extern "C" const char deadheat_hook_bitcode[];
extern "C" const char deadheat_hook_bitcode_end[];

namespace deadheat::instrument {

llvm::StringRef hook_bitcode() {
  return {deadheat_hook_bitcode, static_cast<size_t>(deadheat_hook_bitcode_end - deadheat_hook_bitcode)};
}

}  // namespace deadheat::instrument
