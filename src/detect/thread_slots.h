// Places in vector clocks, given to threads for their lifetime.
//
// A program that starts a thread for every request has few threads at a time and millions in the end. A
// vector clock with a place for every thread that ever was would make memory and time follow the past. So
// threads get *slots*: a thread that is over, has been joined, and is known to the one who starts the next
// thread leaves its slot to that one. The new tenant's clock goes on where the old one's ended.
//
// Why this is exact, and no approximation of any kind: the tenants of a slot are a chain. Each is ordered
// after the whole of the one before it (its end, the join, the fork), in every order that contains program
// order, fork and join. So "knows clock c of slot s" says what it always said: whoever knows a clock of the
// later tenant knows all of the earlier one, and accesses of two tenants of one slot are never unordered. A
// slot is never given to a thread that is not ordered after all of its former tenants.
//
// What stays of a thread that is over: which slot it had, and from which clock on (for naming it in reports,
// a search by slot and clock finds it), here; and, for a while, what it knew at its end, in case it is joined
// once more (thread_lives.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/strong_id.h"

namespace deadheat::detect {

using Slot = StrongId<struct SlotTag, std::uint32_t>;

class ThreadSlots {
 public:
  static constexpr Slot kNone = Slot(~std::uint32_t{0});

  // The thread's slot; kNone if it has none yet, or is over.
  Slot of(ThreadId thread) const { return thread.index() < now_.size() ? now_[thread.index()] : kNone; }
  std::size_t size() const { return slots_.size(); }

  // A slot of its own, for a thread that nobody started. Its clock starts at first_clock().
  Slot add(ThreadId thread) {
    slots_.emplace_back();
    return move_in(thread, Slot(static_cast<std::uint32_t>(slots_.size() - 1)), Clock(1));
  }

  // For a thread that is started: the slot of a thread that is over and all of which `known(slot, last
  // clock)` to the one who starts it, if there is one.
  template <class Known>
  Slot add_child(ThreadId child, const Known& known) {
    for (std::size_t i = free_.size(); i-- > 0;) {
      const Free empty = free_[i];
      if (empty.last.value() > kHighest || !known(empty.slot, empty.last)) continue;
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return move_in(child, empty.slot, Clock(empty.last.value() + 1));
    }
    return add(child);
  }

  // The thread, joined, did nothing after `last`.
  void end(ThreadId thread, Clock last) {
    free_.push_back(Free{of(thread), last});
    now_[thread.index()] = kNone;
  }

  // The first clock of the slot's present tenant.
  Clock first_clock(Slot slot) const { return slots_[slot.index()].back().first; }

  // Who had `slot` at `clock`. REQUIRES: somebody.
  ThreadId tenant(Slot slot, Clock clock) const {
    const std::vector<Tenant>& tenants = slots_[slot.index()];
    const auto after = std::partition_point(tenants.begin(), tenants.end(),
                                            [&](const Tenant& tenant) { return tenant.first <= clock; });
    DEADHEAT_CHECK(after != tenants.begin());
    return (after - 1)->thread;
  }

  // Calls visit(thread, slot, first clock) for every stay of a thread in a slot.
  template <class Visit>
  void for_each_stay(const Visit& visit) const {
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
      for (const Tenant& tenant : slots_[slot]) visit(tenant.thread, Slot(slot), tenant.first);
    }
  }

  std::uint64_t bytes() const {
    return now_.capacity() * sizeof(Slot) + slots_.capacity() * sizeof(slots_[0]) + stays_ * sizeof(Tenant);
  }

 private:
  struct Tenant {
    Clock first;
    ThreadId thread;
  };
  struct Free {
    Slot slot;
    Clock last;
  };
  // Clocks have 32 bits; a slot that has used half of them is not given away again.
  static constexpr std::uint32_t kHighest = std::uint32_t{1} << 31;

  Slot move_in(ThreadId thread, Slot slot, Clock first) {
    if (thread.index() >= now_.size()) now_.resize(std::max(thread.index() + 1, now_.size() * 2), kNone);
    now_[thread.index()] = slot;
    slots_[slot.index()].push_back(Tenant{first, thread});
    ++stays_;
    return slot;
  }

  std::vector<Slot> now_;                   // by thread
  std::vector<std::vector<Tenant>> slots_;  // tenants, in order
  std::vector<Free> free_;
  std::uint64_t stays_ = 0;
};

}  // namespace deadheat::detect
