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

BarrierActs::BarrierActs(std::span<const Event> events, const Names& names) : events_(events), names_(names) {
  std::size_t threads = names.threads.size();
  first_.assign(threads, UINT64_MAX);
  last_.assign(threads, 0);
  open_calls_.assign(threads, 0);
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
  message_object_ = objects_named_like(names.messages, names.locations, reachable_);
  objects_.resize(names.locations.size());
  active_.resize(names.reachable.size());
  std::vector<std::uint32_t> objects;
  std::vector<char> called(names.reachable.size(), 0);
  for (std::uint64_t i = 0; i < events.size(); ++i) {
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
  if (event.kind == EventKind::kEnter || event.kind == EventKind::kLeave) return;
  std::size_t thread = event.thread.index();
  if ((first_[thread] == index || last_[thread] == index) && thread_object_[thread] != kNoObject) {
    add_unique(objects, thread_object_[thread]);
  }
}

bool BarrierActs::reaches(std::uint32_t set, std::uint32_t object) const {
  auto members = names_.reachable.at(set);
  return std::binary_search(members.begin(), members.end(), ObjectId(object));
}

bool BarrierActs::overlap(std::uint32_t one, std::uint32_t other) {
  if (one == other) return !names_.reachable.at(one).empty();
  if (one > other) std::swap(one, other);
  auto [entry, is_new] = overlaps_.try_emplace(std::uint64_t{one} << 32 | other, false);
  if (is_new) {
    auto a = names_.reachable.at(one);
    auto b = names_.reachable.at(other);
    if (a.size() > b.size()) std::swap(a, b);
    entry->second = std::any_of(
        a.begin(), a.end(), [&](ObjectId member) { return std::binary_search(b.begin(), b.end(), member); });
  }
  return entry->second;
}

bool BarrierActs::linked(const Call& one, const Call& other) {
  return one.thread == other.thread || overlap(one.set, other.set);
}

// Members that something other than one call can touch.
const std::vector<std::uint32_t>& BarrierActs::active_members(std::uint32_t set) {
  if (!active_[set]) {
    active_[set].emplace();
    for (ObjectId location : names_.reachable.at(set)) {
      if (uses_[location.index()] >= 2) active_[set]->push_back(static_cast<std::uint32_t>(location.value()));
    }
  }
  return *active_[set];
}

// The calls of `group` have changed: find out which of them are still connected.
void BarrierActs::regroup(std::uint32_t group) {
  Group old = std::move(groups_[group]);
  groups_.erase(group);
  std::vector<Call*> members;
  for (Call& call : open_) {
    if (call.group == group) members.push_back(&call);
  }
  std::vector<char> placed(members.size(), 0);
  for (std::size_t start = 0; start < members.size(); ++start) {
    if (placed[start]) continue;
    std::uint32_t id = next_group_++;
    Group& fresh = groups_[id];
    std::vector<std::size_t> work = {start};
    placed[start] = 1;
    while (!work.empty()) {
      Call& call = *members[work.back()];
      work.pop_back();
      call.group = id;
      for (std::size_t other = 0; other < members.size(); ++other) {
        if (placed[other] || !linked(call, *members[other])) continue;
        placed[other] = 1;
        work.push_back(other);
      }
      for (std::uint32_t object : old.touched) {
        if (reaches(call.set, object)) add_unique(fresh.touched, object);
      }
    }
  }
}

Act BarrierActs::act(std::uint32_t group, Node node) {
  Act act;
  Group& state = groups_[group];
  std::vector<std::uint32_t>& objects = scratch_;
  objects = std::move(state.touched);
  state.touched.clear();
  for (Call& call : open_) {
    if (call.group != group) continue;
    add_unique(act.threads, call.thread);
    if (!call.fresh) continue;
    call.fresh = false;
    const auto& members = active_members(call.set);
    objects.insert(objects.end(), members.begin(), members.end());
  }
  std::sort(objects.begin(), objects.end());
  objects.erase(std::unique(objects.begin(), objects.end()), objects.end());
  for (std::uint32_t index : objects) {
    Object& object = objects_[index];
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
  state.due = false;
  state.last_act = node;
  return act;
}

void BarrierActs::before(std::uint64_t index, Node next, std::vector<Act>& acts, std::vector<Node>& after) {
  acts.clear();
  after.clear();
  std::vector<std::uint32_t> objects;
  objects_of(index, objects);
  auto thread = static_cast<std::uint32_t>(events_[index].thread.index());
  std::vector<std::uint32_t> concerned;
  for (const Call& call : open_) {
    bool concerns = call.thread == thread;
    for (std::uint32_t object : objects) concerns = concerns || reaches(call.set, object);
    if (concerns) add_unique(concerned, call.group);
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
  for (std::uint32_t object : objects) {
    auto& touches = objects_[object].touches;
    auto mine = std::find_if(touches.begin(), touches.end(),
                             [&](const auto& touch) { return touch.first == thread; });
    if (mine == touches.end()) {
      touches.emplace_back(thread, node);
    } else {
      mine->second = node;
    }
    for (const Call& call : open_) {
      if (reaches(call.set, object)) add_unique(groups_[call.group].touched, object);
    }
  }
  if (event.kind == EventKind::kEnter) {
    ++open_calls_[thread];
    Call call{.thread = thread, .set = static_cast<std::uint32_t>(event.value), .group = next_group_++};
    Group merged;
    std::vector<std::uint32_t> absorbed;
    for (const Call& other : open_) {
      if (linked(call, other)) add_unique(absorbed, other.group);
    }
    for (std::uint32_t group : absorbed) {
      for (std::uint32_t object : groups_[group].touched) add_unique(merged.touched, object);
      groups_.erase(group);
    }
    for (Call& other : open_) {
      if (std::find(absorbed.begin(), absorbed.end(), other.group) != absorbed.end())
        other.group = call.group;
    }
    groups_[call.group] = std::move(merged);
    open_.push_back(call);
  } else if (event.kind == EventKind::kLeave && open_calls_[thread] > 0) {
    --open_calls_[thread];
    auto innermost =
        std::find_if(open_.rbegin(), open_.rend(), [&](const Call& call) { return call.thread == thread; });
    std::uint32_t group = innermost->group;
    for (std::uint32_t object : active_members(innermost->set))
      objects_[object].last_act = groups_[group].last_act;
    open_.erase(std::next(innermost).base());
    regroup(group);
  }
}

}  // namespace deadheat::detect
