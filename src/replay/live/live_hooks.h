// The hooks of live code: replaying, they do what those of observed code do; in a live world they ask it.
#pragma once

#include <span>

namespace deadheat::replay {

struct LiveHook {
  const char* name;
  void* address;
};

// In place of those of the same name in slow_hooks.h.
std::span<const LiveHook> live_hooks();

}  // namespace deadheat::replay
