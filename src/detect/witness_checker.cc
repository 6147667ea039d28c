#include "detect/witness_checker.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

namespace deadheat::detect {
namespace {

std::string number(std::uint64_t event) { return "event " + std::to_string(event); }

}  // namespace

const Budget WitnessChecker::kUnlimited;

WitnessChecker::WitnessChecker(std::span<const Event> events, const Names& names, bool barriers,
                               const Budget& budget)
    : events_(events), names_(names), barriers_(barriers), watch_(budget) {
  threads_.resize(names.threads.size());
  fork_.assign(names.threads.size(), kNever);
  sends_.resize(names.messages.size());
  saw_.assign(events.size(), kNever);
  if (barriers) {
    prepare_calls(names);
    note_locks();
  }
  std::vector<std::uint64_t> last_write(names.locations.size(), kNever);
  // Per location: calls that are open, and the moment when the last one ended. Calls are in the order of
  // being entered; here also of being left.
  std::vector<std::uint32_t> open(names.locations.size(), 0);
  std::vector<std::uint64_t> ended(names.locations.size(), 0);
  std::vector<std::uint32_t> by_leave = calls_by_leave();
  std::size_t entered = 0, left = 0;
  for (std::uint64_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (watch_.over()) return;
    threads_[event.thread.index()].push_back(i);
    switch (event.kind) {
      case EventKind::kBranch:
        has_branch_ = true;
        break;
      case EventKind::kFork:
        if (fork_[event.object.index()] == kNever) fork_[event.object.index()] = i;
        break;
      case EventKind::kSend:
        sends_[event.object.index()].push_back(i);
        break;
      case EventKind::kWrite:
        last_write[event.object.index()] = i;
        break;
      case EventKind::kRead: {
        std::size_t location = event.object.index();
        std::uint64_t write = last_write[location];
        bool acted =
            open[location] > 0 || (ended[location] > 0 && (write == kNever || ended[location] > write));
        saw_[i] = acted ? kAct : write;
        break;
      }
      default:
        break;
    }
    for (; entered < calls_.size() && calls_[entered].enter == i; ++entered) {
      for (std::uint32_t member : sets_[calls_[entered].set]) ++open[member];
      if (watch_.over(sets_[calls_[entered].set].size())) return;
    }
    for (; left < by_leave.size() && calls_[by_leave[left]].leave == i; ++left) {
      for (std::uint32_t member : sets_[calls_[by_leave[left]].set]) {
        --open[member];
        ended[member] = i;
      }
    }
  }
  note_values();
}

void WitnessChecker::note_values() {
  value_.resize(events_.size());
  for (std::uint64_t i = 0; i < events_.size(); ++i) {
    if (is_access(events_[i].kind) && events_[i].has_value) value_[i] = events_[i].value;
  }
  for (std::uint64_t i = 0; i < events_.size(); ++i) {
    if (watch_.over()) return;
    if (events_[i].kind != EventKind::kRead || !value_[i] || saw_[i] == kNever || saw_[i] == kAct) continue;
    if (!value_[saw_[i]]) value_[saw_[i]] = value_[i];
  }
  for (std::uint64_t i = 0; i < events_.size(); ++i) {
    if (watch_.over()) return;
    if (events_[i].kind != EventKind::kRead || value_[i] || saw_[i] == kAct) continue;
    value_[i] = saw_[i] == kNever ? 0 : value_[saw_[i]];
  }
}

void WitnessChecker::prepare_calls(const Names& names) {
  calls_of_thread_.resize(names.threads.size());
  sets_on_.resize(names.locations.size());
  touches_.resize(names.locations.size());
  objects_of_.resize(events_.size());
  thread_named_.assign(names.locations.size(), kNobody);
  for (std::uint32_t thread = 0; thread < names.threads.size(); ++thread) {
    if (auto location = names.locations.find(names.threads.name(thread))) thread_named_[*location] = thread;
  }
  lock_named_.assign(names.locations.size(), kNobody);
  for (std::uint32_t lock = 0; lock < names.locks.size(); ++lock) {
    if (auto location = names.locations.find(names.locks.name(lock))) lock_named_[*location] = lock;
  }
  std::vector<std::uint64_t> last(names.threads.size(), 0);
  // Which locations can be reached, and by which thread if only by one.
  constexpr std::uint32_t kSeveral = kNobody - 1;
  std::vector<std::uint32_t> reached_by(names.locations.size(), kNobody);
  std::vector<std::uint32_t> caller(names.reachable.size(), kNobody);
  for (std::uint64_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    auto thread = static_cast<std::uint32_t>(event.thread.index());
    last[thread] = i;
    if (watch_.over()) return;
    if (event.kind != EventKind::kEnter || caller[event.value] == thread) continue;
    caller[event.value] = thread;
    auto members = names.reachable.at(static_cast<std::uint32_t>(event.value));
    if (watch_.over(members.size())) return;
    for (ObjectId member : members) {
      std::uint32_t& by = reached_by[member.index()];
      by = by == kNobody || by == thread ? thread : kSeveral;
    }
  }
  std::vector<char> seen(names.threads.size(), 0);
  for (std::uint64_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    auto touch = [&](std::string_view name) {
      auto location = names.locations.find(name);
      if (!location || reached_by[*location] == kNobody) return;
      auto& objects = objects_of_[i];
      if (std::find(objects.begin(), objects.end(), *location) != objects.end()) return;
      objects.push_back(*location);
      touches_[*location].push_back(i);
    };
    if (is_access(event.kind)) {
      auto location = static_cast<std::uint32_t>(event.object.value());
      if (reached_by[location] != kNobody) {
        objects_of_[i].push_back(location);
        touches_[location].push_back(i);
      }
    } else if (event.kind != EventKind::kEnter && event.kind != EventKind::kLeave) {
      if (std::string_view name = names.object(event); !name.empty()) touch(name);
    }
    if (!seen[event.thread.index()] || last[event.thread.index()] == i) touch(names.thread(event.thread));
    seen[event.thread.index()] = 1;
    if (watch_.over(4)) return;
  }

  // A location that one thread's calls can reach and nothing else touches cannot matter.
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers;
  std::vector<std::uint32_t> set_of(names.reachable.size(), 0);
  for (std::uint32_t set = 0; set < names.reachable.size(); ++set) {
    std::vector<std::uint32_t> members;
    for (ObjectId member : names.reachable.at(set)) {
      if (reached_by[member.index()] == kSeveral || !touches_[member.index()].empty()) {
        members.push_back(static_cast<std::uint32_t>(member.value()));
      }
    }
    if (watch_.over(names.reachable.at(set).size() + 8)) return;
    set_of[set] = numbers.try_emplace(members, static_cast<std::uint32_t>(numbers.size())).first->second;
    if (set_of[set] == sets_.size()) sets_.push_back(std::move(members));
  }
  std::vector<std::vector<std::uint32_t>> stacks(names.threads.size());
  std::vector<std::unordered_set<std::uint32_t>> open_sets(names.threads.size());
  auto enter = [&](std::uint32_t thread, std::uint32_t set, std::uint64_t now) {
    if (!open_sets[thread].insert(set).second) {
      stacks[thread].push_back(kNobody);
      return true;
    }
    auto call = static_cast<std::uint32_t>(calls_.size());
    calls_.push_back({.thread = thread, .set = set, .enter = now});
    calls_of_thread_[thread].calls.push_back(call);
    stacks[thread].push_back(call);
    if (set >= calls_of_set_.size()) calls_of_set_.resize(set + std::size_t{1});
    calls_of_set_[set].calls.push_back(call);
    return !watch_.over();
  };
  auto leave = [&](std::size_t thread, std::uint64_t now) {
    if (std::uint32_t call = stacks[thread].back(); call != kNobody) {
      calls_[call].leave = now;
      open_sets[thread].erase(calls_[call].set);
    }
    stacks[thread].pop_back();
  };
  for (std::uint64_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    auto thread = static_cast<std::uint32_t>(event.thread.index());
    if (watch_.over()) return;
    if (event.kind == EventKind::kEnter) {
      if (!enter(thread, set_of[event.value], i)) return;
    } else if (event.kind == EventKind::kLeave && !stacks[thread].empty()) {
      leave(thread, i);
    } else if (event.kind == EventKind::kEnd) {
      while (!stacks[thread].empty()) leave(thread, i);
    } else if (event.kind == EventKind::kJoin) {
      while (!stacks[event.object.index()].empty()) leave(event.object.index(), i);
    }
    // A thread that never comes back from a call may be ended there: as if it called something that reaches
    // its own name.
    if (last[thread] != i || stacks[thread].empty()) continue;
    auto own = names.locations.find(names.thread(event.thread));
    if (!own || reached_by[*own] == kNobody) continue;
    auto number = numbers.try_emplace({*own}, static_cast<std::uint32_t>(sets_.size())).first->second;
    if (number == sets_.size()) sets_.push_back({*own});
    if (!enter(thread, number, i)) return;
  }
  calls_of_set_.resize(sets_.size());
  meeting_.resize(sets_.size());
  met_.assign(sets_.size(), 0);
  for (std::uint32_t set = 0; set < sets_.size(); ++set) {
    if (calls_of_set_[set].calls.empty()) continue;
    if (watch_.over(sets_[set].size())) return;
    for (std::uint32_t member : sets_[set]) sets_on_[member].push_back(set);
  }
}

const std::vector<std::uint32_t>& WitnessChecker::sets_meeting(std::uint32_t set) {
  std::vector<std::uint32_t>& meeting = meeting_[set];
  if (!meeting.empty()) return meeting;  // a set without members meets not even itself
  for (std::uint32_t member : sets_[set]) {
    if (watch_.over(sets_on_[member].size())) break;
    for (std::uint32_t other : sets_on_[member]) {
      if (std::exchange(met_[other], set + 1) != set + 1) meeting.push_back(other);
    }
  }
  return meeting;
}

// A thread that releases a lock which it has not taken since its last call that can reach the lock has held
// it since that call. Who takes the lock afterwards in the trace, not before the call therefore, does so
// after that release.
void WitnessChecker::note_locks() {
  not_before_.assign(events_.size(), kNever);
  std::vector<std::uint64_t> release(names_.locks.size(), kNever);
  std::unordered_map<std::uint64_t, std::uint32_t> taken;  // thread and lock: how often since such a call
  std::size_t entered = 0, left = 0;
  std::vector<std::uint32_t> by_leave = calls_by_leave();
  auto forget = [&](const Call& call) {
    for (std::uint32_t member : sets_[call.set]) {
      if (lock_named_[member] != kNobody) taken.erase(std::uint64_t{call.thread} << 32 | lock_named_[member]);
    }
  };
  for (std::uint64_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    if (watch_.over()) return;
    const std::uint64_t key = std::uint64_t{event.thread.value()} << 32 | event.object.value();
    if (event.kind == EventKind::kAcquire) {
      not_before_[i] = release[event.object.index()];
      ++taken[key];
    } else if (event.kind == EventKind::kRelease) {
      if (auto mine = taken.find(key); mine == taken.end()) {
        release[event.object.index()] = i;
      } else if (--mine->second == 0) {
        taken.erase(mine);
      }
    }
    for (; entered < calls_.size() && calls_[entered].enter == i; ++entered) forget(calls_[entered]);
    for (; left < by_leave.size() && calls_[by_leave[left]].leave == i; ++left)
      forget(calls_[by_leave[left]]);
  }
}

std::vector<std::uint32_t> WitnessChecker::calls_by_leave() const {
  std::vector<std::uint32_t> calls(calls_.size());
  for (std::uint32_t call = 0; call < calls_.size(); ++call) calls[call] = call;
  std::sort(calls.begin(), calls.end(),
            [&](std::uint32_t one, std::uint32_t two) { return calls_[one].leave < calls_[two].leave; });
  return calls;
}

void WitnessChecker::reset() {
  executed_.assign(events_.size(), 0);
  done_.assign(threads_.size(), 0);
  astray_.assign(threads_.size(), 0);
  holders_.assign(names_.locks.size(), {});
  contents_.assign(names_.locations.size(), {});
  acted_until_.assign(touches_.size(), 0);
  first_undone_.assign(touches_.size(), 0);
  for (CallList& list : calls_of_thread_) list.done = 0;
  for (CallList& list : calls_of_set_) list.done = 0;
  for (Call& call : calls_) call.acted_until = 0;
}

Status WitnessChecker::check(std::span<const std::uint64_t> witness) {
  reset();
  out_of_time_ = watch_.over(events_.size() / 8 + 1);
  if (out_of_time_) return Error{"witness: expected the time to check it, found it over"};
  if (witness.size() < 2) return Error{"witness: expected at least the two accesses, found less"};
  for (std::size_t step = 0; step < witness.size(); ++step) {
    if (witness[step] >= events_.size()) {
      return Error{"witness: step " + std::to_string(step) + ": expected an event of the trace, found " +
                   number(witness[step])};
    }
  }
  std::uint64_t first = witness[witness.size() - 2], second = witness[witness.size() - 1];
  const Event& one = events_[first];
  const Event& two = events_[second];
  if (!is_access(one.kind) || !is_access(two.kind) || one.object != two.object || one.thread == two.thread ||
      (one.kind == EventKind::kRead && two.kind == EventKind::kRead)) {
    return Error{"witness: expected two conflicting accesses of two threads at its end, found " +
                 number(first) + " and " + number(second)};
  }
  for (std::size_t step = 0; step + 2 < witness.size(); ++step) {
    std::uint64_t event = witness[step];
    std::optional<std::string> wrong = is_next(event);
    if (!wrong) wrong = execute(event);
    if (watch_.over()) out_of_time_ = true;
    if (wrong || out_of_time_)
      return Error{"witness: step " + std::to_string(step) + ": " + number(event) + ": " +
                   wrong.value_or("expected the time to go on, found it over")};
  }
  for (std::uint64_t access : {first, second}) {
    if (std::optional<std::string> wrong = is_next(access)) {
      out_of_time_ = watch_.over();
      return Error{"witness: " + number(access) + " does not race: " + *wrong};
    }
  }
  return Nothing{};
}

// Can control have come to `event`?
std::optional<std::string> WitnessChecker::is_next(std::uint64_t event) {
  std::size_t thread = events_[event].thread.index();
  const auto& mine = threads_[thread];
  if (done_[thread] >= mine.size() || mine[done_[thread]] != event) {
    return "expected " +
           (done_[thread] < mine.size() ? number(mine[done_[thread]]) : std::string("nothing")) +
           " as the next of its thread";
  }
  if (done_[thread] == 0 && fork_[thread] != kNever && !executed_[fork_[thread]]) {
    return "expected its thread's fork before it";
  }
  if (!has_branch_ && astray_[thread]) return "expected an earlier read of its thread to see what it saw";
  if (barriers_) return let_missing_code_act(event);
  return std::nullopt;
}

std::optional<std::string> WitnessChecker::execute(std::uint64_t index) {
  const Event& event = events_[index];
  std::size_t thread = event.thread.index();
  std::size_t object = event.object.index();
  switch (event.kind) {
    case EventKind::kRead:
      if (!sees_the_same(index)) astray_[thread] = 1;
      break;
    case EventKind::kWrite:
      contents_[object] = {index, !astray_[thread]};
      break;
    case EventKind::kAcquire:
      if (holders_[object].depth > 0 && holders_[object].thread != thread) {
        return "expected its lock to be free, found it held by thread " +
               std::to_string(holders_[object].thread);
      }
      if (barriers_ && not_before_[index] != kNever && !executed_[not_before_[index]]) {
        return "expected its lock to be free, found it taken in missing code and released by " +
               number(not_before_[index]);
      }
      holders_[object].thread = static_cast<std::uint32_t>(thread);
      ++holders_[object].depth;
      break;
    case EventKind::kRelease:
      if (holders_[object].depth > 0 && holders_[object].thread == thread) --holders_[object].depth;
      break;
    case EventKind::kJoin:
      if (fork_[object] != kNever && !executed_[fork_[object]])
        return "expected the fork of the joined thread before it";
      if (done_[object] < threads_[object].size())
        return "expected all events of the joined thread before it";
      if (!has_branch_ && astray_[object])
        return "expected the reads of the joined thread to see what they saw";
      break;
    case EventKind::kReceive:
      for (std::uint64_t send : sends_[object]) {
        if (send < index && !executed_[send])
          return "expected " + number(send) + ", which sends its message, before it";
      }
      break;
    case EventKind::kBranch:
      if (astray_[thread]) return "expected the earlier reads of its thread to see what they saw";
      break;
    default:
      break;
  }
  executed_[index] = 1;
  ++done_[thread];
  return std::nullopt;
}

bool WitnessChecker::sees_the_same(std::uint64_t read) const {
  const Event& event = events_[read];
  const Content& content = contents_[event.object.index()];
  if (!content.is_known) return false;
  if (content.writer == saw_[read]) return true;
  if (!value_[read] || content.writer == kAct) return false;
  if (content.writer == kNever) return *value_[read] == 0;
  return value_[content.writer] == value_[read];
}

bool WitnessChecker::all_done_before(std::uint32_t object, std::uint64_t event) {
  const auto& touches = touches_[object];
  std::size_t& next = first_undone_[object];
  while (next < touches.size() && executed_[touches[next]]) ++next;
  return next == touches.size() || touches[next] >= event;
}

std::optional<std::string> WitnessChecker::let_missing_code_act(std::uint64_t event) {
  std::size_t thread = events_[event].thread.index();
  if (auto wrong = catch_up_all(calls_of_thread_[thread], event)) return wrong;
  // Who waits for a thread waits for its missing code.
  if (events_[event].kind == EventKind::kJoin) {
    std::size_t child = events_[event].object.index();
    if (auto wrong = catch_up_all(calls_of_thread_[child], event)) return wrong;
  }
  for (std::uint32_t object : objects_of_[event]) {
    if (acted_until_[object] > event) return "expected before what missing code did later";
    for (std::uint32_t set : sets_on_[object]) {
      if (auto wrong = catch_up_all(calls_of_set_[set], event)) return wrong;
    }
  }
  return std::nullopt;
}

void WitnessChecker::skip_done(CallList& list) const {
  const auto is_done = [&](const Call& call) { return call.acted_until == call.leave; };
  while (list.done < list.calls.size() && is_done(calls_[list.calls[list.done]])) ++list.done;
}

std::optional<std::string> WitnessChecker::catch_up_all(CallList& list, std::uint64_t until) {
  skip_done(list);
  for (std::size_t i = list.done; i < list.calls.size() && calls_[list.calls[i]].enter < until; ++i) {
    if (watch_.over()) return "expected the time to go on, found it over";
    const Call& call = calls_[list.calls[i]];
    if (call.acted_until >= std::min(until, call.leave)) continue;
    if (auto wrong = catch_up(list.calls[i], until)) return wrong;
  }
  return std::nullopt;
}

// Makes the missing code of `call` do what it did before the event `until`, and all other missing code that
// it may have waited for.
std::optional<std::string> WitnessChecker::catch_up(std::uint32_t call, std::uint64_t until) {
  struct Task {
    std::uint32_t call;
    std::uint64_t until;
  };
  std::vector<Task> tasks = {{call, until}};
  while (!tasks.empty()) {
    if (watch_.over(8)) return "expected the time to go on, found it over";
    Task task = tasks.back();
    tasks.pop_back();
    Call& mine = calls_[task.call];
    task.until = std::min(task.until, mine.leave);
    if (mine.acted_until >= task.until) continue;
    if (auto wrong = act(mine, task.until)) return wrong;
    auto also = [&](CallList& list) {
      skip_done(list);
      std::size_t i = list.done;
      for (; i < list.calls.size() && calls_[list.calls[i]].enter < task.until; ++i) {
        const Call& other = calls_[list.calls[i]];
        if (other.acted_until < std::min(task.until, other.leave))
          tasks.push_back({list.calls[i], task.until});
      }
      (void)watch_.over(1 + i - list.done);
    };
    also(calls_of_thread_[mine.thread]);
    for (std::uint32_t set : sets_meeting(mine.set)) also(calls_of_set_[set]);
  }
  return std::nullopt;
}

std::optional<std::string> WitnessChecker::act(Call& call, std::uint64_t until) {
  std::string who = "missing code called at " + number(call.enter) + " must act before it: ";
  const auto& mine = threads_[call.thread];
  // Nothing of its own thread may be missing. (Nothing can be too much: later events would have made it act.)
  if (done_[call.thread] < mine.size() && mine[done_[call.thread]] < until) {
    return who + "expected " + number(mine[done_[call.thread]]) + " before that";
  }
  if (astray_[call.thread]) return who + "expected the earlier reads of its thread to see what they saw";
  if (watch_.over(4 * sets_[call.set].size())) return who + "expected the time to go on, found it over";
  for (std::uint32_t object : sets_[call.set]) {
    if (!all_done_before(object, until)) {
      return who + "expected " + number(touches_[object][first_undone_[object]]) + " before that";
    }
    if (std::uint32_t thread = thread_named_[object];
        thread != kNobody && !has_branch_ && astray_[thread] && threads_[thread].back() < until) {
      return who + "expected the reads of a thread whose end it may have noticed to see what they saw";
    }
    // It may release what its thread holds.
    if (std::uint32_t lock = lock_named_[object]; lock != kNobody && holders_[lock].thread == call.thread) {
      holders_[lock].depth = 0;
    }
    Content& content = contents_[object];
    if (content.writer != kAct && content.writer != kNever) {
      // The last write that the trace shows before this moment.
      const auto& touches = touches_[object];
      auto touch = std::lower_bound(touches.begin(), touches.end(), until);
      std::uint64_t expected = kNever;
      while (touch != touches.begin()) {
        const Event& event = events_[*--touch];
        if (event.kind == EventKind::kWrite && event.object == ObjectId(object)) {
          expected = *touch;
          break;
        }
        (void)watch_.over();
      }
      bool same = content.writer == expected ||
                  (expected != kNever && value_[expected] && value_[expected] == value_[content.writer]);
      if (!content.is_known || !same) return who + "expected to find what " + number(expected) + " wrote";
    }
    content = {kAct, true};
    acted_until_[object] = std::max(acted_until_[object], until);
  }
  call.acted_until = until;
  return std::nullopt;
}

}  // namespace deadheat::detect
