// The one event model: what a thread did that an analysis may see.
//
// Events are small, fixed-size and self-contained, so that a stage can keep, copy and reorder them. Names (of
// threads, locations, locks, messages, functions, places) are interned in a `Names` table beside the events;
// detectors only ever see ids.
#pragma once

#include <cstdint>

#include "base/strong_id.h"

namespace deadheat {

enum class EventKind : std::uint8_t {
  kRead,     // object: the location; value if `has_value`
  kWrite,    // object: the location; value if `has_value`
  kAcquire,  // object: the lock
  kRelease,  // object: the lock
  kFork,     // object: the ThreadId of the child
  kJoin,     // object: the ThreadId of the child
  kBegin,    // a thread's first event
  kEnd,      // a thread's last event
  kBranch,   // what follows depends on all earlier reads of this thread
  kSend,     // object: the message
  kReceive,  // object: the message
  kEnter,    // object: the function; value: index of the shared set of reachable locations
  kLeave,    // object: the function
};
inline constexpr int kEventKinds = 13;

struct Event {
  EventKind kind = EventKind::kBegin;
  bool has_value = false;
  bool is_atomic = false;  // of accesses: two atomic ones never race with each other
  std::uint8_t reserved = 0;
  ThreadId thread;
  ObjectId object;
  std::uint64_t value = 0;  // the bits of a signed number where the trace says a value
  SiteId site;
  std::uint32_t line = 0;  // line of the text the event was read from, 0 if none: for messages only

  friend bool operator==(const Event&, const Event&) = default;
};
static_assert(sizeof(Event) == 32, "events are copied by the hundred million");

constexpr bool is_access(EventKind kind) { return kind == EventKind::kRead || kind == EventKind::kWrite; }

}  // namespace deadheat
