// Decides one candidate pair: is there a correct reordering after which both accesses are next?
//
// Maximal causality (J. Huang, P. Meredith, G. Rosu: Maximal sound predictive race detection with control
// flow abstraction) as integer difference logic, solved by Z3, with three departures:
//  - *Executed or not.* Every event has a truth value beside its place in the order. A release frees a lock,
//  and a write
//    gives a value, only if it is executed, and it is executed only if the reads before it saw what they
//    must. The published encoding lets a critical section release its lock although its read no longer sees
//    its value, and so reports races that cannot happen.
//  - *No window.* The problem of a pair starts from the events it needs (cut.h) and may use any other event
//  that can
//    be executed without the two.
//  - *On demand.* Most of the trace can stay in the order it had. So a schedule is made first, in that order,
//  and looked
//    through for what is wrong (schedule.h): a lock taken twice, a read that sees something else. Only these
//    become constraints; the solver orders the few events they are about, a new schedule follows its choice,
//    and so on, until a schedule is right (a race) or the constraints have no solution (no race). Every
//    constraint holds in every witness, so "no solution" is a proof; every answer "race" carries a schedule.
//
// For an event e, O(e) is its place and X(e) says that it is executed; both are known for most events
// (cut.h). Constraints:
//   must       O(e) < O(f), X(f) -> X(e)             if e is in f's clock
//   lock       X(a1) & X(a2) -> X(r1) & O(r1) < O(a2) | X(r2) & O(r2) < O(a1)           two sections of a
//   lock matters    X(c) -> M(r)                           c depends on the read r source     M(r) -> S(r,w1)
//   | S(r,w2) | ... | S(r,start)       the writes that can give it what it saw
//              S(r,w) -> X(w) & O(w) < O(r) & M(r') for the reads r' that w depends on
//   no other   S(r,w) & X(v) -> O(v) < O(w) | O(r) < O(v)         another write
// With values the question is asked twice: first with every read bound to the very write it saw, which makes
// most of the order known from the start (only "yes" counts), then as it is. Where a read has very many
// possible sources they come in batches, under an assumption that there are no more.
//
// Tested by mcm_test.cc and rdit_test.cc against testing/explorer.h.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "detect/causal_model.h"
#include "detect/cut.h"

namespace z3 {
class context;
}

namespace deadheat::detect {

enum class Answer { kRace, kNoRace, kUndecided };

struct Decision {
  Answer answer = Answer::kUndecided;
  std::vector<Node> schedule;  // of a race: what is executed before the two accesses
};

struct SearchLimits {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* stop = nullptr;
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  // of the solver
};

struct SearchCounters {
  std::uint64_t refuted_by_cut = 0;        // no order was needed to see that it is no race
  std::uint64_t shown_by_trace_order = 0;  // the trace's own order is a witness
  std::uint64_t solved = 0;                // the solver was asked
  std::uint64_t solver_calls = 0;
  std::uint64_t constraints = 0;
  std::uint64_t stuck = 0;  // faults of ours that were caught: undecided
};

// One per thread of the search. The model outlives it.
class OrderSearch {
 public:
  explicit OrderSearch(const CausalModel& model);
  ~OrderSearch();

  // REQUIRES: conflicting accesses of two threads.
  Decision decide(Node a, Node b, const SearchLimits& limits);

  // From any thread: makes a running solver give up soon. For deadlines and cancellation.
  void interrupt();

  const SearchCounters& counters() const { return counters_; }

 private:
  class Problem;
  class Registered;
  struct Solver;
  Decision solve(Node a, Node b, const Cut& cut, Reads reads, const std::vector<std::uint32_t>& pending,
                 z3::context& context, const SearchLimits& limits);

  const CausalModel& model_;
  SearchCounters counters_;
  std::unique_ptr<Solver> solver_;
};

}  // namespace deadheat::detect
