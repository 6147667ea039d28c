// Weak causal precedence ("Dynamic Race Prediction in Linear Time", Kini, Mathur, Viswanathan).
//
// The order: (a) a release is before a later event in a critical section of the same lock that conflicts with
// an event in the released one; (b) a release is before a later release of the same lock if an event of the
// one critical section is before an event of the other; (c) whatever is composed with happens-before on
// either side is in the order. Two conflicting accesses race if neither this nor the hard order (program
// order, fork, join, messages) orders them.
//
// Promise: two sites are reported if and only if the trace has two conflicting accesses at them that are not
// ordered; each pair of sites once. If anything is reported, some schedule has a race or a deadlock, and the
// first pair is such a race or part of such a deadlock; later pairs can be artefacts. So wcp is *not* sound
// in the sense of this project: use it to find candidates cheaply, and syncp or mcm to be sure.
//
// The paper leaves out fork, join and messages. They order without being part of (a) and (b), but an event
// that is before another by the hard order counts as before it in (b): if the acquire of one critical section
// must precede an event of the other, so must the section. The hard order is not composed with lock edges,
// which is why there is a third clock beside H and P.
//
// The algorithm, with H (happens-before) and P (this order) per thread as in the paper:
//  - the times H of the releases of one lock grow along the trace. So for (a) only the last release by
//  another thread
//    counts, for each location and lock, and for (b) only the last section that qualifies, for each thread;
//  - for (b) each lock keeps the critical sections of each of its users, and each user how many of every
//  other's sections
//    are ordered before it. The count only grows, so a release costs O(users) plus the sections it passes;
//  - P of a release is composed with happens-before by handing it on with the lock.
//
// Cost: O(users of the lock) per release, O(locks held) per access. Memory grows with the number of critical
// sections: inherent, as the paper proves a linear lower bound for one pass. About 40 bytes a section and,
// where its thread had learned something, a row of clocks. Tested against the naive fixpoint of the
// definition on all small traces and on random ones.
#include "detect/wcp.h"

#include <algorithm>
#include <cstring>

#include "detect/ahead.h"

