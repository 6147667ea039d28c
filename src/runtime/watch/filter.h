// Which accesses the detector gets to see: `--filter spans|tree|none`.
//
//   spans   the default: labels and coverage, exact (src/detect/spans.h); asked by the inlined hooks
//   tree    the thesis's concurrential equivalence (src/detect/tree.h) in front of plain FastTrack: a
//   yardstick, and not exact
//           in front of a happens-before detector; docs/performance.md says what it loses
//   none    plain FastTrack: every access is looked at
//
// With tree and none every access takes the slow path and every release starts a new label, as in FastTrack.
#pragma once

#include <stdint.h>

#include "runtime/platform/options.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

inline bool spans_filter() { return platform::options().filter == platform::Filter::kSpans; }
inline bool tree_filter() { return platform::options().filter == platform::Filter::kTree; }

// True if TREE drops the access.
bool tree_redundant(Thread* thread, uintptr_t pc, bool write, uintptr_t address);
void tree_acquired(Thread* thread, const volatile void* lock);
void tree_released(Thread* thread, const volatile void* lock);
void tree_message(Thread* thread);

}  // namespace deadheat::watch
