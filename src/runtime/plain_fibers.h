// Fibers for a lane that has no identities of its own for them: one thread runs them all in turn, so they are
// ordered with each other as long as they stay on it; a fiber that moves takes its own past along, through an
// object of its own. Nothing that is in order is reported, and two fibers of one thread never are.
//
// Defines lane.h's functions: for inclusion in one file of the lane.
#pragma once

#include "runtime/lane.h"
#include "runtime/platform/memory.h"

namespace deadheat::lane {

struct FiberRef {
  uint64_t object;
};

namespace {
__thread FiberRef* current_fiber __attribute__((tls_model("initial-exec")));
}

FiberRef* fiber_current() {
  if (current_fiber == nullptr) current_fiber = platform::make<FiberRef>();
  return current_fiber;
}

FiberRef* fiber_created(Pc) {
  auto* const fiber = platform::make<FiberRef>();
  release(fiber);  // what it starts with is what its creator knew
  return fiber;
}

void fiber_switching(FiberRef* to, bool) {
  release(fiber_current());
  current_fiber = to;
  acquire(to);
}

void fiber_destroyed(FiberRef* fiber) {
  forget(fiber);
  platform::destroy(fiber);
}

void fiber_named(FiberRef*, const char*) {}

}  // namespace deadheat::lane