namespace deadheat::detect {

void WeakCausalPrecedence::Known::join(const Moment& moment) {
  if (moment.empty()) return;
  ClockPool::Block* block = moment.block();
  const bool has_own = moment.own().value() != 0;
  const std::size_t size = std::max<std::size_t>(block->size, has_own ? moment.slot().index() + 1 : 0);
  if (row_.size() < size) row_.resize(size);
  const std::uint32_t* other = block->clocks();
  std::uint32_t different = 0;
  for (std::uint32_t i = 0; i < block->size; ++i) {
    const std::uint32_t larger = std::max(row_[i], other[i]);
    different |= larger ^ row_[i];
    row_[i] = larger;
  }
  if (has_own && row_[moment.slot().index()] < moment.own().value()) {
    row_[moment.slot().index()] = moment.own().value();
    different = 1;
  }
  changed_ |= different != 0;
}

Moment WeakCausalPrecedence::Known::now() {
  if (changed_ || copy_.empty()) {
    ClockPool::Block* block = pool_->allocate(static_cast<std::uint32_t>(row_.size()));
    if (!row_.empty()) std::memcpy(block->clocks(), row_.data(), row_.size() * sizeof(std::uint32_t));
    // No thread: there is no own clock to add.
    copy_ = Moment(pool_, block, ThreadSlots::kNone, Clock(0));
    changed_ = false;
  }
  return copy_;
}

WeakCausalPrecedence::InLock& WeakCausalPrecedence::Location::in(std::uint32_t lock) {
  if (recent < locks.size() && locks[recent].lock == lock) return locks[recent];
  for (recent = 0; recent < locks.size(); ++recent) {
    if (locks[recent].lock == lock) return locks[recent];
  }
  locks.push_back(InLock{lock, {}, {}});
  return locks.back();
}

WeakCausalPrecedence::Lock& WeakCausalPrecedence::lock(ObjectId object) {
  if (object.index() >= locks_.size()) locks_.resize(std::max(object.index() + 1, locks_.size() * 2));
  return locks_[object.index()];
}

std::uint32_t WeakCausalPrecedence::user_of(Lock& lock, Slot slot, ThreadId thread) {
  std::uint32_t i = 0;
  while (i < lock.users.size() && lock.users[i].slot != slot) ++i;
  if (i == lock.users.size()) lock.users.push_back(User{slot, thread, 0, {}, {}});
  User& user = lock.users[i];
  if (user.thread != thread) {
    user.thread = thread;
    user.first = static_cast<std::uint32_t>(user.sections.size());
  }
  return i;
}

void WeakCausalPrecedence::tick(Thread& thread) {
  thread.hb.tick();
  thread.hard.tick();
}

// `release` is ordered before what the thread does now.
void WeakCausalPrecedence::learn(Thread& thread, const Moment& release) {
  // Composition with happens-before on the left: who knows the release knows all that was before it.
  if (release.empty() || thread.wcp.at(release.slot()) >= release.own()) return;
  thread.wcp.join(release);
}

void WeakCausalPrecedence::on_batch(EventIndex first, std::span<const Event> events) {
  look_ahead(
      first, events,
      [&](const Event& event) {
        history_.fetch_location(event);
        if (event.object.index() < locations_.size()) __builtin_prefetch(&locations_[event.object.index()]);
      },
      [&](const Event& event) {
        history_.fetch_entries(event);
        if (event.object.index() >= locations_.size()) return;
        const Location& location = locations_[event.object.index()];
        __builtin_prefetch(location.locks.data() + location.recent);
      },
      [&](EventIndex index, const Event& event) { WeakCausalPrecedence::on_event(index, event); });
}

void WeakCausalPrecedence::on_event(EventIndex index, const Event& event) {
  if (failure()) return;
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
      on_access(index, event);
      break;
    case EventKind::kAcquire:
      if (held_.on_lock(event)) on_acquire(event);
      break;
    case EventKind::kRelease:
      if (held_.on_lock(event)) on_release(event);
      break;
    case EventKind::kFork:
    case EventKind::kJoin: {
      const ThreadId other(static_cast<std::uint32_t>(event.object.value()));
      if (other == event.thread) break;
      if (event.kind == EventKind::kFork) {
        lives_.fork(event.thread, other, thread(event.thread).now());
        tick(thread(event.thread));
      } else {
        lives_.join(event.thread, other);
        if (lives_.forgotten()) give_up_on(*lives_.forgotten());
      }
      break;
    }
    case EventKind::kSend: {
      Thread& self = thread(event.thread);
      messages_.send(event.object, self.now());
      tick(self);
      break;
    }
    case EventKind::kReceive: {
      Thread& self = thread(event.thread);
      for (const Message& message : messages_.to(event.object)) self.join(message);
      break;
    }
    default:
      break;
  }
}

void WeakCausalPrecedence::on_acquire(const Event& event) {
  Thread& self = thread(event.thread);
  Lock& lock = this->lock(event.object);
  self.hb.join(lock.hb);
  if (!lock.wcp.empty() && lock.last != event.thread) self.wcp.join(lock.wcp);
  const std::uint32_t user = user_of(lock, self.slot(), event.thread);
  self.held.push_back(Held{static_cast<std::uint32_t>(event.object.value()), self.hb.own(), user,
                           lock.users[user].first,
                           static_cast<std::uint32_t>(lock.users[user].sections.size())});
}

