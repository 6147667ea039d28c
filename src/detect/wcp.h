// wcp: races unordered by weak causal precedence.
#pragma once

#include <cstdint>
#include <vector>

#include "detect/clocks.h"
#include "detect/detector.h"
#include "detect/held_locks.h"
#include "detect/site_history.h"
#include "detect/thread_slots.h"

namespace deadheat::detect {

class WeakCausalPrecedence final : public Stage {
 public:
  explicit WeakCausalPrecedence(StageContext context) : Stage(std::move(context)) {}
  void on_event(EventIndex index, const Event& event) override;
  void on_batch(EventIndex first, std::span<const Event> events) override;
  Statistics statistics() const override;
  std::uint64_t memory_bytes() const override;

 private:
  // What is known of each thread, without a clock of its own: the P of the paper.
  class Known {
   public:
    explicit Known(ClockPool& pool) : pool_(&pool) {}
    Clock at(Slot slot) const { return Clock(slot.value() < row_.size() ? row_[slot.value()] : 0); }
    void join(const Moment& moment);
    Moment now();
    std::uint64_t bytes() const { return row_.capacity() * sizeof(std::uint32_t); }

   private:
    ClockPool* pool_;
    std::vector<std::uint32_t> row_;
    Moment copy_;
    bool changed_ = true;
  };

  // What a thread hands over.
  struct Message {
    Moment hb, hard, wcp;
    Slot slot() const { return hb.slot(); }
    Clock own() const { return hb.own(); }
    std::uint64_t bytes() const { return hb.bytes() + hard.bytes() + wcp.bytes(); }
  };

  struct Held {
    std::uint32_t lock;
    Clock acquired;
    std::uint32_t user;     // this thread's slot's place among the lock's users
    std::uint32_t first;    // the number of this thread's first section among those of its slot
    std::uint32_t section;  // the number this critical section will have among its sections
  };
  struct Thread {
    Thread(ClockPool& pool, Slot self, Clock first)
        : hb(pool, self, first), hard(pool, self, first), wcp(pool) {}
    Slot slot() const { return hb.self(); }
    void reset(ClockPool& pool, Slot self, Clock first) { *this = Thread(pool, self, first); }
    Message now() { return Message{hb.now(), hard.now(), wcp.now()}; }
    // A hard edge. Whoever knows a clock by hard edges knows all three orders of it: they come together.
    bool join(const Message& message) {
      hb.join(message.hb);
      wcp.join(message.wcp);
      return hard.join(message.hard);
    }
    bool knows(Slot other, Clock clock) const { return hard.knows(other, clock); }
    Clock own() const { return hb.own(); }
    ThreadTime hb;    // H: happens-before, with lock edges
    ThreadTime hard;  // program order, fork, join, messages
    Known wcp;        // P: weak causal precedence
    std::vector<Held> held;
  };

  // A critical section that is over.
  struct Section {
    Clock acquired;
    Moment released;  // H of the release
  };
  // The tenants of one slot.
  struct User {
    Slot slot;
    ThreadId thread;                // the last one to take the lock
    std::uint32_t first = 0;        // its first section
    std::vector<Section> sections;  // of all of them
    std::vector<std::uint32_t>
        ordered;  // per user: how many of that user's sections are ordered before this one
  };
  struct Lock {
    Moment hb;
    Moment wcp;
    ThreadId last;
    std::vector<User> users;
  };

  // Of a location: the last critical section of one lock with an access to it, and the last one by another
  // thread than that. Sections are named by their user and number: the release is found there when another
  // thread holds the lock.
  struct InSections {
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::uint32_t user = kNone;
    std::uint32_t section = 0;
    std::uint32_t other_user = kNone;
    std::uint32_t other_section = 0;

    // `first`: earlier sections of the same user are another thread's.
    void add(std::uint32_t by, std::uint32_t first, std::uint32_t number) {
      if (user != by || section < first) {
        other_user = user;
        other_section = section;
        user = by;
      }
      section = number;
    }
  };
  struct InLock {
    std::uint32_t lock;
    InSections reads;
    InSections writes;
  };
  struct Location {
    std::vector<InLock> locks;
    std::uint32_t recent = 0;  // where the last access found its lock
    InLock& in(std::uint32_t lock);
  };
  Thread& thread(ThreadId id) { return lives_.of(id); }
  Lock& lock(ObjectId object);
  static std::uint32_t user_of(Lock& lock, Slot slot, ThreadId thread);
  void on_access(EventIndex index, const Event& event);
  void on_acquire(const Event& event);
  void on_release(const Event& event);
  void tick(Thread& thread);
  void learn(Thread& thread, const Moment& release);
  void order_after(Thread& thread, const Held& held, const InSections& sections);

  ClockPool pool_;
  ThreadLives<Thread> lives_{pool_};
  std::vector<Lock> locks_;
  std::vector<Location> locations_;
  SentMessages<Message> messages_;
  HeldLocks held_;
  SiteHistory history_;
  std::uint64_t user_bytes_ = 0;
  std::uint64_t sections_ = 0;
  std::uint64_t rule_a_ = 0;
  std::uint64_t rule_b_ = 0;
  std::uint64_t races_ = 0;
};

}  // namespace deadheat::detect
