// Happens-before with full vector clocks ("Time, Clocks, and the Ordering of Events in a Distributed System",
// Lamport; "Virtual Time and Global States of Distributed Systems", Mattern).
//
// Promise: two sites are reported if and only if the trace has two conflicting accesses of different threads
// at these sites that happens-before does not order; each pair of sites once, with the first pair of accesses
// that shows it. It is the reference for the other detectors, so it is complete over all pairs of sites and
// not only over last accesses, which is what FastTrack trades for its speed.
//
// A race of happens-before that is not the trace's first one may be an artefact of an earlier race (shb says
// which ones are not).
//
// Cost: a comparison for most accesses, see site_history.h; O(threads) per synchronisation that carries news;
// 56 bytes per (location, thread, site, kind). Tested against the naive closure on all small traces and on
// random ones.
#include "detect/hb.h"

#include "detect/ahead.h"

namespace deadheat::detect {

void HappensBefore::on_batch(EventIndex first, std::span<const Event> events) {
  look_ahead(
      first, events, [&](const Event& event) { history_.fetch_location(event); },
      [&](const Event& event) { history_.fetch_entries(event); },
      [&](EventIndex index, const Event& event) { HappensBefore::on_event(index, event); });
}

void HappensBefore::on_event(EventIndex index, const Event& event) {
  if (failure()) return;
  if (!is_access(event.kind)) {
    clocks_.on_sync(event);
    if (clocks_.forgotten()) give_up_on(*clocks_.forgotten());
    return;
  }
  const ThreadTime& time = clocks_.time(event.thread);
  history_.access(
      index, event, time.self(), time.own(), [&](Slot slot, Clock clock) { return time.knows(slot, clock); },
      [&](const SiteHistory::Entry& other) {
        ++races_;
        report(earlier_event(other, event, clocks_.slots()), RacyEvent{index, event});
      });
}

Statistics HappensBefore::statistics() const {
  return {{"repeated accesses", history_.repeated()},
          {"looks at earlier accesses", history_.looks()},
          {"joins", clocks_.joins()},
          {"joins saved", clocks_.joins_saved()},
          {"slots", clocks_.slots().size()},
          {"races", races_}};
}

}  // namespace deadheat::detect
