#include "testing/naive.h"

#include <algorithm>

namespace deadheat::testing {

void Relation::close() {
  for (std::size_t k = 0; k < size_; ++k) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (!has(i, k)) continue;
      for (std::size_t w = 0; w < words_; ++w) bits_[i * words_ + w] |= bits_[k * words_ + w];
    }
  }
}

bool conflict(const Event& a, const Event& b) {
  return is_access(a.kind) && is_access(b.kind) && a.object == b.object && a.thread != b.thread &&
         (a.kind == EventKind::kWrite || b.kind == EventKind::kWrite);
}

Relation hard_order(const Trace& trace) {
  const std::vector<Event>& e = trace.events;
  Relation order(e.size());
  for (std::size_t i = 0; i < e.size(); ++i) {
    for (std::size_t j = i + 1; j < e.size(); ++j) {
      const bool same_thread = e[i].thread == e[j].thread;
      // A thread whose events are all missing still begins after its fork and ends before its join.
      const bool fork =
          e[i].kind == EventKind::kFork && (e[i].object.value() == e[j].thread.value() ||
                                            (e[j].kind == EventKind::kJoin && e[i].object == e[j].object));
      const bool join = e[j].kind == EventKind::kJoin && e[j].object.value() == e[i].thread.value();
      const bool message =
          e[i].kind == EventKind::kSend && e[j].kind == EventKind::kReceive && e[i].object == e[j].object;
      if (same_thread || fork || join || message) order.add(i, j);
    }
  }
  order.close();
  return order;
}

Relation happens_before(const Trace& trace) {
  const std::vector<Event>& e = trace.events;
  Relation order = hard_order(trace);
  for (std::size_t i = 0; i < e.size(); ++i) {
    for (std::size_t j = i + 1; j < e.size(); ++j) {
      if (e[i].kind == EventKind::kRelease && e[j].kind == EventKind::kAcquire &&
          e[i].object == e[j].object) {
        order.add(i, j);
      }
    }
  }
  order.close();
  return order;
}

EventPairs unordered_conflicts(const Trace& trace, const Relation& order) {
  EventPairs pairs;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    for (std::size_t j = i + 1; j < trace.events.size(); ++j) {
      if (conflict(trace.events[i], trace.events[j]) && !order.has(i, j)) pairs.emplace(i, j);
    }
  }
  return pairs;
}

SitePairs sites_of(const Trace& trace, const EventPairs& pairs) {
  SitePairs sites;
  for (const auto& [i, j] : pairs) {
    const std::uint32_t a = trace.events[i].site.value();
    const std::uint32_t b = trace.events[j].site.value();
    sites.emplace(std::min(a, b), std::max(a, b));
  }
  return sites;
}

std::map<std::uint64_t, std::size_t> first_per_location(const Trace& trace, const EventPairs& pairs) {
  std::map<std::uint64_t, std::size_t> first;
  for (const auto& [i, j] : pairs) {
    const auto [where, added] = first.emplace(trace.events[j].object.value(), j);
    where->second = std::min(where->second, j);
  }
  return first;
}

std::vector<std::size_t> last_writes(const Trace& trace) {
  std::vector<std::size_t> result(trace.events.size(), trace.events.size());
  std::map<std::uint64_t, std::size_t> last;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.kind == EventKind::kWrite) last[event.object.value()] = i;
    if (event.kind == EventKind::kRead && last.contains(event.object.value()))
      result[i] = last[event.object.value()];
  }
  return result;
}

std::vector<std::set<std::uint64_t>> held_locks(const Trace& trace) {
  std::map<std::uint32_t, std::map<std::uint64_t, int>> depth;
  std::vector<std::set<std::uint64_t>> result;
  for (const Event& event : trace.events) {
    std::map<std::uint64_t, int>& mine = depth[event.thread.value()];
    std::set<std::uint64_t> held;
    for (const auto& [lock, count] : mine) {
      if (count > 0) held.insert(lock);
    }
    result.push_back(std::move(held));
    if (event.kind == EventKind::kAcquire) ++mine[event.object.value()];
    if (event.kind == EventKind::kRelease && mine[event.object.value()] > 0) --mine[event.object.value()];
  }
  return result;
}

std::vector<std::size_t> matching(const Trace& trace) {
  const std::size_t none = trace.events.size();
  std::vector<std::size_t> result(none, none);
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::size_t>> open;
  for (std::size_t i = 0; i < none; ++i) {
    const Event& event = trace.events[i];
    std::vector<std::size_t>& stack = open[{event.thread.value(), event.object.value()}];
    if (event.kind == EventKind::kAcquire) stack.push_back(i);
    if (event.kind == EventKind::kRelease && !stack.empty()) {
      if (stack.size() == 1) {
        result[stack.back()] = i;
        result[i] = stack.back();
      }
      stack.pop_back();
    }
  }
  return result;
}

EventPairs lockset_and_message_races(const Trace& trace) {
  EventPairs result;
  const std::vector<std::set<std::uint64_t>> held = held_locks(trace);
  for (const auto& [i, j] : unordered_conflicts(trace, hard_order(trace))) {
    const bool common = std::any_of(held[i].begin(), held[i].end(),
                                    [&](std::uint64_t lock) { return held[j].contains(lock); });
    if (!common) result.emplace(i, j);
  }
  return result;
}

}  // namespace deadheat::testing
