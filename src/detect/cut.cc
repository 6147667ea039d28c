#include "detect/cut.h"

#include <algorithm>

namespace deadheat::detect {
namespace {

bool raise_clock(std::span<const std::uint32_t> clock, Cut& cut) {
  for (std::size_t t = 0; t < clock.size(); ++t) {
    cut.least[t] = std::max(cut.least[t], clock[t]);
    if (cut.least[t] > cut.most[t]) return false;
  }
  return true;
}

}  // namespace

bool raise_to(const CausalModel& model, Node node, Cut& cut, Reads reads) {
  if (!raise_clock(model.clock(node, reads), cut)) return false;
  for (CausalModel::Place place : model.places(node)) {
    cut.least[place.thread] = std::max(cut.least[place.thread], place.position + 1);
    if (cut.least[place.thread] > cut.most[place.thread]) return false;
  }
  return true;
}

bool close_locks(const CausalModel& model, Cut& cut, Reads reads) {
  auto can_leave = [&](const CriticalSection& section) {
    return section.release != kNoNode &&
           model.position(section.release) < cut.most[model.thread(section.release)];
  };
  for (bool again = true; again;) {
    again = false;
    for (std::uint32_t t = 0; t < model.threads() && !again; ++t) {
      for (std::uint32_t mine : model.open_sections(t, cut.least[t])) {
        const CriticalSection& section = model.sections()[mine];
        for (std::uint32_t u = 0; u < model.threads() && !again; ++u) {
          if (u == t) continue;
          for (std::uint32_t theirs : model.open_sections(u, cut.least[u])) {
            const CriticalSection& other = model.sections()[theirs];
            if (other.lock != section.lock) continue;
            bool one = can_leave(section), two = can_leave(other);
            if (!one && !two) return false;
            if (one && two) continue;  // either may go first: not decided here
            if (!raise_to(model, (one ? section : other).release, cut, reads)) return false;
            again = true;
            break;
          }
        }
        if (again) break;
      }
    }
  }
  return true;
}

bool find_cut(const CausalModel& model, Node a, Node b, Cut& cut, Reads reads) {
  std::uint32_t thread_a = model.thread(a), thread_b = model.thread(b);
  std::uint32_t position_a = model.position(a), position_b = model.position(b);
  if (model.must_precede(a, b, reads) || model.must_precede(b, a, reads)) return false;
  cut.least.assign(model.threads(), 0);
  cut.most.assign(model.threads(), 0);
  for (std::uint32_t t = 0; t < model.threads(); ++t) {
    const std::vector<Node>& chain = model.chain(t);
    auto end = std::partition_point(chain.begin(), chain.end(), [&](Node node) {
      std::span<const std::uint32_t> clock = model.clock(node, reads);
      return clock[thread_a] <= position_a && clock[thread_b] <= position_b;
    });
    cut.most[t] = static_cast<std::uint32_t>(end - chain.begin());
  }
  cut.most[thread_a] = position_a;
  cut.most[thread_b] = position_b;
  return raise_clock(model.clock(a, reads), cut) && raise_clock(model.clock(b, reads), cut) &&
         close_locks(model, cut, reads);
}

}  // namespace deadheat::detect
