#pragma once
#include "runtime/interpose/interpose.h"
namespace deadheat::interpose {
inline void descriptors_fork_prepare() {}
inline void descriptors_fork_done() {}
}  // namespace deadheat::interpose
