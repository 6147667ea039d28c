// Events of a batch one by one, with a look ahead: what detectors wait for is memory, so they ask for it
// early.
#pragma once

#include <cstddef>
#include <span>

#include "base/strong_id.h"
#include "trace/event.h"

namespace deadheat::detect {

// Calls far(event) and near(event) for accesses some events before each(index, event): `far` can fetch what
// holds a pointer, `near` what the pointer leads to.
template <class Far, class Near, class Each>
void look_ahead(EventIndex first, std::span<const Event> events, const Far& far, const Near& near,
                const Each& each) {
  constexpr std::size_t kFar = 20;
  constexpr std::size_t kNear = 10;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i + kFar < events.size() && is_access(events[i + kFar].kind)) far(events[i + kFar]);
    if (i + kNear < events.size() && is_access(events[i + kNear].kind)) near(events[i + kNear]);
    each(EventIndex(first.value() + i), events[i]);
  }
}

}  // namespace deadheat::detect
