// The lives of threads, for every detector that keeps something by slot (thread_slots.h): a thread appears or
// is forked, moves into a slot, hands over what it knows, is joined, and leaves.
//
// What a thread knew at its end is handed to the one who joins it. Somebody else may join it as well
// (Java's programs do), at any later time. Two things make that exact without keeping what every thread ever
// knew at its end, a row of clocks each:
//  - time is transitively closed: whoever knows a thread's last clock knows all that it knew. So for a thread
//  that is over, its slot and last clock are kept, and a second join by one who knows that clock, which is
//  what a program's second joins nearly always are, teaches nothing;
//  - the others need the row, and the rows of the threads that were joined last are kept, `kMostEndBytes` of
//  them. One who joins a thread that was joined longer ago, by another, and has heard of neither, cannot be
//  answered: forgotten() names the thread, and the detector gives up with a message rather than leave out an
//  order and report a race that is none.
//
// Thread is what the detector keeps by slot: Thread(pool, slot, first clock); reset(pool, slot, first clock)
// for the next tenant; now(), what it can hand over, with slot(), own() and bytes(); join(handed), false if
// that taught nothing; knows(slot, clock); own().
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "detect/thread_slots.h"

namespace deadheat::detect {

class ClockPool;

template <class Thread>
class ThreadLives {
 public:
  using Handed = decltype(std::declval<Thread&>().now());
  static constexpr std::uint64_t kMostEndBytes = std::uint64_t{16} << 20;

  explicit ThreadLives(ClockPool& pool, std::uint64_t most_end_bytes = kMostEndBytes)
      : pool_(pool), most_end_bytes_(most_end_bytes) {}

  // The thread, which appears if it was not there. Valid until another one appears.
  Thread& of(ThreadId thread) {
    const Slot slot = slots_->of(thread);
    return threads_[(slot == ThreadSlots::kNone ? appear(thread) : slot).index()];
  }

  // What `now` says is known to the child from its first event on; false if it taught nothing. `parent` is
  // there already.
  bool fork(ThreadId parent, ThreadId child, const Handed& now) {
    if (slots_->of(child) == ThreadSlots::kNone && !is_over(child)) {
      const Thread& self = of(parent);
      move_in(slots_->add_child(child, [&](Slot slot, Clock last) { return self.knows(slot, last); }));
    }
    return of(child).join(now);
  }

  enum class Joined { kNothingToLearn, kKnown, kLearned };
  // Nothing is known of a thread that is joined before it does anything; one may be joined twice.
  Joined join(ThreadId thread, ThreadId child) {
    if (const Slot slot = slots_->of(child); slot != ThreadSlots::kNone) end(child, slot);
    if (!is_over(child)) return Joined::kNothingToLearn;
    const End& over = over_[child.index()];
    Thread& self = of(thread);
    if (self.knows(over.slot, over.last)) return Joined::kKnown;
    const auto end = ends_.find(child.value());
    if (end == ends_.end()) {
      if (!forgotten_) forgotten_ = child;
      return Joined::kNothingToLearn;
    }
    return self.join(end->second) ? Joined::kLearned : Joined::kKnown;
  }

  // A thread that was joined once more when nobody remembered what it knew at its end.
  std::optional<ThreadId> forgotten() const { return forgotten_; }

  const ThreadSlots& slots() const { return *slots_; }
  // For those who name threads after the detector is gone.
  std::shared_ptr<const ThreadSlots> shared_slots() const { return slots_; }
  std::vector<Thread>& threads() { return threads_; }
  const std::vector<Thread>& threads() const { return threads_; }
  // Without the clocks that threads and handed things hold.
  std::uint64_t bytes() const {
    return slots_->bytes() + over_.capacity() * sizeof(End) + threads_.capacity() * sizeof(Thread) +
           ends_.size() * (sizeof(Handed) + kEntry);
  }

 private:
  struct End {
    Slot slot = ThreadSlots::kNone;
    Clock last;
  };

  static constexpr std::uint64_t kEntry = 64;  // in a map and in a list
  static std::uint64_t cost(const Handed& end) { return end.bytes() + sizeof(Handed) + kEntry; }

  bool is_over(ThreadId thread) const {
    return thread.index() < over_.size() && over_[thread.index()].slot != ThreadSlots::kNone;
  }

  // A thread that acts without having been forked; or, in a trace that no program can have made, after it was
  // joined.
  Slot appear(ThreadId thread) {
    const Slot slot = move_in(slots_->add(thread));
    if (!is_over(thread)) return slot;
    if (const auto end = ends_.find(thread.value()); end != ends_.end()) {
      threads_[slot.index()].join(end->second);
    } else if (!forgotten_) {
      forgotten_ = thread;
    }
    return slot;
  }

  Slot move_in(Slot slot) {
    const Clock first = slots_->first_clock(slot);
    if (slot.index() == threads_.size()) {
      threads_.emplace_back(pool_, slot, first);
    } else {
      threads_[slot.index()].reset(pool_, slot, first);
    }
    return slot;
  }

  void end(ThreadId thread, Slot slot) {
    Thread& self = threads_[slot.index()];
    if (thread.index() >= over_.size()) over_.resize(std::max(thread.index() + 1, over_.size() * 2));
    over_[thread.index()] = End{slot, self.own()};
    Handed now = self.now();
    end_bytes_ += cost(now);
    if (const auto [at, is_new] = ends_.try_emplace(thread.value(), now); !is_new) {
      end_bytes_ -= cost(at->second);  // it has lived twice: no program's trace
      at->second = std::move(now);
    } else {
      order_.push_back(thread);
    }
    while (end_bytes_ > most_end_bytes_ && order_.size() > 1) {
      const auto oldest = ends_.find(order_.front().value());
      end_bytes_ -= cost(oldest->second);
      ends_.erase(oldest);
      order_.pop_front();
    }
    slots_->end(thread, self.own());
    self.reset(pool_, slot, Clock(1));
  }

  ClockPool& pool_;
  std::uint64_t most_end_bytes_;
  std::shared_ptr<ThreadSlots> slots_ = std::make_shared<ThreadSlots>();
  std::vector<Thread> threads_;                     // by slot
  std::vector<End> over_;                           // by thread
  std::unordered_map<std::uint32_t, Handed> ends_;  // by thread: what those that were joined last knew
  std::deque<ThreadId> order_;                      // of ends_, the oldest first
  std::uint64_t end_bytes_ = 0;
  std::optional<ThreadId> forgotten_;
};

// What was sent under each name: the last send of each slot says it all.
template <class Handed>
class SentMessages {
 public:
  void send(ObjectId message, Handed now) {
    if (message.index() >= senders_.size())
      senders_.resize(std::max(message.index() + 1, senders_.size() * 2));
    std::vector<Handed>& senders = senders_[message.index()];
    const auto mine = std::find_if(senders.begin(), senders.end(),
                                   [&](const Handed& earlier) { return earlier.slot() == now.slot(); });
    if (mine == senders.end()) {
      senders.push_back(std::move(now));
    } else {
      *mine = std::move(now);
    }
  }
  const std::vector<Handed>& to(ObjectId message) const {
    static const std::vector<Handed> none;
    return message.index() < senders_.size() ? senders_[message.index()] : none;
  }

 private:
  std::vector<std::vector<Handed>> senders_;
};

}  // namespace deadheat::detect
