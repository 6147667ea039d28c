// What missing code may have done: the acts of BarrierPairs, found in one pass over the trace.
//
// The definition (docs/prediction.md, testing/explorer.h) lets every open BarrierPair act at every moment.
// Most of these acts say nothing new: between two events that have nothing to do with a call, all its acts
// are one. And acts of calls that are open at the same time and can reach a common location (or are nested in
// one thread) come in every order at every moment, so that together they are one act of all these threads. So
// this pass keeps the open calls in *groups* connected by common locations, and makes one act of a group
// before each event that concerns it: an event of a member's thread, or an operation on a reachable object.
//
// Sets of reachable locations are shared between calls and never copied; a call looks once at those members
// of its set that anything else in the trace can touch, and after that only at what was touched since the
// last act.
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
};

class BarrierActs {
 public:
  BarrierActs(std::span<const Event> events, const Names& names);

  // The acts that come before event number `index`; the first gets the number `next`. `after` receives those
  // that the event itself must come after although they are not of its thread.
  void before(std::uint64_t index, Node next, std::vector<Act>& acts, std::vector<Node>& after);
  // The event has become `node`.
  void done(std::uint64_t index, Node node);

  // Has missing code ever acted on this location?
  bool acted_on(std::uint32_t location) const { return objects_[location].last_act != kNoNode; }

 private:
  struct Call {
    std::uint32_t thread = 0;
    std::uint32_t set = 0;
    std::uint32_t group = 0;
    bool fresh = true;  // has not acted yet
  };
  struct Group {
    bool due = true;  // something concerned it since its last act
    Node last_act = kNoNode;
    std::vector<std::uint32_t> touched;  // objects touched since its last act
  };
  // A location of some set, and whatever else has its name.
  struct Object {
    Node last_act = kNoNode;  // of calls that are over, and the first one of open calls
    std::vector<std::pair<std::uint32_t, Node>> touches;  // since then: thread, and the last of it
  };

  void objects_of(std::uint64_t index, std::vector<std::uint32_t>& objects) const;
  bool reaches(std::uint32_t set, std::uint32_t object) const;
  bool overlap(std::uint32_t one, std::uint32_t other);
  bool linked(const Call& one, const Call& other);
  const std::vector<std::uint32_t>& active_members(std::uint32_t set);
  void regroup(std::uint32_t group);
  Act act(std::uint32_t group, Node node);

  std::span<const Event> events_;
  const Names& names_;
  std::vector<std::uint64_t> first_, last_;  // events of each thread
  std::vector<std::uint32_t> thread_object_, lock_object_, message_object_;
  std::vector<std::uint32_t> thread_of_object_;
  std::vector<char> reachable_;      // by location
  std::vector<std::uint32_t> uses_;  // of an object: events that touch it and sets that contain it, at most 2
  std::vector<Object> objects_;      // by location
  std::vector<Call> open_;
  std::vector<std::uint32_t> open_calls_;  // per thread
  std::vector<char> ended_;                // per thread
  std::unordered_map<std::uint32_t, Group> groups_;
  std::uint32_t next_group_ = 0;
  std::unordered_map<std::uint64_t, bool> overlaps_;
  std::vector<std::optional<std::vector<std::uint32_t>>> active_;
  std::vector<std::uint32_t> scratch_;
};

}  // namespace deadheat::detect
