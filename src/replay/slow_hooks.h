// The hooks that mirrored code calls (abi.h), for the linker of mirrored code.
#pragma once

#include <span>

namespace deadheat::replay {

struct SlowHook {
  const char* name;
  void* bare;
  void* observed;
};

std::span<const SlowHook> slow_hooks();

}  // namespace deadheat::replay
