#include "testing/small_traces.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace deadheat::testing {
namespace {

// Not <random>: its distributions differ between libraries.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  int below(int bound) {  // splitmix64
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return static_cast<int>(((z ^ z >> 31) >> 33) % static_cast<std::uint64_t>(bound));
  }
  bool chance(double p) { return below(1000) < static_cast<int>(p * 1000); }

 private:
  std::uint64_t state_;
};

class Generator {
 public:
  Generator(std::uint64_t seed, const SmallTraceShape& shape) : dice_(seed), shape_(shape) {
    thread_count_ = 2 + dice_.below(shape.max_threads - 1);
    lock_count_ = dice_.below(shape.max_locks + 1);
    location_count_ = 1 + dice_.below(shape.max_locations);
    events_ = shape.min_events + dice_.below(shape.max_events - shape.min_events + 1);
    for (int i = 0; i < thread_count_; ++i) trace_.names.threads.intern("T" + std::to_string(i));
    for (int i = 0; i < lock_count_; ++i) trace_.names.locks.intern("l" + std::to_string(i));
    for (int i = 0; i < location_count_; ++i) trace_.names.locations.intern("x" + std::to_string(i));
    trace_.names.messages.intern("m");
    trace_.names.functions.intern("f");
    threads_.resize(static_cast<std::size_t>(thread_count_));
    owner_.assign(static_cast<std::size_t>(lock_count_), -1);
    memory_.assign(static_cast<std::size_t>(location_count_), 0);
    // Some programs fork their threads; in others they were all there from the start.
    if (!shape_.joins && !dice_.chance(0.4)) {
      for (Thread& thread : threads_) thread.started = true;
    }
    threads_[0].started = true;
  }

  Trace run() {
    for (int tries = 0; static_cast<int>(trace_.events.size()) < events_ && tries < 200; ++tries) {
      // A thread runs for a while: switches at every event make poor critical sections.
      bool inside = !threads_[static_cast<std::size_t>(current_)].held.empty();
      if (tries == 0 || dice_.chance(shape_.sections && inside ? 0.08 : 0.45))
        current_ = dice_.below(thread_count_);
      step(current_);
    }
    return std::move(trace_);
  }

 private:
  struct Thread {
    bool started = false;
    bool is_new = true;
    bool ended = false;
    bool joined = false;
    std::vector<int> held;
    int open = 0;
    std::vector<std::vector<ObjectId>> reach;
  };

  void emit(int thread, EventKind kind, std::uint64_t object = 0, std::uint64_t value = 0,
            bool has_value = false) {
    Event event;
    event.kind = kind;
    event.thread = ThreadId(static_cast<std::uint32_t>(thread));
    event.object = ObjectId(object);
    event.value = value;
    event.has_value = has_value;
    event.site = SiteId(trace_.names.sites.intern(std::to_string(trace_.events.size())));
    trace_.events.push_back(event);
    if (!shape_.barriers || !dice_.chance(0.3)) return;
    // Missing code at work.
    for (const Thread& other : threads_) {
      for (const auto& set : other.reach) {
        ObjectId target = set[static_cast<std::size_t>(dice_.below(static_cast<int>(set.size())))];
        if (target.index() < memory_.size()) memory_[target.index()] = dice_.below(3);
      }
    }
    if (!shape_.calls_on_locks) return;
    for (int t = 0; t < thread_count_; ++t) {
      for (const auto& set : threads_[static_cast<std::size_t>(t)].reach) {
        for (ObjectId member : set) change_lock(t, member);
      }
    }
  }

  void change_lock(int t, ObjectId member) {
    auto lock =
        trace_.names.locks.find(trace_.names.locations.name(static_cast<std::uint32_t>(member.value())));
    if (!lock || !dice_.chance(0.6)) return;
    int& owner = owner_[*lock];
    auto& held = threads_[static_cast<std::size_t>(t)].held;
    if (owner == -1) {
      owner = t;
      held.push_back(static_cast<int>(*lock));
    } else if (owner == t) {
      held.erase(std::find(held.begin(), held.end(), static_cast<int>(*lock)));
      if (std::find(held.begin(), held.end(), static_cast<int>(*lock)) == held.end()) owner = -1;
    }
  }

