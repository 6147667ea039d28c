#include "detect/barrier_acts.h"

#include <algorithm>
#include <iterator>

namespace deadheat::detect {
namespace {

constexpr std::uint32_t kNoObject = UINT32_MAX;

void add_unique(std::vector<std::uint32_t>& list, std::uint32_t item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

std::vector<std::uint32_t> objects_named_like(const NameTable& table, const NameTable& locations,
                                              const std::vector<char>& reachable) {
  std::vector<std::uint32_t> objects(table.size(), kNoObject);
  for (std::uint32_t id = 0; id < table.size(); ++id) {
    auto location = locations.find(table.name(id));
    if (location && reachable[*location]) objects[id] = *location;
  }
  return objects;
}

}  // namespace

BarrierActs::BarrierActs(std::span<const Event> events, const Names& names, BudgetWatch& watch)
    : events_(events), names_(names) {
  std::size_t threads = names.threads.size();
  first_.assign(threads, UINT64_MAX);
  last_.assign(threads, 0);
  callers_.resize(threads);
  ended_.assign(threads, 0);
  for (std::uint64_t i = 0; i < events.size(); ++i) {
    std::size_t thread = events[i].thread.index();
    first_[thread] = std::min(first_[thread], i);
    last_[thread] = i;
  }
  reachable_.assign(names.locations.size(), 0);
  uses_.assign(names.locations.size(), 0);
  auto use = [&](std::uint32_t object) { uses_[object] = std::min(uses_[object] + 1, 2u); };
  for (std::uint32_t set = 0; set < names.reachable.size(); ++set) {
    if (watch.over(1 + names.reachable.at(set).size())) return;
    for (ObjectId location : names.reachable.at(set)) {
      reachable_[location.index()] = 1;
      use(static_cast<std::uint32_t>(location.value()));
    }
  }
  thread_object_ = objects_named_like(names.threads, names.locations, reachable_);
  thread_of_object_.assign(names.locations.size(), kNoObject);
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    if (thread_object_[thread] != kNoObject) thread_of_object_[thread_object_[thread]] = thread;
  }
  lock_object_ = objects_named_like(names.locks, names.locations, reachable_);
  lock_of_object_.assign(names.locations.size(), kNoObject);
  for (std::uint32_t lock = 0; lock < lock_object_.size(); ++lock) {
    if (lock_object_[lock] != kNoObject) lock_of_object_[lock_object_[lock]] = lock;
  }
  message_object_ = objects_named_like(names.messages, names.locations, reachable_);
  objects_.resize(names.locations.size());
  active_.resize(names.reachable.size() + threads);
  std::vector<std::uint32_t> objects;
  std::vector<char> called(names.reachable.size(), 0);
  for (std::uint64_t i = 0; i < events.size(); ++i) {
    if (watch.over()) return;
    objects_of(i, objects);
    for (std::uint32_t object : objects) use(object);
    if (events[i].kind != EventKind::kEnter) continue;
    // A set that is used by two calls meets itself.
    char& before = called[events[i].value];
    if (before == 1) {
      for (ObjectId location : names.reachable.at(static_cast<std::uint32_t>(events[i].value))) {
        use(static_cast<std::uint32_t>(location.value()));
      }
    }
    if (before < 2) ++before;
  }
}

void BarrierActs::objects_of(std::uint64_t index, std::vector<std::uint32_t>& objects) const {
  objects.clear();
  const Event& event = events_[index];
  std::uint32_t object = kNoObject;
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
      if (reachable_[event.object.index()]) object = static_cast<std::uint32_t>(event.object.value());
      break;
    case EventKind::kAcquire:
    case EventKind::kRelease:
      object = lock_object_[event.object.index()];
      break;
    case EventKind::kSend:
    case EventKind::kReceive:
      object = message_object_[event.object.index()];
      break;
    case EventKind::kFork:
    case EventKind::kJoin:
      object = thread_object_[event.object.index()];
      break;
    default:
      break;
  }
  if (object != kNoObject) objects.push_back(object);
  // Whatever kind of event it is, a call included: what comes before the first and after the last one is
  // the thread's start and end, which missing code of others may have caused or noticed.
  std::size_t thread = event.thread.index();
  if ((first_[thread] == index || last_[thread] == index) && thread_object_[thread] != kNoObject) {
    add_unique(objects, thread_object_[thread]);
  }
}

