// Sync-preserving races ("Optimal Prediction of Synchronization-Preserving Races", Mathur, Pavlogiannis,
// Viswanathan).
//
// A reordering of (a part of) the trace is sync-preserving if critical sections of one lock that are in it
// come in the order of the trace, and every read in it sees the write it saw. Two conflicting accesses e1, e2
// (in trace order) are a sync-preserving race if such a reordering ends with both of them next.
//
// Promise: two sites are reported if and only if the trace has a sync-preserving race of two accesses at
// them; each pair of sites once. Every reported race can happen; `cut` says which events run before the two,
// in the order of the trace.
//
// The criterion: start with all events before e1 and before e2 in their threads; add whatever these depend on
// (program order, fork and join, messages, the write that each read sees: the order "trf"); and whenever two
// critical sections of one lock are there, complete the earlier one. The smallest such set is the ideal of
// the pair, a cut through the trace. The pair is a race if and only if e1 is not in it (e2 never is: all of
// it precedes e2).
//
// How it is near-linear:
//  - ideals grow with their pair: if e1 is in the ideal of (e1, e2), it is also in that of (e1, later access
//  of e2's
//    thread). So for each list of accesses (one slot, site and kind) and each other thread there is one
//    position, which only moves forward, and one cut, which only grows;
//  - an access before e2 by trf, or one that holds a common lock with e2, is in the ideal: no cut needed.
//  With correctly
//    locked data nothing else ever happens;
//  - in a cut, a critical section is incomplete only if its lock is held where the cut passes through its
//  thread. So closing
//    a cut looks at the locks held at the cut, not at all locks;
//  - a pair of sites that is already reported is never looked at again, nor passed over one by one
//  (site_index.h);
//  - of reads without an event in between that others can be ordered after, the first stands for all (if a
//  later one is a
//    race with e2, so is the first).
//
// Departure from the paper: all pairs of sites instead of all second events. Cost: each access is passed at
// most once per other thread and list; memory grows with the accesses and critical sections of the trace,
// which the paper proves unavoidable in one pass. Tested against the exploration of all sync-preserving
// reorderings of small traces.
#include "detect/syncp.h"

#include <algorithm>
#include <string>

namespace deadheat::detect {

void SyncPreserving::fork(ThreadId id, ThreadId child) {
  thread(id).time.tick();
  ++thread(id).stretch;
  if (child != id) lives_.fork(id, child, thread(id).now());
}

void SyncPreserving::join(ThreadId id, ThreadId child) {
  if (child != id) lives_.join(id, child);
  thread(id).time.tick();
}

SyncPreserving::Location& SyncPreserving::location(ObjectId object) {
  if (object.index() >= locations_.size()) {
    const std::size_t before = locations_.capacity();
    if (object.index() >= before) locations_.reserve(std::max(object.index() + 1, before * 2));
    locations_.resize(object.index() + 1);
    bytes_ += (locations_.capacity() - before) * sizeof(Location);
  }
  return locations_[object.index()];
}

// Clocks start at 1: a thread with clock c has done c - 1 events, and a moment taken after its n-th event has
// own = n + 1.
bool SyncPreserving::include(Cut& cut, const ClockPool::Block& block, Slot slot, std::uint32_t own_clock) {
  const std::uint32_t* clocks = block.clocks();
  const std::uint32_t size = block.size;
  if (cut.size() < size || cut.size() <= slot.index()) {
    cut.resize(std::max<std::size_t>(size, slot.index() + 1), 1);
  }
  std::uint32_t different = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint32_t larger = std::max(cut[i], clocks[i]);
    different |= larger ^ cut[i];
    cut[i] = larger;
  }
  std::uint32_t& own = cut[slot.index()];
  if (own < own_clock) {
    own = own_clock;
    different = 1;
  }
  return different != 0;
}

ClockPool::Block* SyncPreserving::keep(ThreadTime& time) {
  ClockPool::Block* block = time.now().block();
  ++block->references;
  return block;
}