  void step(int t) {
    Thread& thread = threads_[static_cast<std::size_t>(t)];
    if (!thread.started) {
      int parent = dice_.below(thread_count_);
      if (!threads_[static_cast<std::size_t>(parent)].started ||
          threads_[static_cast<std::size_t>(parent)].ended)
        return;
      emit(parent, EventKind::kFork, static_cast<std::uint64_t>(t));
      thread.started = true;
      return;
    }
    if (thread.ended) {
      int parent = dice_.below(thread_count_);
      Thread& other = threads_[static_cast<std::size_t>(parent)];
      if (thread.joined || !other.started || other.ended || parent == t) return;
      emit(parent, EventKind::kJoin, static_cast<std::uint64_t>(t));
      thread.joined = !shape_.churn || dice_.chance(0.7);  // some are joined again, by whoever it is
      return;
    }
    if (shape_.churn && t != 0 && std::exchange(thread.is_new, false) && dice_.chance(0.6)) {
      thread.ended = true;  // without having done anything
      return;
    }
    if (shape_.calls_on_threads && std::exchange(thread.is_new, false) && dice_.chance(0.4))
      return barrier(t, thread);
    int roll = dice_.below(100);
    if (shape_.sections && dice_.chance(0.7)) {
      // Short critical sections with a little outside them, so that their order is what matters.
      if (thread.held.empty()) {
        roll = dice_.chance(0.7) ? 40 : 0;
      } else {
        roll = dice_.chance(0.5) ? 60 : dice_.chance(0.25) ? 40 : 0;
      }
    }
    if (shape_.branches && dice_.chance(0.12)) roll = 80;
    if (shape_.joins && dice_.chance(0.15)) roll = 99;
    if (roll < 36) {
      access(t);
    } else if (roll < 56) {
      acquire(t, thread);
    } else if (roll < 76) {
      release(t, thread);
    } else if (roll < 83) {
      if (shape_.branches) emit(t, EventKind::kBranch);
    } else if (roll < 86) {
      if (shape_.messages) emit(t, dice_.chance(0.5) ? EventKind::kSend : EventKind::kReceive, 0);
    } else if (roll < 96) {
      if (shape_.barriers) barrier(t, thread);
    } else if (shape_.calls_on_threads && t != 0 && dice_.chance(0.5)) {
      if (dice_.chance(0.5)) barrier(t, thread);
      if (thread.open > 0 && dice_.chance(0.5)) barrier(t, thread, true);
      if (dice_.chance(0.3)) emit(t, EventKind::kEnd);
      thread.ended = true;
      if (dice_.chance(0.5)) thread.joined = true;  // nobody says so
    } else if (t != 0 && thread.open == 0 && dice_.chance(0.5)) {
      if (dice_.chance(0.5)) emit(t, EventKind::kEnd);
      thread.ended = true;
    }
  }

  void access(int t) {
    int location = dice_.below(location_count_);
    bool has_value = dice_.chance(shape_.values);
    if (dice_.chance(shape_.writes)) {
      memory_[static_cast<std::size_t>(location)] = dice_.below(3);
      emit(t, EventKind::kWrite, static_cast<std::uint64_t>(location), value_of(location, has_value),
           has_value);
    } else {
      emit(t, EventKind::kRead, static_cast<std::uint64_t>(location), value_of(location, has_value),
           has_value);
    }
  }

  std::uint64_t value_of(int location, bool has_value) const {
    return has_value ? static_cast<std::uint64_t>(memory_[static_cast<std::size_t>(location)]) : 0;
  }

  void acquire(int t, Thread& thread) {
    if (lock_count_ == 0) return access(t);
    int lock = dice_.below(lock_count_);
    int owner = owner_[static_cast<std::size_t>(lock)];
    if (owner != -1 && (owner != t || !dice_.chance(0.2))) return access(t);
    owner_[static_cast<std::size_t>(lock)] = t;
    thread.held.push_back(lock);
    emit(t, EventKind::kAcquire, static_cast<std::uint64_t>(lock));
  }

  void release(int t, Thread& thread) {
    if (thread.held.empty()) return access(t);
    std::size_t which = dice_.chance(0.8)
                            ? thread.held.size() - 1
                            : static_cast<std::size_t>(dice_.below(static_cast<int>(thread.held.size())));
    int lock = thread.held[which];
    thread.held.erase(thread.held.begin() + static_cast<std::ptrdiff_t>(which));
    bool still = false;
    for (int other : thread.held) still |= other == lock;
    if (!still) owner_[static_cast<std::size_t>(lock)] = -1;
    emit(t, EventKind::kRelease, static_cast<std::uint64_t>(lock));
  }

  void barrier(int t, Thread& thread, bool leave = false) {
    if (thread.open > 0 && (leave || thread.open == 2 || dice_.chance(0.7))) {
      --thread.open;
      thread.reach.pop_back();
      emit(t, EventKind::kLeave, 0);
      return;
    }
    std::vector<ObjectId> members;
    int count = 1 + dice_.below(2);
    for (int i = 0; i < count; ++i) {
      std::string name =
          "x" + std::to_string(dice_.below(location_count_ + 1));  // perhaps one that nobody accesses
      if (dice_.chance(0.2)) name = "l0";
      if (dice_.chance(0.1)) name = "T1";
      if (dice_.chance(0.05)) name = "m";
      if (shape_.calls_on_locks && lock_count_ > 0 && dice_.chance(0.6))
        name = "l" + std::to_string(dice_.below(lock_count_));
      if (shape_.calls_on_threads && dice_.chance(0.5))
        name = "T" + std::to_string(dice_.below(thread_count_));
      members.push_back(ObjectId(trace_.names.locations.intern(name)));
    }
    ++thread.open;
    thread.reach.push_back(members);
    emit(t, EventKind::kEnter, 0, trace_.names.reachable.intern(members));
  }

  Dice dice_;
  const SmallTraceShape& shape_;
  Trace trace_;
  std::vector<Thread> threads_;
  std::vector<int> owner_;
  std::vector<int> memory_;
  int thread_count_, lock_count_, location_count_, events_;
  int current_ = 0;
};

}  // namespace

Trace small_trace(std::uint64_t seed, const SmallTraceShape& shape) { return Generator(seed, shape).run(); }

}  // namespace deadheat::testing