void WeakCausalPrecedence::on_release(const Event& event) {
  Thread& self = thread(event.thread);
  Lock& lock = this->lock(event.object);
  const std::uint32_t number = static_cast<std::uint32_t>(event.object.value());
  const auto held =
      std::find_if(self.held.begin(), self.held.end(), [&](const Held& h) { return h.lock == number; });

  // Rule (b): sections of this lock with an acquire that is ordered before this release.
  User* const me = &lock.users[held->user];
  if (me->ordered.size() < lock.users.size()) {
    const std::size_t before = me->ordered.capacity();
    me->ordered.resize(lock.users.size());
    user_bytes_ += (me->ordered.capacity() - before) * sizeof(std::uint32_t);
  }
  bool again = lock.users.size() > 1 || !me->sections.empty();
  while (again) {
    again = false;
    for (std::size_t i = 0; i < lock.users.size(); ++i) {
      const User& other = lock.users[i];
      // Program order is no reason, hard order of other threads is: those that had this slot before, too.
      const Clock hard = other.slot == self.slot()
                             ? Clock(lives_.slots().first_clock(self.slot()).value() - 1)
                             : self.hard.at(other.slot);
      const Clock known = std::max(self.wcp.at(other.slot), hard);
      std::uint32_t& ordered = me->ordered[i];
      const std::uint32_t before = ordered;
      while (ordered < other.sections.size() && other.sections[ordered].acquired <= known) ++ordered;
      if (ordered == before) continue;
      ++rule_b_;
      learn(self, other.sections[ordered - 1].released);
      again = true;
    }
  }

  const Moment released = self.hb.now();
  me->sections.push_back(Section{held->acquired, released});
  ++sections_;
  lock.hb = released;
  lock.wcp = self.wcp.now();
  lock.last = event.thread;
  self.held.erase(held);
  tick(self);
}

// Rule (a): the releases of these sections are before what the thread does now.
void WeakCausalPrecedence::order_after(Thread& thread, const Held& held, const InSections& sections) {
  const bool last_is_mine = sections.user == held.user && sections.section >= held.first;
  const std::uint32_t user = last_is_mine ? sections.other_user : sections.user;
  if (user == InSections::kNone) return;
  const std::vector<Section>& over = locks_[held.lock].users[user].sections;
  const std::uint32_t section = last_is_mine ? sections.other_section : sections.section;
  if (section >= over.size()) return;
  ++rule_a_;
  learn(thread, over[section].released);
}

void WeakCausalPrecedence::on_access(EventIndex index, const Event& event) {
  Thread& self = thread(event.thread);
  const bool write = event.kind == EventKind::kWrite;
  if (!self.held.empty()) {
    if (event.object.index() >= locations_.size()) {
      locations_.resize(std::max(event.object.index() + 1, locations_.size() * 2));
    }
    Location& location = locations_[event.object.index()];
    for (const Held& held : self.held) {
      InLock& in_lock = location.in(held.lock);
      order_after(self, held, in_lock.writes);
      if (write) order_after(self, held, in_lock.reads);
      (write ? in_lock.writes : in_lock.reads).add(held.user, held.first, held.section);
    }
  }
  history_.access(
      index, event, self.slot(), self.hb.own(),
      [&](Slot slot, Clock clock) { return self.wcp.at(slot) >= clock || self.hard.knows(slot, clock); },
      [&](const SiteHistory::Entry& other) {
        ++races_;
        report(earlier_event(other, event, lives_.slots()), RacyEvent{index, event});
      });
}

std::uint64_t WeakCausalPrecedence::memory_bytes() const {
  std::uint64_t rows = lives_.bytes() + user_bytes_;
  for (const Thread& thread : lives_.threads())
    rows += thread.hb.bytes() + thread.hard.bytes() + thread.wcp.bytes();
  return rows + pool_.bytes() + history_.bytes() + sections_ * sizeof(Section) +
         locations_.capacity() * sizeof(Location) + held_.bytes();
}

Statistics WeakCausalPrecedence::statistics() const {
  return {{"repeated accesses", history_.repeated()},
          {"looks at earlier accesses", history_.looks()},
          {"critical sections", sections_},
          {"rule a", rule_a_},
          {"rule b", rule_b_},
          {"slots", lives_.slots().size()},
          {"races", races_}};
}

}  // namespace deadheat::detect