void SyncPreserving::on_event(EventIndex index, const Event& event) {
  // With many threads one event can mean millions of steps: Ctrl-C does not wait for the end of a batch.
  if (failure() || options().is_cancelled()) return;
  handle(index, event);
  if (lives_.threads().size() > kMostThreads) {
    fail(std::string(name()) + ": expected at most " + std::to_string(kMostThreads) +
         " threads at a time, found more: each may have to be compared with each");
  }
  if (lives_.forgotten()) give_up_on(*lives_.forgotten());
}

void SyncPreserving::handle(EventIndex index, const Event& event) {
  const std::size_t object = event.object.index();
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
      on_access(index, event);
      return;
    case EventKind::kAcquire:
    case EventKind::kRelease:
      on_lock(index, event);
      return;
    case EventKind::kFork:
      fork(event.thread, ThreadId(static_cast<std::uint32_t>(object)));
      return;
    case EventKind::kJoin:
      join(event.thread, ThreadId(static_cast<std::uint32_t>(object)));
      return;
    case EventKind::kSend: {
      Thread& self = thread(event.thread);
      self.time.tick();
      ++self.stretch;
      messages_.send(event.object, self.now());
      return;
    }
    case EventKind::kReceive: {
      Thread& self = thread(event.thread);
      for (const Moment& moment : messages_.to(event.object)) self.time.join(moment);
      self.time.tick();
      return;
    }
    default:
      thread(event.thread).time.tick();
      return;
  }
}

void SyncPreserving::on_lock(EventIndex index, const Event& event) {
  Thread& self = thread(event.thread);
  self.time.tick();
  if (!held_.on_lock(event)) return;
  const std::size_t object = event.object.index();
  if (object >= locks_.size()) locks_.resize(std::max(object + 1, locks_.size() * 2));
  std::vector<LockUser>& users = locks_[object];
  auto user =
      std::find_if(users.begin(), users.end(), [&](const LockUser& u) { return u.slot == self.time.self(); });
  if (user == users.end()) {
    users.push_back(LockUser{self.time.self(), {}});
    user = users.end() - 1;
  }
  const std::uint32_t number = self.time.own().value() - 1;
  if (event.kind == EventKind::kAcquire) {
    user->acquires.push_back(Acquire{.number = number, .index = index.value()});
    bytes_ += sizeof(Acquire);
  } else {
    user->acquires.back().release = keep(self.time);
    user->acquires.back().released = self.time.own().value();
    ++self.stretch;
  }
  self.changes.push_back(LockChange{number, held_.held(event.thread)});
  bytes_ += sizeof(LockChange);
}

const SyncPreserving::Acquire* SyncPreserving::last_acquire(const LockUser& user, const Cut& cut) const {
  if (user.slot.index() >= cut.size()) return nullptr;
  const std::uint32_t end = cut[user.slot.index()];  // events with a smaller number are in the cut
  const std::vector<Acquire>& acquires = user.acquires;
  if (acquires.empty() || acquires.front().number >= end) return nullptr;
  if (acquires.back().number < end) return &acquires.back();
  return &*(std::partition_point(acquires.begin(), acquires.end(),
                                 [&](const Acquire& a) { return a.number < end; }) -
            1);
}

void SyncPreserving::close(Cut& cut) {
  bool again = true;
  while (again) {
    again = false;
    ++rounds_;
    for (std::size_t t = 0; t < cut.size() && t < lives_.threads().size(); ++t) {
      if (options().is_cancelled()) return;
      const std::vector<LockChange>& changes = lives_.threads()[t].changes;
      const std::uint32_t end = cut[t];
      if (changes.empty() || changes.front().number >= end) continue;
      const LockChange* change = &changes.back();
      if (change->number >= end) {
        change = &*(std::partition_point(changes.begin(), changes.end(),
                                         [&](const LockChange& c) { return c.number < end; }) -
                    1);
      }
      if (change->locks == Locksets::kEmpty) continue;
      for (const std::uint32_t lock : held_.sets().members(change->locks)) {
        const Acquire* mine = nullptr;
        std::uint64_t latest = 0;  // after the last acquire of another thread in the cut
        for (const LockUser& user : locks_[lock]) {
          const Acquire* acquire = last_acquire(user, cut);
          if (acquire == nullptr) continue;
          if (user.slot.index() == t) {
            mine = acquire;
          } else {
            latest = std::max(latest, acquire->index + 1);
          }
        }
        if (mine == nullptr || latest <= mine->index || mine->release == nullptr) continue;
        again |= include(cut, *mine->release, Slot(static_cast<std::uint32_t>(t)), mine->released);
      }
    }
  }
}

