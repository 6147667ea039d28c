#include "testing/naive_predict.h"

#include <algorithm>
#include <iterator>

namespace deadheat::testing {

EventPairs shb_races(const Trace& trace) {
  const std::size_t n = trace.events.size();
  const std::vector<std::size_t> writers = last_writes(trace);
  const Relation hard = hard_order(trace);
  Relation order = happens_before(trace);
  for (std::size_t i = 0; i < n; ++i) {
    if (writers[i] != n) order.add(writers[i], i);
  }
  order.close();
  EventPairs races;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      if (!conflict(trace.events[i], trace.events[j])) continue;
      bool ordered = false;
      for (std::size_t k = 0; k < n; ++k) ordered |= hard.has(k, j) && (k == i || order.has(i, k));
      if (!ordered) races.emplace(i, j);
    }
  }
  return races;
}

Relation wcp_order(const Trace& trace) {
  const std::vector<Event>& e = trace.events;
  const std::size_t n = e.size();
  const Relation hb = happens_before(trace);
  const Relation hard = hard_order(trace);
  const std::vector<std::size_t> match = matching(trace);

  // The events of each critical section, from acquire to release (or to the end of the thread).
  struct Section {
    std::size_t release;  // n if it has none
    std::uint64_t lock;
    std::vector<std::size_t> events;
  };
  std::vector<Section> sections;
  for (std::size_t a = 0; a < n; ++a) {
    if (e[a].kind != EventKind::kAcquire) continue;
    Section section{match[a], e[a].object.value(), {}};
    for (std::size_t i = a; i < n && i <= section.release; ++i) {
      if (e[i].thread == e[a].thread) section.events.push_back(i);
    }
    sections.push_back(std::move(section));
  }

  Relation wcp(n);
  for (const Section& one : sections) {
    for (const Section& two : sections) {
      if (one.lock != two.lock || one.release == n || two.events.front() < one.release) continue;
      for (const std::size_t i : one.events) {
        for (const std::size_t j : two.events) {
          if (conflict(e[i], e[j])) wcp.add(one.release, j);
        }
      }
    }
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (const Section& one : sections) {
      for (const Section& two : sections) {
        if (one.lock != two.lock || one.release == n || two.release == n || two.events.front() < one.release)
          continue;
        if (wcp.has(one.release, two.release)) continue;
        bool related = false;
        for (const std::size_t i : one.events) {
          for (const std::size_t j : two.events) {
            related |= wcp.has(i, j) || (e[i].thread != e[j].thread && hard.has(i, j));
          }
        }
        if (related) changed |= wcp.add(one.release, two.release);
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (!wcp.has(i, j)) continue;
        for (std::size_t k = 0; k < n; ++k) {
          if (hb.has(j, k)) changed |= wcp.add(i, k);
          if (hb.has(k, i)) changed |= wcp.add(k, j);
        }
      }
    }
  }
  return wcp;
}

EventPairs wcp_races(const Trace& trace) {
  const Relation wcp = wcp_order(trace);
  const Relation hard = hard_order(trace);
  EventPairs races;
  for (const auto& [i, j] : unordered_conflicts(trace, wcp)) {
    if (!hard.has(i, j)) races.emplace(i, j);
  }
  return races;
}

namespace {

class SyncPreservingSearch {
 public:
  explicit SyncPreservingSearch(const Trace& trace)
      : trace_(trace), writers_(last_writes(trace)), hard_(hard_order(trace)) {
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const std::size_t t = trace.events[i].thread.index();
      if (t >= threads_.size()) threads_.resize(t + 1);
      threads_[t].push_back(i);
    }
  }

  EventPairs run() {
    State state;
    state.position.assign(threads_.size(), 0);
    explore(state);
    return races_;
  }

 private:
  struct State {
    std::vector<std::size_t> position;
    std::map<std::uint64_t, std::size_t> memory;                   // location: last write
    std::map<std::uint64_t, std::pair<std::uint32_t, int>> owner;  // lock: thread, times
    std::map<std::uint64_t, std::size_t> last_acquire;             // lock: event
    auto operator<=>(const State&) const = default;
  };

  bool done(const State& state, std::size_t event) const {
    const std::size_t t = trace_.events[event].thread.index();
    for (std::size_t k = 0; k < state.position[t]; ++k) {
      if (threads_[t][k] == event) return true;
    }
    return false;
  }

  // The next event of thread t, if the hard order allows it now; size() otherwise.
  std::size_t enabled(const State& state, std::size_t t) const {
    const std::size_t none = trace_.events.size();
    if (state.position[t] == threads_[t].size()) return none;
    const std::size_t event = threads_[t][state.position[t]];
    for (std::size_t i = 0; i < event; ++i) {
      if (hard_.has(i, event) && !done(state, i)) return none;
    }
    return event;
  }

