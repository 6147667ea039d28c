// Eraser ("Eraser: A Dynamic Data Race Detector for Multithreaded Programs", Savage, Burrows, Nelson,
// Sobalvarro, Anderson).
//
// Promise: a location is reported, once, when it has been written while shared and no lock was held at all
// accesses since it became shared. This is a discipline, not an order: forks, joins and messages are not
// understood, so correct programs are reported; and initialisation by one thread is forgiven, so races can be
// missed.
//
// States of a location: virgin; exclusive to its first thread; shared (only read since a second thread came:
// candidates are refined, nothing is reported); shared-modified (refined and reported when no candidate is
// left). Candidates are the locks of the access that made it shared, intersected with those of every access
// after it.
//
// A report needs two accesses: the one that emptied the candidates, and the most recent conflicting one of
// another thread.
//
// Cost: O(1) per access; sets of locks are interned and intersections remembered. Tested against the
// specification written with plain sets.
#include "detect/lockset.h"

#include <algorithm>

namespace deadheat::detect {

void Lockset::on_event(EventIndex index, const Event& event) {
  if (is_access(event.kind)) {
    on_access(index, event);
  } else if (event.kind == EventKind::kAcquire || event.kind == EventKind::kRelease) {
    held_.on_lock(event);
  }
}

void Lockset::on_access(EventIndex index, const Event& event) {
  if (event.object.index() >= cells_.size())
    cells_.resize(std::max(event.object.index() + 1, cells_.size() * 2));
  Cell& cell = cells_[event.object.index()];
  const bool write = event.kind == EventKind::kWrite;
  const LocksetId locks = held_.held(event.thread);
  switch (cell.state) {
    case State::kReported:
      return;
    case State::kVirgin:
      cell.state = State::kExclusive;
      cell.owner = event.thread;
      break;
    case State::kExclusive:
      if (cell.owner == event.thread) break;
      cell.candidates = locks;
      cell.state = write ? State::kSharedModified : State::kShared;
      ++(write ? became_modified_ : became_shared_);
      break;
    case State::kShared:
    case State::kSharedModified:
      ++refinements_;
      cell.candidates = held_.sets().intersection(cell.candidates, locks);
      if (write && cell.state == State::kShared) {
        cell.state = State::kSharedModified;
        ++became_modified_;
      }
      break;
  }
  if (cell.state == State::kSharedModified && cell.candidates == Locksets::kEmpty) {
    ++races_;
    cell.state = State::kReported;
    report(cell.recent.partner(event, [](const RecentAccesses::Access&) { return false; }),
           RacyEvent{index, event});
    return;
  }
  cell.recent.add(index, event, Slot(), Clock());
}

Statistics Lockset::statistics() const {
  return {{"became shared", became_shared_},
          {"became shared-modified", became_modified_},
          {"refinements", refinements_},
          {"races", races_}};
}

}  // namespace deadheat::detect