// Moves on in `list` to the first access that can still race with `event`; true if that one is a race.
bool SyncPreserving::can_race(List& list, EventIndex index, const Event& event, LocksetId locks) {
  Thread& self = thread(event.thread);
  const Slot slot = self.time.self();
  const std::uint32_t known =
      self.time.at(list.slot).value();  // events of list.slot with a smaller number are before `event`
  auto progress = std::lower_bound(list.progress.begin(), list.progress.end(), slot,
                                   [](const Progress& p, Slot wanted) { return p.slot < wanted; });
  const bool has_progress = progress != list.progress.end() && progress->slot == slot;
  auto keep_progress = [&](std::uint32_t passed) {
    const std::size_t before = list.progress.capacity();
    progress = list.progress.insert(progress, Progress{slot, passed, {}});
    bytes_ += (list.progress.capacity() - before) * sizeof(Progress);
  };
  // Of a short list the start is as good a place to go on from: with very many threads most lists are short,
  // and each would have an entry for each thread.
  constexpr std::uint32_t kShort = 8;
  if (!has_progress && list.accesses.size() <= kShort) {
    const bool is_over = std::all_of(list.accesses.begin(), list.accesses.end(), [&](const Access& access) {
      if (access.number < known) return true;
      const bool is_locked = held_.sets().intersection(access.locks, locks) != Locksets::kEmpty;
      passed_locks_ += is_locked;
      return is_locked;
    });
    if (is_over) return false;
  }
  if (!has_progress) keep_progress(0);
  std::uint32_t& passed = progress->passed;
  if (passed < list.accesses.size() && list.accesses[passed].number < known) {
    const auto first = list.accesses.begin() + passed;
    const auto unknown =
        std::partition_point(first, list.accesses.end(), [&](const Access& a) { return a.number < known; });
    passed_order_ += static_cast<std::uint64_t>(unknown - first);
    passed += static_cast<std::uint32_t>(unknown - first);
  }
  bool included = false;
  for (; passed < list.accesses.size(); ++passed) {
    if (options().is_cancelled()) return false;
    const Access& access = list.accesses[passed];
    if (held_.sets().intersection(access.locks, locks) != Locksets::kEmpty) {
      ++passed_locks_;
      continue;
    }
    Cut& cut = progress->ideal;
    if (cut.empty()) {
      cut.assign(lives_.threads().size(), 1);
      bytes_ += cut.size() * sizeof(std::uint32_t);
    }
    ++ideals_;
    if (!included) include(cut, *self.time.now().block(), slot, self.time.own().value());
    included = true;
    include(cut, *access.before, list.slot, access.number);
    close(cut);
    if (options().is_cancelled()) return false;  // it may not be closed
    if (cut[list.slot.index()] > access.number) {
      ++passed_ideal_;
      continue;
    }
    ++races_;
    Event earlier;
    earlier.kind = list.kind;
    earlier.thread = lives_.slots().tenant(list.slot, Clock(access.number));
    earlier.object = event.object;
    earlier.site = list.site;
    report(RacyEvent{access.index, earlier}, RacyEvent{index, event}, {}, {cut.begin(), cut.end()},
           lives_.shared_slots());
    bytes_ += sizeof(Race) + cut.size() * sizeof(std::uint64_t);
    return true;
  }
  return false;
}