// Members that something other than one call can touch.
const std::vector<std::uint32_t>& BarrierActs::active_members(std::uint32_t set) {
  std::optional<std::vector<std::uint32_t>>& known = active_[set];
  if (known) return *known;
  std::vector<std::uint32_t>& members = known.emplace();
  if (set >= names_.reachable.size()) {
    if (std::uint32_t name = thread_object_[set - names_.reachable.size()]; name != kNoObject)
      members.push_back(name);
    return members;
  }
  for (ObjectId location : names_.reachable.at(set)) {
    if (uses_[location.index()] >= 2) members.push_back(static_cast<std::uint32_t>(location.value()));
  }
  return members;
}

bool BarrierActs::reaches(std::uint32_t thread, std::uint32_t lock) const {
  if (lock_object_[lock] == kNoObject) return false;
  const auto& reached = objects_[lock_object_[lock]].reached;
  return std::any_of(reached.begin(), reached.end(),
                     [&](const auto& entry) { return entry.first == thread; });
}

void BarrierActs::enter(std::uint32_t thread, std::uint32_t set) {
  Caller& caller = callers_[thread];
  if (caller.calls.empty()) {
    caller.group = next_group_++;
    groups_[caller.group].threads = {thread};
  }
  Group& mine = groups_[caller.group];
  mine.due = true;
  caller.calls.push_back(set);
  if (caller.open[set]++ > 0) return;  // reached already, and it has acted or will
  caller.fresh.push_back(set);
  for (std::uint32_t index : active_members(set)) {
    Object& object = objects_[index];
    bool is_new = true;
    for (auto& [other, sets] : object.reached) {
      if (other != thread) continue;
      ++sets;
      is_new = false;
    }
    if (!is_new) continue;
    for (auto [other, sets] : object.reached) {
      ++caller.partners[other];
      ++callers_[other].partners[thread];
      if (callers_[other].group != caller.group) merge(callers_[other].group, caller.group);
    }
    object.reached.emplace_back(thread, 1);
  }
}

// Into the one with more threads; returns its number.
std::uint32_t BarrierActs::merge(std::uint32_t one, std::uint32_t other) {
  if (groups_[one].threads.size() < groups_[other].threads.size()) std::swap(one, other);
  Group& large = groups_[one];
  Group& small = groups_[other];
  for (std::uint32_t thread : small.threads) callers_[thread].group = one;
  large.threads.insert(large.threads.end(), small.threads.begin(), small.threads.end());
  if (large.touched.size() < small.touched.size()) large.touched.swap(small.touched);
  large.touched.insert(large.touched.end(), small.touched.begin(), small.touched.end());
  // What either did last, both do again, together.
  large.due = true;
  large.last_act = kNoNode;
  groups_.erase(other);
  return one;
}

void BarrierActs::leave(std::uint32_t thread, Node last_act) {
  Caller& caller = callers_[thread];
  std::uint32_t set = caller.calls.back();
  caller.calls.pop_back();
  groups_[caller.group].due = true;
  auto open = caller.open.find(set);
  // The call around it, with the same set, goes on.
  if (--open->second > 0) return;
  caller.open.erase(open);
  bool lost_a_partner = false;
  for (std::uint32_t index : active_members(set)) {
    Object& object = objects_[index];
    auto mine = std::find_if(object.reached.begin(), object.reached.end(),
                             [&](const auto& entry) { return entry.first == thread; });
    object.last_act = last_act;
    if (--mine->second > 0) continue;
    object.reached.erase(mine);
    if (object.reached.empty()) object.is_touched = false;  // act() skips it in its old group's list
    for (auto [other, sets] : object.reached) {
      if (--caller.partners[other] > 0) continue;
      caller.partners.erase(other);
      callers_[other].partners.erase(thread);
      lost_a_partner = true;
    }
    for (auto [other, sets] : object.reached) {
      if (auto back = callers_[other].partners.find(thread); back != callers_[other].partners.end())
        --back->second;
    }
  }
  if (caller.calls.empty() || lost_a_partner) split(caller.group);
}

void BarrierActs::leave_all(std::uint32_t thread) {
  if (callers_[thread].calls.empty()) return;
  // Of all of them: the group may fall apart on the way.
  const Node last_act = groups_[callers_[thread].group].last_act;
  while (!callers_[thread].calls.empty()) leave(thread, last_act);
}

// The threads of `id` have changed: find out which of them are still connected.
void BarrierActs::split(std::uint32_t id) {
  Group old = std::move(groups_[id]);
  groups_.erase(id);
  const std::uint32_t first_new = next_group_;
  for (std::uint32_t start : old.threads) {
    if (callers_[start].calls.empty() || callers_[start].group >= first_new) continue;
    std::uint32_t fresh = next_group_++;
    Group& group = groups_[fresh];
    callers_[start].group = fresh;
    group.threads = {start};
    for (std::size_t next = 0; next < group.threads.size(); ++next) {
      for (auto& [other, objects] : callers_[group.threads[next]].partners) {
        if (callers_[other].group == fresh) continue;
        callers_[other].group = fresh;
        group.threads.push_back(other);
      }
    }
  }
  for (std::uint32_t index : old.touched) {
    Object& object = objects_[index];
    if (object.reached.empty()) {
      object.is_touched = false;
    } else {
      groups_[callers_[object.reached.front().first].group].touched.push_back(index);
    }
  }
}

