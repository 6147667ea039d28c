// A trace seen as what must hold in every correct reordering of it: the common ground of `mcm` and `rdit`.
//
// Nodes are the events of the trace and, for rdit, the acts of missing code between them (barrier_acts.h),
// numbered in the order of the trace. Each thread is a chain of nodes; an act of several threads lies on
// several chains. A correct reordering executes a prefix of each chain (docs/prediction.md defines it).
//
// A thread that is started by one who has joined another goes on with that one's chain: it comes after all of
// it in every correct reordering. So the number of chains follows the threads that are alive at a time, not
// all that ever were. Wherever this file and its users say thread, a chain is meant, but for the reads that
// what a thread does depends on. (With missing code each thread has a chain of its own: a call may be open at
// its end.)
//
// The model knows what is fixed for the whole trace, so that a candidate pair of accesses costs only what is
// special to it:
//  - hard predecessors: fork, join, messages, acts;
//  - *clocks*: for each node and thread, how many nodes of that thread's chain must have been executed before
//  the node. Beside
//    the hard predecessors they contain what reads need: if all writes that can give a read its value come
//    after some node, then so does whatever depends on the read. They are a lower bound, exact where each
//    read has one write to see;
//  - reads, with the node that they saw and the nodes that depend on them ("committed by");
//  - writes per location. With acts, a location has one *version* for each stretch between two acts on it: no
//  access
//    can move from one version to another, so each version is a location of its own;
//  - critical sections per lock, the outermost ones of a thread that takes a lock again. Missing code that
//  can reach the lock
//    may release and take it for its thread, so a section ends with the first act that can. What it did is
//    known from the trace only where the thread releases the lock afterwards without having taken it: then it
//    held the lock since the call, and whoever takes the lock later in the trace does so after that release
//    in every reordering, because it cannot come before the call. Inside such a call no section is needed:
//    the acts keep all operations on the lock in their order.
//
// Cost: time and memory of nodes x chains.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "detect/barrier_acts.h"
#include "detect/budget.h"
#include "trace/event.h"
#include "trace/names.h"

namespace deadheat::detect {

inline constexpr std::uint32_t kNone = UINT32_MAX;

// Lists of numbers, one for each of many keys, in two arrays. Filled in order of keys or by sorting.
class ListTable {
 public:
  void add(std::uint32_t key, std::uint32_t item) { pending_.push_back({key, item}); }
  void freeze(std::uint32_t keys);
  std::span<const std::uint32_t> at(std::uint32_t key) const {
    return std::span(items_).subspan(starts_[key], starts_[key + 1] - starts_[key]);
  }

 private:
  struct Entry {
    std::uint32_t key, item;
  };
  std::vector<Entry> pending_;
  std::vector<std::uint32_t> starts_, items_;
};

struct ReadRecord {
  Node node = kNoNode;
  std::uint32_t location = kNone;  // a version
  Node saw = kNoNode;              // the write it saw; none: what was there when the version began
  bool has_value = false;          // it says its value, or that is known from what it saw
  std::uint64_t value = 0;
};

struct WriteRecord {
  std::uint32_t location = kNone;  // a version; kNone if the node is no write
  bool has_value = false;          // it says its value, or a read that saw it does
  std::uint64_t value = 0;
  // Reads of its thread before it that nothing before it depends on: reads_of_writer()[begin, end). It is
  // faithful if these see their values.
  std::uint32_t unsettled_begin = 0, unsettled_end = 0;
};

struct CriticalSection {
  std::uint32_t lock = 0;
  std::uint32_t thread = 0;
  Node acquire = kNoNode;
  Node release = kNoNode;  // perhaps an act; none: held to the end of the trace
};

struct ThreadWrites {
  std::uint32_t thread = 0;
  std::vector<Node> writes;
};

struct Version {
  std::uint32_t location = kNone;  // of the trace
  bool starts_at_zero = false;     // not yet changed by missing code
  std::vector<Node> writes;
  std::vector<Node> accesses;
  std::vector<ThreadWrites> by_thread;
  std::unordered_map<std::uint64_t, std::vector<ThreadWrites>> by_value;
};

// Where a read may get what it saw: from any write of the same value, which is the definition; or only from
// the very write it saw, which is stricter and much easier to decide.
enum class Reads { kAnySource, kSameWrite };

struct Chains {
  std::vector<std::uint32_t> of_thread;
  std::uint32_t count = 0;
};
Chains find_chains(std::span<const Event> events, const Names& names, bool barriers);

class CausalModel {
 public:
  // `barriers`: BarrierPairs act; otherwise enter and leave do nothing. When the budget is over before the
  // model is built, there is no model to ask: see is_built().
  CausalModel(std::span<const Event> events, const Names& names, bool barriers, Chains chains,
              const Budget& budget);
  bool is_built() const { return is_built_; }

  // About what the constructor will need for so many events and chains.
  static std::uint64_t memory_needed(std::uint64_t events, std::uint64_t chains) {
    return events * (160 + 8 * chains);
  }

  std::uint32_t threads() const { return thread_count_; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(event_.size()); }
  const std::vector<Node>& chain(std::uint32_t thread) const { return chains_[thread]; }

  bool is_event(Node node) const { return event_[node] != kNone; }
  // REQUIRES: is_event(node).
  std::uint32_t event_index(Node node) const { return event_[node]; }
  const Event& event(Node node) const { return events_[event_[node]]; }
  Node node_of(std::uint64_t event) const { return node_of_[event]; }

