#include "testing/explorer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/check.h"

namespace deadheat::testing {
namespace {

constexpr int kNobody = -1;  // the initial content of a location

// An event of the trace, or an act of missing code.
struct Step {
  int thread = 0;
  bool is_act = false;
  Event event;                           // unless it is an act
  std::uint64_t index = 0;               // in the trace, unless it is an act
  std::set<int> locations;               // that an act reads and writes
  std::set<std::string> names;           // of every object it operates on
  std::vector<int> before;               // steps that must have been executed
  std::vector<int> ends;                 // threads whose end it has seen
  std::vector<std::pair<int, int>> saw;  // location -> step that wrote what was there
  std::optional<std::uint64_t> value;    // of an access: what is known of it
};

struct State {
  std::vector<std::uint8_t> done;     // steps executed, per thread
  std::vector<std::int16_t> content;  // step that wrote it, per location
  std::vector<char> faithful;         // is that content known, per location
  std::vector<char> astray;           // has read something else than it read in the trace, per thread

  std::string key() const {
    std::string key(done.begin(), done.end());
    for (std::int16_t step : content)
      key += std::string{static_cast<char>(step & 255), static_cast<char>(step >> 8)};
    key.append(faithful.begin(), faithful.end());
    key.append(astray.begin(), astray.end());
    return key;
  }
};

class Explorer {
 public:
  Explorer(const Trace& trace, const ExplorerOptions& options) : trace_(trace), options_(options) {
    for (const Event& event : trace.events) has_branch_ |= event.kind == EventKind::kBranch;
    make_steps();
    require_order();
    remember_what_was_seen();
    spread_values();
  }

  Exploration run() {
    State start;
    start.done.assign(threads_.size(), 0);
    start.content.assign(trace_.names.locations.size(), kNobody);
    start.faithful.assign(trace_.names.locations.size(), 1);
    start.astray.assign(threads_.size(), 0);
    visit(start);
    result_.states = visited_.size();
    return result_;
  }

 private:
  void make_steps() {
    threads_.resize(trace_.names.threads.size());
    struct Open {
      int thread;
      std::set<int> locations;
    };
    std::vector<Open> open;
    auto over = [&](int thread) {
      std::erase_if(open, [&](const Open& call) { return call.thread == thread; });
    };
    std::set<int> reachable;  // by any call
    for (const Event& event : trace_.events) {
      if (event.kind == EventKind::kEnter) reachable.merge(members(event));
    }
    std::vector<std::uint64_t> first(threads_.size(), UINT64_MAX);
    last_.assign(threads_.size(), 0);
    for (std::uint64_t i = 0; i < trace_.events.size(); ++i) {
      std::size_t thread = trace_.events[i].thread.index();
      first[thread] = std::min(first[thread], i);
      last_[thread] = i;
    }
    for (std::uint64_t i = 0; i < trace_.events.size(); ++i) {
      const Event& event = trace_.events[i];
      int thread = static_cast<int>(event.thread.index());
      Step step{.thread = thread, .event = event, .index = i};
      bool is_call = event.kind == EventKind::kEnter || event.kind == EventKind::kLeave;
      if (std::string name(trace_.names.object(event)); !name.empty() && !is_call) step.names.insert(name);
      const std::string me(trace_.names.thread(event.thread));
      if (i == first[thread] || i == last_[thread]) step.names.insert(me);
      add(std::move(step));
      if (event.kind == EventKind::kEnter) open.push_back({thread, members(event)});
      if (event.kind == EventKind::kLeave) {
        for (std::size_t k = open.size(); k-- > 0;) {
          if (open[k].thread == thread) {
            open.erase(open.begin() + static_cast<std::ptrdiff_t>(k));
            break;
          }
        }
      }
      if (event.kind == EventKind::kEnd) over(thread);
      if (event.kind == EventKind::kJoin) over(static_cast<int>(event.object.index()));
      if (i == last_[thread]) {
        bool is_away =
            std::any_of(open.begin(), open.end(), [&](const Open& call) { return call.thread == thread; });
        auto own = trace_.names.locations.find(me);
        if (is_away && own && reachable.contains(static_cast<int>(*own)))
          open.push_back({thread, {static_cast<int>(*own)}});
      }
      if (!options_.barriers) continue;
      for (std::size_t round = 0; round < open.size(); ++round) {
        for (const Open& pair : open) {
          Step act{.thread = pair.thread, .is_act = true, .locations = pair.locations};
          for (int location : pair.locations) {
            act.names.insert(std::string(trace_.names.locations.name(static_cast<std::uint32_t>(location))));
          }
          add(std::move(act));
        }
      }
    }
  }

  std::set<int> members(const Event& enter) const {
    std::set<int> result;
    for (ObjectId location : trace_.names.reachable.at(static_cast<std::uint32_t>(enter.value))) {
      result.insert(static_cast<int>(location.index()));
    }
    return result;
  }