  void explore(const State& state) {
    if (!seen_.insert(state).second) return;
    const std::size_t none = trace_.events.size();
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      for (std::size_t u = t + 1; u < threads_.size(); ++u) {
        const std::size_t a = enabled(state, t), b = enabled(state, u);
        if (a != none && b != none && conflict(trace_.events[a], trace_.events[b])) {
          races_.emplace(std::min(a, b), std::max(a, b));
        }
      }
    }
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      const std::size_t i = enabled(state, t);
      if (i == none) continue;
      const Event& event = trace_.events[i];
      const std::uint64_t object = event.object.value();
      State next = state;
      ++next.position[t];
      if (event.kind == EventKind::kWrite) next.memory[object] = i;
      if (event.kind == EventKind::kRead) {
        const auto written = state.memory.find(object);
        if ((written == state.memory.end() ? none : written->second) != writers_[i]) continue;
      }
      if (event.kind == EventKind::kAcquire) {
        auto& [holder, times] = next.owner[object];
        if (times > 0 && holder != event.thread.value()) continue;
        const auto last = state.last_acquire.find(object);
        if (times == 0 && last != state.last_acquire.end() && last->second > i) continue;
        if (times == 0) next.last_acquire[object] = i;
        holder = event.thread.value();
        ++times;
      }
      if (event.kind == EventKind::kRelease) {
        auto& [holder, times] = next.owner[object];
        if (times > 0 && holder == event.thread.value()) --times;
      }
      explore(next);
    }
  }

  const Trace& trace_;
  std::vector<std::size_t> writers_;
  Relation hard_;
  std::vector<std::vector<std::size_t>> threads_;
  std::set<State> seen_;
  EventPairs races_;
};

using Locks = std::set<std::uint64_t>;

Locks common(const Locks& a, const Locks& b) {
  Locks result;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(result, result.begin()));
  return result;
}

}  // namespace

EventPairs syncp_races(const Trace& trace) { return SyncPreservingSearch(trace).run(); }

std::map<std::uint64_t, std::size_t> eraser_faults(const Trace& trace) {
  const std::vector<Locks> held = held_locks(trace);
  std::map<std::uint64_t, std::size_t> faults;
  std::map<std::uint64_t, std::vector<std::size_t>> accesses;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (is_access(trace.events[i].kind)) accesses[trace.events[i].object.value()].push_back(i);
  }
  for (const auto& [location, list] : accesses) {
    // The first access by a second thread makes it shared; from there on every access refines and a write
    // modifies.
    bool shared = false, modified = false, first = true;
    Locks candidates;
    for (const std::size_t i : list) {
      shared |= trace.events[i].thread != trace.events[list.front()].thread;
      if (!shared) continue;
      candidates = first ? held[i] : common(candidates, held[i]);
      first = false;
      modified |= trace.events[i].kind == EventKind::kWrite;
      if (modified && candidates.empty()) {
        faults.emplace(location, i);
        break;
      }
    }
  }
  return faults;
}

std::map<std::uint64_t, std::size_t> hybrid_faults(const Trace& trace) {
  const std::vector<Locks> held = held_locks(trace);
  const Relation hard = hard_order(trace);
  std::map<std::uint64_t, std::size_t> faults;
  struct Location {
    std::vector<std::size_t> since_reset;
    bool parallel = false;
    bool written = false;
    Locks candidates;
    bool at_fault = false;
  };
  std::map<std::uint64_t, Location> locations;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (!is_access(event.kind)) continue;
    Location& location = locations[event.object.value()];
    if (location.at_fault) continue;
    const bool write = event.kind == EventKind::kWrite;
    const bool ordered = std::all_of(location.since_reset.begin(), location.since_reset.end(),
                                     [&](std::size_t earlier) { return hard.has(earlier, i); });
    if (ordered) {
      const bool same_thread = !location.parallel && !location.since_reset.empty() &&
                               trace.events[location.since_reset.back()].thread == event.thread;
      location.written = write || (same_thread && location.written);
      location.since_reset = {i};
      location.parallel = false;
      location.candidates = held[i];
      continue;
    }
    location.since_reset.push_back(i);
    location.parallel = true;
    location.written |= write;
    location.candidates = common(location.candidates, held[i]);
    if (location.written && location.candidates.empty()) {
      location.at_fault = true;
      faults.emplace(event.object.value(), i);
    }
  }
  return faults;
}

}  // namespace deadheat::testing