  // Thread and position of an event on its chain.
  std::uint32_t thread(Node node) const { return places_[places_start_[node]].thread; }
  std::uint32_t position(Node node) const { return places_[places_start_[node]].position; }
  struct Place {
    std::uint32_t thread, position;
  };
  std::span<const Place> places(Node node) const {
    return std::span(places_).subspan(places_start_[node], places_start_[node + 1] - places_start_[node]);
  }

  std::span<const std::uint32_t> hard_predecessors(Node node) const { return hard_.at(node); }
  std::span<const std::uint32_t> clock(Node node, Reads reads = Reads::kAnySource) const {
    const auto& clocks = reads == Reads::kSameWrite && !observed_clocks_.empty() ? observed_clocks_ : clocks_;
    return std::span(clocks).subspan(std::size_t{node} * thread_count_, thread_count_);
  }
  // Must `before` have been executed before `after`, in every correct reordering that executes `after`?
  bool must_precede(Node before, Node after, Reads reads = Reads::kAnySource) const {
    Place place = places_[places_start_[before]];
    return clock(after, reads)[place.thread] > place.position;
  }
  // Do the two kinds of clocks differ?
  bool has_values() const { return !observed_clocks_.empty(); }

  const std::vector<ReadRecord>& reads() const { return reads_; }
  std::span<const std::uint32_t> reads_at(Node node) const { return reads_at_.at(node); }
  // Reads that the execution of `node` depends on, and that nothing before it depended on.
  std::span<const std::uint32_t> committed_by(Node node) const { return committed_by_.at(node); }
  // The nodes whose execution depends on `read`: one, or the joins of its thread.
  std::span<const std::uint32_t> committers(std::uint32_t read) const { return committers_.at(read); }
  // All reads of the thread, as the trace names it, that made this write.
  const std::vector<std::uint32_t>& reads_of_writer(Node write) const {
    return thread_reads_[event(write).thread.index()];
  }
  const WriteRecord& write(Node node) const { return writes_[node]; }
  const std::vector<Version>& versions() const { return versions_; }

  const std::vector<CriticalSection>& sections() const { return sections_; }
  // The section that the event `node` opens or closes; kNone if it does neither.
  std::uint32_t section_at(Node node) const { return section_at_[node]; }
  // The sections that an act closes.
  std::span<const std::uint32_t> sections_closed_by(Node act) const { return closed_by_.at(act); }
  // Sections of a lock by a thread, in program order.
  std::span<const std::uint32_t> sections_of(std::uint32_t lock, std::uint32_t thread) const {
    return sections_of_.at(lock * thread_count_ + thread);
  }
  std::uint32_t locks() const { return lock_count_; }
  // Sections that `thread` is in after the first `executed` nodes of its chain.
  const std::vector<std::uint32_t>& open_sections(std::uint32_t thread, std::uint32_t executed) const {
    return open_sets_[open_set_[thread][executed]];
  }

  // Can `write` give `read` what it saw, if it is the last write before it?
  bool can_give(Node write, const ReadRecord& read, Reads reads = Reads::kAnySource) const {
    const WriteRecord& record = writes_[write];
    if (reads == Reads::kSameWrite) return write == read.saw;
    return write == read.saw || (read.has_value && record.has_value && record.value == read.value);
  }
  // The writes that can give `read` what it saw and are not overwritten before it in every correct
  // reordering. In the order of the trace for each thread.
  void possible_sources(const ReadRecord& read, std::vector<Node>& sources) const;
  bool start_can_give(const ReadRecord& read, Reads reads = Reads::kAnySource) const {
    if (reads == Reads::kSameWrite) return read.saw == kNoNode;
    return read.saw == kNoNode ||
           (versions_[read.location].starts_at_zero && read.has_value && read.value == 0);
  }

 private:
  class Builder;
  // Each false if the budget was over first.
  bool compute_clocks(BudgetWatch& watch);
  bool compute_observed_clocks(BudgetWatch& watch);
  bool index_writes(BudgetWatch& watch);
  // Can any read see what it saw from another write than in the trace?
  bool has_choice() const;
  // Per thread: writes of this version before that position are overwritten before the read. True if there
  // are any.
  bool floors(const ReadRecord& read, std::vector<std::uint32_t>& floors) const;
  void join_clock(const std::vector<std::uint32_t>& clocks, std::span<std::uint32_t> into, Node node) const;

  std::span<const Event> events_;
  bool is_built_ = false;
  std::vector<std::uint32_t> chain_of_thread_;
  std::uint32_t thread_count_ = 0;
  std::uint32_t lock_count_ = 0;
  std::vector<std::uint32_t> event_;  // of a node; kNone for an act
  std::vector<Node> node_of_;
  std::vector<std::vector<Node>> chains_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> places_start_;
  ListTable hard_, reads_at_, committed_by_, committers_, sections_of_, closed_by_;
  std::vector<std::uint32_t> clocks_;
  std::vector<std::uint32_t> observed_clocks_;  // empty if the same
  std::vector<ReadRecord> reads_;
  std::vector<WriteRecord> writes_;
  std::vector<std::vector<std::uint32_t>> thread_reads_;  // by thread of the trace
  std::vector<Version> versions_;
  std::vector<CriticalSection> sections_;
  std::vector<std::uint32_t> section_at_;
  std::vector<std::vector<std::uint32_t>> open_sets_;  // the first one is empty
  std::vector<std::vector<std::uint32_t>> open_set_;   // per thread and number of executed nodes
};

}  // namespace deadheat::detect
