// Threads that stand still while the others replay on.
//
// A replay that is to have two threads before chosen accesses at the same time lets each of them run until it
// is there, and then keeps it. The others go on in the recorded order, as long as nothing they do follows
// from something that a kept thread has not done yet: a lock it would have released, an atomic it would have
// written, a thread it would have created, its own end. What follows has to wait, and so is kept as well; if
// that is one of the two, the recorded order does not allow both stops.
//
// Sequencers are numbered in one order of the whole process, which is stricter than what they mean: two of
// them with different objects, in different threads, may as well have happened the other way round. So a kept
// thread's numbers may be passed.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "recording/reader.h"

namespace deadheat::replay {

// Before the access of this number of the thread, as observers see them, from 1.
struct Stop {
  ThreadId thread;
  std::uint64_t access = 0;
};

class Stops {
 public:
  Stops(const recording::Reader& recording, std::vector<Stop> stops)
      : recording_(recording), stops_(std::move(stops)) {}

  const std::vector<Stop>& all() const { return stops_; }
  std::uint64_t access_of(ThreadId thread) const;  // 0: none

  // The thread stays where it is: none of its sequencers from `first_number` on has happened.
  void keep(ThreadId thread, std::uint64_t first_number);
  bool is_kept(ThreadId thread) const { return kept_.contains(thread); }
  bool is_any_kept() const { return !kept_.empty(); }

  // Does this sequencer of `thread` follow from what a kept thread has not done? Asked with growing numbers.
  bool follows(const recording::Sequencer& sequencer);

 private:
  struct Kept {
    recording::ThreadStream stream;
    recording::Item item;  // the next sequencer that has not been looked at
    bool is_over = false;
  };
  void advance(Kept& kept, std::uint64_t before);
  static void find_sequencer(Kept& kept, std::uint64_t first_number);

  const recording::Reader& recording_;
  const std::vector<Stop> stops_;
  std::map<ThreadId, Kept> kept_;
  std::unordered_set<std::uint64_t> objects_;  // that kept threads would have done something with
};

}  // namespace deadheat::replay