  void add(Step step) {
    DEADHEAT_CHECK(threads_[static_cast<std::size_t>(step.thread)].size() < 255);
    threads_[static_cast<std::size_t>(step.thread)].push_back(static_cast<int>(steps_.size()));
    position_.push_back(static_cast<int>(threads_[static_cast<std::size_t>(step.thread)].size()) - 1);
    steps_.push_back(std::move(step));
  }

  static bool meet(const std::set<std::string>& a, const std::set<std::string>& b) {
    for (const std::string& name : a) {
      if (b.contains(name)) return true;
    }
    return false;
  }

  void require_order() {
    for (int j = 0; j < static_cast<int>(steps_.size()); ++j) {
      Step& later = steps_[static_cast<std::size_t>(j)];
      for (int i = 0; i < static_cast<int>(steps_.size()); ++i) {
        const Step& other = steps_[static_cast<std::size_t>(i)];
        if (other.thread == later.thread) continue;
        bool acts = i < j && (other.is_act || later.is_act) && meet(other.names, later.names);
        // Its fork comes before whatever a thread does, and before its being joined even if it does nothing.
        bool forks = !other.is_act && other.event.kind == EventKind::kFork &&
                     (static_cast<int>(other.event.object.index()) == later.thread ||
                      (!later.is_act && later.event.kind == EventKind::kJoin &&
                       later.event.object == other.event.object));
        bool joins = !later.is_act && later.event.kind == EventKind::kJoin &&
                     static_cast<int>(later.event.object.index()) == other.thread;
        bool message = i < j && !other.is_act && !later.is_act && other.event.kind == EventKind::kSend &&
                       later.event.kind == EventKind::kReceive && other.event.object == later.event.object;
        if (acts || forks || joins || message) later.before.push_back(i);
        bool last = !other.is_act && other.index == last_[static_cast<std::size_t>(other.thread)];
        std::string name(trace_.names.threads.name(static_cast<std::uint32_t>(other.thread)));
        if (last && (joins || (i < j && later.is_act && later.names.contains(name))))
          later.ends.push_back(other.thread);
      }
    }
  }

  void remember_what_was_seen() {
    std::vector<int> content(trace_.names.locations.size(), kNobody);
    for (int i = 0; i < static_cast<int>(steps_.size()); ++i) {
      Step& step = steps_[static_cast<std::size_t>(i)];
      for (int location : step.locations) {
        step.saw.push_back({location, content[static_cast<std::size_t>(location)]});
        content[static_cast<std::size_t>(location)] = i;
      }
      if (step.is_act || !is_access(step.event.kind)) continue;
      int& there = content[step.event.object.index()];
      if (step.event.kind == EventKind::kRead) {
        step.saw.push_back({static_cast<int>(step.event.object.index()), there});
      } else {
        there = i;
      }
    }
  }

  // A write and the reads that saw it have one value: if one of them says it, it is known of all, until
  // nothing changes.
  void spread_values() {
    for (Step& step : steps_) {
      if (!step.is_act && is_access(step.event.kind) && step.event.has_value) step.value = step.event.value;
    }
    for (bool again = true; again;) {
      again = false;
      for (Step& read : steps_) {
        if (read.is_act || read.event.kind != EventKind::kRead) continue;
        const int saw = read.saw.front().second;
        if (saw != kNobody && steps_[static_cast<std::size_t>(saw)].is_act) continue;
        if (!read.value && known(saw)) {
          read.value = value(saw);
          again = true;
        } else if (read.value && !known(saw)) {
          steps_[static_cast<std::size_t>(saw)].value = read.value;
          again = true;
        }
      }
    }
  }

  // What is known of the value that `writer` left.
  bool known(int writer) const {
    return writer == kNobody || steps_[static_cast<std::size_t>(writer)].value.has_value();
  }
  std::uint64_t value(int writer) const {
    return writer == kNobody ? 0 : *steps_[static_cast<std::size_t>(writer)].value;
  }

  bool sees_the_same(const State& state, const Step& step) const {
    for (auto [location, saw] : step.saw) {
      int now = state.content[static_cast<std::size_t>(location)];
      if (!state.faithful[static_cast<std::size_t>(location)]) return false;
      if (now == saw) continue;
      if (!known(now)) return false;
      if (step.is_act) {
        if (!known(saw) || value(saw) != value(now)) return false;
      } else if (!step.value || *step.value != value(now)) {
        return false;
      }
    }
    return true;
  }

  bool executed(const State& state, int step) const {
    return state.done[static_cast<std::size_t>(steps_[static_cast<std::size_t>(step)].thread)] >
           position_[static_cast<std::size_t>(step)];
  }

  // How often `thread` holds a lock after an act that can reach it: as often as it releases the lock
  // afterwards without having taken it, before the next such act.
  int held_after_act(std::size_t thread, int act, ObjectId object, const std::string& lock) const {
    int taken = 0, owed = 0;
    for (std::size_t i = static_cast<std::size_t>(act) + 1; i < threads_[thread].size(); ++i) {
      const Step& step = steps_[static_cast<std::size_t>(threads_[thread][i])];
      if (step.is_act && step.names.contains(lock)) break;
      if (step.is_act || step.event.object != object) continue;
      if (step.event.kind == EventKind::kAcquire) ++taken;
      if (step.event.kind == EventKind::kRelease) (taken > 0 ? --taken : ++owed);
    }
    return owed;
  }

