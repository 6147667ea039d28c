#include "detect/cp.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "detect/budget.h"

namespace deadheat::detect {
namespace {

constexpr std::uint32_t kNothing = UINT32_MAX;

// A set of later events for each event.
class Relation {
 public:
  explicit Relation(std::size_t events) : words_((events + 63) / 64), bits_(events * words_, 0) {}
  bool contains(std::uint32_t from, std::uint32_t to) const { return row(from)[to / 64] >> (to % 64) & 1; }
  void add(std::uint32_t from, std::uint32_t to) { row(from)[to / 64] |= std::uint64_t{1} << (to % 64); }
  void add_all(std::uint32_t from, std::span<const std::uint64_t> others) {
    std::span<std::uint64_t> mine = row(from);
    for (std::size_t i = 0; i < words_; ++i) mine[i] |= others[i];
  }
  std::span<std::uint64_t> row(std::uint32_t event) {
    return std::span(bits_).subspan(event * words_, words_);
  }
  std::span<const std::uint64_t> row(std::uint32_t event) const {
    return std::span(bits_).subspan(event * words_, words_);
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

struct Section {
  std::uint32_t thread = 0;
  std::uint32_t acquire = 0;
  std::uint32_t release = kNothing;  // none: open to the end of the trace
  std::uint32_t last = 0;            // last event inside, its release if it has one
};

struct Edges {
  std::vector<std::vector<std::uint32_t>> hard;  // next in the thread, fork, join, message
  std::vector<std::vector<std::uint32_t>> lock;  // release to the next acquire
};

class Closure {
 public:
  Closure(std::span<const Event> events, const Names& names, const Budget& budget)
      : events_(events),
        watch_(budget),
        words_(events.size() / 64 + 1),
        edges_{std::vector<std::vector<std::uint32_t>>(events.size()),
               std::vector<std::vector<std::uint32_t>>(events.size())},
        cp_from_(events.size()),
        happens_before_(events.size()),
        hard_(events.size()),
        cp_(events.size()) {
    collect(names);
    for (std::uint32_t e = static_cast<std::uint32_t>(events.size()); e-- > 0;) {
      if (watch_.over((1 + 2 * edges_.hard[e].size() + edges_.lock[e].size()) * words_)) return;
      happens_before_.add(e, e);
      hard_.add(e, e);
      for (std::uint32_t next : edges_.hard[e]) {
        hard_.add_all(e, std::as_const(hard_).row(next));
        happens_before_.add_all(e, std::as_const(happens_before_).row(next));
      }
      for (std::uint32_t next : edges_.lock[e])
        happens_before_.add_all(e, std::as_const(happens_before_).row(next));
    }
    order_conflicting_sections();
    do {
      compose();
      ++rounds_;
    } while (order_sections_with_ordered_events());
    is_complete_ = !watch_.over();
  }

  // The budget was not over first. What is not there is not known to be unordered otherwise.
  bool is_complete() const { return is_complete_; }

  bool ordered(std::uint32_t first, std::uint32_t second) const {
    return hard_.contains(first, second) || cp_.contains(first, second);
  }
  std::uint64_t rounds() const { return rounds_; }
  std::uint64_t ordered_sections() const { return ordered_sections_; }

 private:
  void collect(const Names& names) {
    std::size_t threads = names.threads.size();
    std::vector<std::uint32_t> last(threads, kNothing), fork(threads, kNothing);
    std::vector<std::uint32_t> last_release(names.locks.size(), kNothing);
    // The last send of each thread: what it sent before is before that. A thread that receives again has
    // received the older ones.
    struct Message {
      std::map<std::uint32_t, std::uint32_t> last;
      std::map<std::uint32_t, std::uint32_t> received;  // by thread: when it received last
    };
    std::vector<Message> messages(names.messages.size());
    std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> held(threads);  // lock, depth
    std::vector<std::vector<std::uint32_t>> open(threads);                            // sections, beside held
    sections_.resize(names.locks.size());
    for (std::uint32_t e = 0; e < events_.size(); ++e) {
      const Event& event = events_[e];
      std::size_t t = event.thread.index();
      auto object = static_cast<std::uint32_t>(event.object.value());
      if (last[t] != kNothing) {
        edges_.hard[last[t]].push_back(e);
      } else if (fork[t] != kNothing) {
        edges_.hard[fork[t]].push_back(e);
      }
      last[t] = e;
      auto mine = std::find_if(held[t].begin(), held[t].end(),
                               [&](const auto& lock) { return lock.first == object; });
      switch (event.kind) {
        case EventKind::kFork:
          if (fork[object] == kNothing) fork[object] = e;
          break;
        case EventKind::kJoin:
          // A thread that does nothing is joined after its fork all the same.
          if (last[object] != kNothing) {
            edges_.hard[last[object]].push_back(e);
          } else if (fork[object] != kNothing) {
            edges_.hard[fork[object]].push_back(e);
          }
          break;
        case EventKind::kSend:
          messages[object].last[static_cast<std::uint32_t>(t)] = e;
          break;
        case EventKind::kReceive: {
          auto [received, first] = messages[object].received.try_emplace(static_cast<std::uint32_t>(t), 0);
          for (const auto& [sender, send] : messages[object].last) {
            if (first || send > received->second) edges_.hard[send].push_back(e);
          }
          received->second = e;
          break;
        }
        case EventKind::kAcquire:
          if (mine != held[t].end()) {
            ++mine->second;
            break;
          }
          held[t].emplace_back(object, 1);
          if (last_release[object] != kNothing) edges_.lock[last_release[object]].push_back(e);
          open[t].push_back(static_cast<std::uint32_t>(sections_[object].size()));
          sections_[object].push_back({.thread = static_cast<std::uint32_t>(t), .acquire = e, .last = e});
          break;
        case EventKind::kRelease: {
          if (mine == held[t].end() || --mine->second > 0) break;
          auto at = mine - held[t].begin();
          Section& section = sections_[object][open[t][static_cast<std::size_t>(at)]];
          section.release = section.last = e;
          held[t].erase(mine);
          open[t].erase(open[t].begin() + at);
          last_release[object] = e;
          break;
        }
        default:
          break;
      }
    }
    for (auto& sections : sections_) {
      for (Section& section : sections) {
        if (section.release == kNothing) section.last = last[section.thread];
      }
    }
  }

  // Rule a.
  void order_conflicting_sections() {
    struct Accesses {
      std::set<std::uint64_t> read, written;
    };
    for (const auto& sections : sections_) {
      std::vector<Accesses> inside(sections.size());
      for (std::size_t i = 0; i < sections.size(); ++i) {
        if (watch_.over(sections[i].last - sections[i].acquire)) return;
        for (std::uint32_t e = sections[i].acquire; e <= sections[i].last; ++e) {
          const Event& event = events_[e];
          if (event.thread.index() != sections[i].thread) continue;
          if (event.kind == EventKind::kRead) inside[i].read.insert(event.object.value());
          if (event.kind == EventKind::kWrite) inside[i].written.insert(event.object.value());
        }
      }
      auto meet = [](const std::set<std::uint64_t>& a, const std::set<std::uint64_t>& b) {
        return std::any_of(a.begin(), a.end(), [&](std::uint64_t location) { return b.contains(location); });
      };
      for (std::size_t i = 0; i < sections.size(); ++i) {
        for (std::size_t k = i + 1; k < sections.size(); ++k) {
          if (sections[i].thread == sections[k].thread || sections[i].release == kNothing) continue;
          if (watch_.over(8 * (1 + inside[i].written.size() + inside[i].read.size()))) return;
          if (meet(inside[i].written, inside[k].written) || meet(inside[i].written, inside[k].read) ||
              meet(inside[i].read, inside[k].written)) {
            order(sections[i], sections[k]);
          }
        }
      }
    }
  }

  // Rule b. Everything inside a section comes after its acquire and before its last event, so these two tell.
  bool order_sections_with_ordered_events() {
    bool changed = false;
    for (const auto& sections : sections_) {
      for (std::size_t i = 0; i < sections.size(); ++i) {
        if (watch_.over(sections.size() - i)) return false;
        for (std::size_t k = i + 1; k < sections.size(); ++k) {
          if (sections[i].thread == sections[k].thread || sections[i].release == kNothing) continue;
          if (!cp_.contains(sections[i].acquire, sections[k].last)) continue;
          if (cp_.contains(sections[i].release, sections[k].acquire)) continue;
          order(sections[i], sections[k]);
          changed = true;
        }
      }
    }
    return changed;
  }

  void order(const Section& first, const Section& second) {
    cp_from_[first.release].push_back(second.acquire);
    ++ordered_sections_;
  }

  // Rule c, from the end of the trace to its start.
  void compose() {
    for (std::uint32_t e = static_cast<std::uint32_t>(events_.size()); e-- > 0;) {
      if (watch_.over((1 + cp_from_[e].size() + edges_.hard[e].size() + edges_.lock[e].size()) * words_))
        return;
      for (std::uint32_t acquire : cp_from_[e]) cp_.add_all(e, std::as_const(happens_before_).row(acquire));
      for (std::uint32_t next : edges_.hard[e]) cp_.add_all(e, std::as_const(cp_).row(next));
      for (std::uint32_t next : edges_.lock[e]) cp_.add_all(e, std::as_const(cp_).row(next));
    }
  }

  std::span<const Event> events_;
  BudgetWatch watch_;
  std::size_t words_;  // of a row
  bool is_complete_ = false;
  Edges edges_;
  std::vector<std::vector<std::uint32_t>> cp_from_;  // a release: acquires ordered after it by rules a and b
  Relation happens_before_, hard_, cp_;
  std::vector<std::vector<Section>> sections_;  // per lock, in the order of the trace
  std::uint64_t rounds_ = 0, ordered_sections_ = 0;
};

}  // namespace

void CausallyPrecedes::on_event(EventIndex index, const Event& event) {
  if (failure()) return;
  if (events_.size() == kMaxEvents) {
    return fail("cp: event " + std::to_string(index.value()) + ": expected at most " +
                std::to_string(kMaxEvents) +
                " events, because its closure is quadratic, found more; mcm and wcp take longer traces");
  }
  events_.push_back(event);
  indices_.push_back(index);
}

void CausallyPrecedes::finish() {
  if (failure()) return;
  const Budget budget(options().solver_seconds, options().cancelled);
  Closure closure(events_, names(), budget);
  if (!closure.is_complete()) {
    incomplete_ = "decided nothing: its closure was not complete when the time was over";
    return;
  }
  BudgetWatch watch(budget);
  std::set<std::pair<SiteId, SiteId>> shown;
  std::vector<std::vector<std::uint32_t>> accesses(names().locations.size());
  std::uint64_t pairs = 0;
  for (std::uint32_t e = 0; e < events_.size(); ++e) {
    const Event& event = events_[e];
    if (!is_access(event.kind)) continue;
    if (watch.over(accesses[event.object.index()].size())) {
      incomplete_ =
          "has looked at " + std::to_string(e) + " of " + std::to_string(events_.size()) + " events";
      break;
    }
    for (std::uint32_t earlier : accesses[event.object.index()]) {
      const Event& other = events_[earlier];
      if (other.thread == event.thread) continue;
      if (other.kind == EventKind::kRead && event.kind == EventKind::kRead) continue;
      if (closure.ordered(earlier, e)) continue;
      ++pairs;
      auto sites = std::minmax(other.site, event.site);
      if (!shown.insert({sites.first, sites.second}).second) continue;
      report({indices_[earlier], other}, {indices_[e], event});
    }
    accesses[event.object.index()].push_back(e);
  }
  statistics_ = {{"racing_pairs", pairs},
                 {"ordered_sections", closure.ordered_sections()},
                 {"rounds", closure.rounds()}};
}

}  // namespace deadheat::detect
