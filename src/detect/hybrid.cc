// The hybrid detector of "Detection of High-Level Synchronization Anomalies in Parallel Programs"
// (Jannesari), section 3.4, which takes its state machine from Helgrind+; here for single locations.
//
// Promise: a location is reported, once, when an access that is parallel to an earlier one since the last
// reset leaves no lock that all of them held, and one of them wrote. Order means program order, fork, join
// and messages, *not* locks: locks are judged by the locksets. So lock order never hides a race, and
// hand-over without any of these is reported though it may be correct.
//
// States: new; exclusive-read and exclusive-write, while accesses are ordered (candidates: the locks of the
// last access); shared-read and shared-write, once accesses are parallel (candidates: refined at each); race,
// which is final. An access that is ordered after all accesses of a shared state leads back to an exclusive
// one and resets the candidates.
//
// Departure: the paper stores the time of the last access and calls an access ordered if it is after that. A
// shared location has several last accesses; being after one of them says nothing about the others. Here an
// access is ordered if it is after the last access of every thread since the last reset. A read of a location
// that the same thread has written leaves it in exclusive-write.
//
// Cost: O(1) per access while exclusive, O(threads that share it) while shared. Tested against the
// specification written with plain sets and closures.
#include "detect/hybrid.h"

#include <algorithm>

namespace deadheat::detect {

void Hybrid::on_event(EventIndex index, const Event& event) {
  if (failure()) return;
  if (is_access(event.kind)) {
    on_access(index, event);
  } else if (event.kind == EventKind::kAcquire || event.kind == EventKind::kRelease) {
    held_.on_lock(event);
  } else {
    clocks_.on_sync(event);
    if (clocks_.forgotten()) give_up_on(*clocks_.forgotten());
  }
}

void Hybrid::on_access(EventIndex index, const Event& event) {
  if (event.object.index() >= cells_.size())
    cells_.resize(std::max(event.object.index() + 1, cells_.size() * 2));
  Cell& cell = cells_[event.object.index()];
  if (cell.state == State::kRace) return;
  const ThreadTime& time = clocks_.time(event.thread);
  const Epoch now(time.self(), time.own());
  const bool write = event.kind == EventKind::kWrite;
  const LocksetId locks = held_.held(event.thread);
  const auto known = [&](Epoch epoch) { return time.knows(epoch.slot(), epoch.clock()); };

  const bool shared = cell.state == State::kSharedRead || cell.state == State::kSharedWrite;
  const bool ordered =
      cell.state == State::kNew ||
      (shared ? std::all_of(cell.shared.begin(), cell.shared.end(), known) : known(cell.last));
  if (ordered) {
    ++ordered_;
    if (shared) ++back_to_exclusive_;
    const bool still_written = cell.state == State::kExclusiveWrite && cell.last.slot() == now.slot() &&
                               cell.last.clock() >= clocks_.slots().first_clock(now.slot());
    cell.state = write || still_written ? State::kExclusiveWrite : State::kExclusiveRead;
    cell.candidates = locks;
    cell.last = now;
    cell.shared.clear();
    cell.recent.add(index, event, time.self(), time.own());
    return;
  }

  ++parallel_;
  cell.candidates = held_.sets().intersection(cell.candidates, locks);
  const bool written = write || cell.state == State::kExclusiveWrite || cell.state == State::kSharedWrite;
  if (written && cell.candidates == Locksets::kEmpty) {
    ++races_;
    cell.state = State::kRace;
    const RacyEvent partner = cell.recent.partner(event, [&](const RecentAccesses::Access& access) {
      return access.thread == event.thread || time.knows(access.slot, access.clock);
    });
    cell.shared = {};
    report(partner, RacyEvent{index, event});
    return;
  }
  if (!shared) cell.shared = {cell.last};
  const auto mine = std::find_if(cell.shared.begin(), cell.shared.end(),
                                 [&](Epoch epoch) { return epoch.slot() == now.slot(); });
  if (mine == cell.shared.end()) {
    cell.shared.push_back(now);
  } else {
    *mine = now;
  }
  cell.state = written ? State::kSharedWrite : State::kSharedRead;
  cell.recent.add(index, event, time.self(), time.own());
}

Statistics Hybrid::statistics() const {
  return {{"ordered accesses", ordered_},
          {"parallel accesses", parallel_},
          {"back to exclusive", back_to_exclusive_},
          {"races", races_}};
}

}  // namespace deadheat::detect