  bool lock_is_free(const State& state, const Step& step) const {
    const std::string lock(trace_.names.object(step.event));
    for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
      if (static_cast<int>(thread) == step.thread) continue;
      int held = 0;
      for (int i = 0; i < state.done[thread]; ++i) {
        const Step& other = steps_[static_cast<std::size_t>(threads_[thread][static_cast<std::size_t>(i)])];
        if (other.is_act) {
          if (other.names.contains(lock)) held = held_after_act(thread, i, step.event.object, lock);
          continue;
        }
        if (other.event.object != step.event.object) continue;
        if (other.event.kind == EventKind::kAcquire) ++held;
        if (other.event.kind == EventKind::kRelease && held > 0) --held;
      }
      if (held > 0) return false;
    }
    return true;
  }

  // The next step of `thread` that is ready but for what it may see; kNobody if there is none.
  int ready(const State& state, std::size_t thread) const {
    if (state.done[thread] == threads_[thread].size()) return kNobody;
    if (state.astray[thread] && !has_branch_) return kNobody;
    int next = threads_[thread][state.done[thread]];
    for (int i : steps_[static_cast<std::size_t>(next)].before) {
      if (!executed(state, i)) return kNobody;
    }
    return next;
  }

  // Executes `next` in `state`; false if it cannot be.
  bool execute(State& state, int next) const {
    const Step& step = steps_[static_cast<std::size_t>(next)];
    auto thread = static_cast<std::size_t>(step.thread);
    if (!has_branch_) {
      for (int other : step.ends) {
        if (state.astray[static_cast<std::size_t>(other)]) return false;
      }
    }
    if (step.is_act) {
      if (state.astray[thread] || !sees_the_same(state, step)) return false;
      for (int location : step.locations) write(state, location, next);
    } else {
      switch (step.event.kind) {
        case EventKind::kRead:
          if (!sees_the_same(state, step)) state.astray[thread] = 1;
          break;
        case EventKind::kWrite:
          write(state, static_cast<int>(step.event.object.index()), next);
          break;
        case EventKind::kAcquire:
          if (!lock_is_free(state, step)) return false;
          break;
        case EventKind::kBranch:
          if (state.astray[thread]) return false;
          break;
        default:
          break;
      }
    }
    ++state.done[thread];
    return true;
  }

  void write(State& state, int location, int step) const {
    auto thread = static_cast<std::size_t>(steps_[static_cast<std::size_t>(step)].thread);
    state.content[static_cast<std::size_t>(location)] = static_cast<std::int16_t>(step);
    state.faithful[static_cast<std::size_t>(location)] = !state.astray[thread];
  }

  // An act that can be executed is, at once: everything it does not commute with has been executed before it,
  // or must come after it.
  void execute_acts(State& state) const {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
        int next = ready(state, thread);
        if (next == kNobody || !steps_[static_cast<std::size_t>(next)].is_act) continue;
        again |= execute(state, next);
      }
    }
  }

  void note_races(const State& state) {
    for (std::size_t one = 0; one < threads_.size(); ++one) {
      for (std::size_t two = one + 1; two < threads_.size(); ++two) {
        int a = ready(state, one);
        int b = ready(state, two);
        if (a == kNobody || b == kNobody) continue;
        const Step& first = steps_[static_cast<std::size_t>(a)];
        const Step& second = steps_[static_cast<std::size_t>(b)];
        if (first.is_act || second.is_act || !is_access(first.event.kind) || !is_access(second.event.kind))
          continue;
        if (first.event.object != second.event.object) continue;
        if (first.event.kind == EventKind::kRead && second.event.kind == EventKind::kRead) continue;
        result_.races.insert({std::min(first.index, second.index), std::max(first.index, second.index)});
      }
    }
  }

  void visit(State state) {
    execute_acts(state);
    if (visited_.size() >= options_.max_states) {
      result_.complete = false;
      return;
    }
    if (!visited_.insert(state.key()).second) return;
    note_races(state);
    for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
      int next = ready(state, thread);
      if (next == kNobody || steps_[static_cast<std::size_t>(next)].is_act) continue;
      State after = state;
      if (execute(after, next)) visit(std::move(after));
    }
  }

  const Trace& trace_;
  const ExplorerOptions options_;
  bool has_branch_ = false;
  std::vector<Step> steps_;
  std::vector<int> position_;              // of a step in its thread
  std::vector<std::vector<int>> threads_;  // steps in program order
  std::vector<std::uint64_t> last_;        // event of each thread
  std::unordered_set<std::string> visited_;
  Exploration result_;
};

}  // namespace

Exploration explore(const Trace& trace, const ExplorerOptions& options) {
  DEADHEAT_CHECK(trace.events.size() < 200);
  return Explorer(trace, options).run();
}

}  // namespace deadheat::testing