SyncPreserving::List* SyncPreserving::list_of(Location& location, Slot slot, const Event& event) {
  const std::uint64_t key = key_of(slot, event.site, event.kind);
  auto key_at = [&](std::uint32_t i) {
    const List& list = location.lists[i];
    return key_of(list.slot, list.site, list.kind);
  };
  if (location.index != nullptr) {
    const std::uint32_t found = location.index->find(key, key_at);
    return found == SiteIndex::kNone ? nullptr : &location.lists[found];
  }
  for (std::uint32_t i = 0; i < location.lists.size(); ++i) {
    if (key_at(i) == key) return &location.lists[i];
  }
  return nullptr;
}

SyncPreserving::List& SyncPreserving::add_list(Location& location, Slot slot, const Event& event) {
  location.lists.push_back(List{slot, event.site, event.kind, 0, {}, {}});
  bytes_ += sizeof(List);
  if (location.lists.size() < SiteIndex::worthwhile) return location.lists.back();
  std::size_t from = location.lists.size() - 1;
  if (location.index == nullptr) {
    location.index = std::make_unique<SiteIndex>();
    from = 0;
  } else {
    bytes_ -= location.index->bytes();
  }
  for (std::size_t i = from; i < location.lists.size(); ++i) {
    const List& list = location.lists[i];
    location.index->add(list.site, list.kind == EventKind::kWrite, [&](std::uint32_t at) {
      const List& other = location.lists[at];
      return key_of(other.slot, other.site, other.kind);
    });
  }
  bytes_ += location.index->bytes();
  return location.lists.back();
}

void SyncPreserving::on_access(EventIndex index, const Event& event) {
  Thread& self = thread(event.thread);
  Location& location = this->location(event.object);
  const LocksetId locks = held_.held(event.thread);
  const bool write = event.kind == EventKind::kWrite;

  auto meet = [&](List& list) {
    if (list.slot == self.time.self() || (!write && list.kind == EventKind::kRead)) return;
    // Everything in the list is before this access.
    if (list.accesses.back().number < self.time.at(list.slot).value()) return;
    if (pairs_.contains(list.site, event.site)) return;
    if (can_race(list, index, event, locks)) pairs_.insert(list.site, event.site);
  };
  const SiteIndex* sites = location.index.get();
  auto unknown = [&] {
    return sites->count_unknown(true, event.site, pairs_) +
           (write ? sites->count_unknown(false, event.site, pairs_) : 0);
  };
  // Along the list when most of it is to be looked at anyway: that is the faster way then.
  if (sites != nullptr && sites->has_rows() && unknown() <= location.lists.size() / 2) {
    auto meet_number = [&](std::uint32_t i) { meet(location.lists[i]); };
    sites->for_each_unknown(/*is_write=*/true, event.site, pairs_, meet_number);
    if (write) sites->for_each_unknown(/*is_write=*/false, event.site, pairs_, meet_number);
  } else {
    for (List& list : location.lists) meet(list);
  }
  List* mine = list_of(location, self.time.self(), event);
  if (mine == nullptr) mine = &add_list(location, self.time.self(), event);
  if (write || mine->stretch != self.stretch) {
    const std::size_t before = mine->accesses.capacity();
    mine->accesses.push_back(Access{index, self.time.own().value(), locks, keep(self.time)});
    bytes_ += (mine->accesses.capacity() - before) * sizeof(Access);
    mine->stretch = self.stretch;
  }

  if (!write) {
    if (!location.last_write.empty()) self.time.join(location.last_write);
    self.time.tick();
    return;
  }
  self.time.tick();
  ++self.stretch;
  location.last_write = self.time.now();
}

Statistics SyncPreserving::statistics() const {
  return {{"passed by order", passed_order_},
          {"passed by common locks", passed_locks_},
          {"passed by ideals", passed_ideal_},
          {"ideals", ideals_},
          {"rounds of closing", rounds_},
          {"slots", lives_.slots().size()},
          {"races", races_}};
}

}  // namespace deadheat::detect