Act BarrierActs::act(std::uint32_t id, Node node) {
  Act act;
  Group& group = groups_[id];
  std::vector<std::uint32_t> objects;
  for (std::uint32_t index : group.touched) {
    const auto& reached = objects_[index].reached;
    if (!reached.empty() && callers_[reached.front().first].group == id) objects.push_back(index);
  }
  group.touched.clear();
  act.threads = group.threads;
  for (std::uint32_t thread : group.threads) {
    for (std::uint32_t set : callers_[thread].fresh) {
      const auto& members = active_members(set);
      objects.insert(objects.end(), members.begin(), members.end());
      for (std::uint32_t index : members) {
        if (lock_of_object_[index] != kNoObject) act.locks.emplace_back(thread, lock_of_object_[index]);
      }
    }
    callers_[thread].fresh.clear();
  }
  std::sort(objects.begin(), objects.end());
  objects.erase(std::unique(objects.begin(), objects.end()), objects.end());
  for (std::uint32_t index : objects) {
    Object& object = objects_[index];
    object.is_touched = false;
    if (object.last_act != kNoNode && (act.after.empty() || act.after.back() != object.last_act)) {
      act.after.push_back(object.last_act);
    }
    if (!object.touches.empty()) act.locations.push_back(index);
    for (auto [thread, touch] : object.touches) {
      act.after.push_back(touch);
      if (thread == thread_of_object_[index] && ended_[thread]) act.ends.push_back(thread);
    }
    object.touches.clear();
    object.last_act = node;
  }
  group.due = false;
  group.last_act = node;
  return act;
}

void BarrierActs::before(std::uint64_t index, Node next, std::vector<Act>& acts, std::vector<Node>& after) {
  acts.clear();
  after.clear();
  std::vector<std::uint32_t> objects;
  objects_of(index, objects);
  const Caller& caller = callers_[events_[index].thread.index()];
  std::vector<std::uint32_t> concerned;
  if (!caller.calls.empty()) concerned.push_back(caller.group);
  for (std::uint32_t object : objects) {
    // All that reach it are of one group.
    const auto& reached = objects_[object].reached;
    if (!reached.empty()) add_unique(concerned, callers_[reached.front().first].group);
  }
  // Who waits for a thread waits for its missing code.
  if (events_[index].kind == EventKind::kJoin) {
    const Caller& child = callers_[events_[index].object.index()];
    if (!child.calls.empty()) add_unique(concerned, child.group);
  }
  for (std::uint32_t id : concerned) {
    Group& group = groups_[id];
    if (group.due) acts.push_back(act(id, next + static_cast<Node>(acts.size())));
    group.due = true;
    after.push_back(group.last_act);
  }
  for (std::uint32_t object : objects) {
    if (objects_[object].last_act != kNoNode) after.push_back(objects_[object].last_act);
  }
}

void BarrierActs::done(std::uint64_t index, Node node) {
  std::vector<std::uint32_t> objects;
  objects_of(index, objects);
  const Event& event = events_[index];
  auto thread = static_cast<std::uint32_t>(event.thread.index());
  ended_[thread] = last_[thread] == index;
  for (std::uint32_t number : objects) {
    Object& object = objects_[number];
    auto mine = std::find_if(object.touches.begin(), object.touches.end(),
                             [&](const auto& touch) { return touch.first == thread; });
    if (mine == object.touches.end()) {
      object.touches.emplace_back(thread, node);
    } else {
      mine->second = node;
    }
    if (object.reached.empty() || object.is_touched) continue;
    object.is_touched = true;
    groups_[callers_[object.reached.front().first].group].touched.push_back(number);
  }
  if (event.kind == EventKind::kEnter) {
    enter(thread, static_cast<std::uint32_t>(event.value));
  } else if (event.kind == EventKind::kLeave) {
    if (!callers_[thread].calls.empty()) leave(thread, groups_[callers_[thread].group].last_act);
  } else if (event.kind == EventKind::kEnd) {
    leave_all(thread);
  } else if (event.kind == EventKind::kJoin) {
    leave_all(static_cast<std::uint32_t>(event.object.value()));
  }
  // It never comes back from these calls: one of them may end it.
  if (ended_[thread] && !callers_[thread].calls.empty()) enter(thread, names_.reachable.size() + thread);
}

}  // namespace deadheat::detect
