// What missing code may have done: the acts of BarrierPairs, found in one pass over the trace.
//
// The definition (docs/prediction.md, testing/explorer.h) lets every open BarrierPair act at every moment.
// Most of these acts say nothing new: between two events that have nothing to do with a call, all its acts
// are one. And acts of calls that are open at the same time and can reach a common location (or are nested in
// one thread) come in every order at every moment, so that together they are one act of all these threads. So
// this pass keeps the threads with open calls in *groups* connected by common locations, and makes one act of
// a group before each event that concerns it: an event of a member's thread, or an operation on a reachable
// object.
//
// A thread's last event need not be its end: if it never comes back from a call, that call may go on, and end
// the thread, until the trace says that the thread has ended or was joined. So from its last event on such a
// thread has one more open call, which reaches the thread's own name.
//
// What a call can reach is shared, never copied: a thread counts how often each set of locations is open in
// it, and only the first and the last of these calls look at the members, and only at those that anything
// else in the trace can touch. For each object there is a list of the threads that reach it now, and for each
// two threads the number of objects that both reach. So an event finds the groups it concerns by its thread
// and its object, however many calls are open, and a call that ends splits its group only if the last common
// object of two threads goes.
//
// Cost: O(1) per event and thread that reaches its object; per call the size of its set (of its active part),
// once if it is nested in a call with the same set; O(threads of the group) where groups split.
//
// Reference: the BarrierPair model of RDIT (A. Rajagopalan: Fast and precise on-the-fly data race detection,
// thesis, chapter 4). Where this goes further than
// its algorithm 5, and why, is in docs/prediction.md. Tested through rdit_test.cc against the explorer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "detect/budget.h"
#include "trace/event.h"
#include "trace/names.h"

namespace deadheat::detect {

// An event, or an act of missing code, of a causal model; in the order of the trace.
using Node = std::uint32_t;
inline constexpr Node kNoNode = UINT32_MAX;

struct Act {
  std::vector<std::uint32_t> threads;  // whose code acts
  std::vector<Node> after;             // events and acts on the same objects
  std::vector<std::uint32_t> ends;     // threads that have ended, as it may have noticed
  std::vector<std::uint32_t>
      locations;  // touched since the last act on them: what they hold is looked at and changed
  // Thread and lock: from here on its missing code can take and release this lock.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> locks;
};

class BarrierActs {
 public:
  // Ready only if the budget was not over meanwhile.
  BarrierActs(std::span<const Event> events, const Names& names, BudgetWatch& watch);

  // The acts that come before event number `index`; the first gets the number `next`. `after` receives those
  // that the event itself must come after although they are not of its thread.
  void before(std::uint64_t index, Node next, std::vector<Act>& acts, std::vector<Node>& after);
  // The event has become `node`.
  void done(std::uint64_t index, Node node);

  // Has missing code ever acted on this location?
  bool acted_on(std::uint32_t location) const { return objects_[location].last_act != kNoNode; }
  // Has `thread` an open call that can reach the lock?
  bool reaches(std::uint32_t thread, std::uint32_t lock) const;

 private:
  // A thread, as far as its open calls are concerned.
  struct Caller {
    std::vector<std::uint32_t> calls;                           // sets of the open calls, innermost last
    std::unordered_map<std::uint32_t, std::uint32_t> open;      // how often each set is among them
    std::vector<std::uint32_t> fresh;                           // sets that have not acted yet
    std::unordered_map<std::uint32_t, std::uint64_t> partners;  // thread -> objects that both reach
    std::uint32_t group = 0;                                    // if it has open calls
  };
  struct Group {
    bool due = true;  // something concerned it since its last act
    Node last_act = kNoNode;
    std::vector<std::uint32_t> threads;
    std::vector<std::uint32_t>
        touched;  // objects touched since its last act; doubles and strangers are skipped
  };
  // A location of some set, and whatever else has its name.
  struct Object {
    Node last_act = kNoNode;  // of calls that are over, and the first one of open calls
    std::vector<std::pair<std::uint32_t, Node>> touches;           // since then: thread, and the last of it
    std::vector<std::pair<std::uint32_t, std::uint32_t>> reached;  // by which thread, through how many sets
    bool is_touched = false;                                       // in the list of its group
  };

  void objects_of(std::uint64_t index, std::vector<std::uint32_t>& objects) const;
  const std::vector<std::uint32_t>& active_members(std::uint32_t set);
  void enter(std::uint32_t thread, std::uint32_t set);
  void leave(std::uint32_t thread, Node last_act);
  void leave_all(std::uint32_t thread);
  std::uint32_t merge(std::uint32_t one, std::uint32_t other);
  void split(std::uint32_t group);
  Act act(std::uint32_t id, Node node);

  std::span<const Event> events_;
  const Names& names_;
  std::vector<std::uint64_t> first_, last_;  // events of each thread
  std::vector<std::uint32_t> thread_object_, lock_object_, message_object_;
  std::vector<std::uint32_t> thread_of_object_, lock_of_object_;
  std::vector<char> reachable_;      // by location
  std::vector<std::uint32_t> uses_;  // of an object: events that touch it and sets that contain it, at most 2
  std::vector<Object> objects_;      // by location
  std::vector<Caller> callers_;      // by thread
  std::vector<char> ended_;          // per thread
  std::unordered_map<std::uint32_t, Group> groups_;
  std::uint32_t next_group_ = 0;
  // By set; after the sets of the trace, one for each thread: its own name.
  std::vector<std::optional<std::vector<std::uint32_t>>> active_;
};

}  // namespace deadheat::detect
