// Scopes that the program wants ignored, counted here as well as by the lane: a signal handler that
// interrupts one is not in it.
#pragma once

#include "runtime/interpose/interpose.h"

namespace deadheat::interpose {

void begin_ignoring(bool reads, bool writes);
void end_ignoring(bool reads, bool writes);
void begin_ignoring_sync();
void end_ignoring_sync();

// For its life, nothing is ignored that was before it.
class IgnoredAside {
 public:
  IgnoredAside();
  ~IgnoredAside();
  IgnoredAside(const IgnoredAside&) = delete;
  IgnoredAside& operator=(const IgnoredAside&) = delete;

 private:
  uint32_t reads_;
  uint32_t writes_;
  uint32_t sync_;
};

}  // namespace deadheat::interpose
