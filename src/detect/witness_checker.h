// Replays a witness of a predicted race, event by event, and says whether it shows the race.
//
// This is the last word before a prediction is reported: whatever mistake the search or its solver makes, a
// witness that does not hold is not reported. So it shares nothing with them. It reads the definition of
// docs/prediction.md forwards: it keeps what a running program would have (who holds which lock, what each
// location holds, which threads have gone another way than they went in the trace) and never asks what
// depends on what.
//
// A witness is the numbers of the executed events in order, and then the two accesses.
//
// With BarrierPairs it also keeps, for each call into missing code, up to which moment of the trace that code
// has done its acts. An event makes the calls that it has to come after catch up; a call can catch up when
// everything that came before on what it can reach has been executed, and what it finds there is what was
// there.
//
// Cost: the trace once, then the witness; with BarrierPairs times the sizes of the sets that open calls
// reach. A call nested in one of the same thread and set adds nothing to what that one does, and is not
// looked at; which calls meet in a location is asked of their sets, not of every call and location. Tested by
// witness_checker_test.cc, which damages witnesses in every way.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "detect/budget.h"
#include "trace/event.h"
#include "trace/names.h"

namespace deadheat::detect {

class WitnessChecker {
 public:
  // `barriers`: calls into missing code act. The events, names and budget outlive the checker.
  WitnessChecker(std::span<const Event> events, const Names& names, bool barriers,
                 const Budget& budget = kUnlimited);

  // An error says at which step of the witness, what was expected and what was found. `witness` has positions
  // in `events`.
  Status check(std::span<const std::uint64_t> witness);
  // Was the last error only that the budget was over?
  bool out_of_time() const { return out_of_time_; }

 private:
  static const Budget kUnlimited;
  static constexpr std::uint32_t kNobody = UINT32_MAX;
  static constexpr std::uint64_t kNever = UINT64_MAX;
  static constexpr std::uint64_t kAct = UINT64_MAX - 1;  // a location's content: left by missing code

  struct Call {
    std::uint32_t thread = 0;
    std::uint32_t set = 0;  // in sets_
    std::uint64_t enter = 0;
    std::uint64_t leave = kNever;
    std::uint64_t acted_until = 0;  // its acts before this event have been done
  };
  struct Holder {
    std::uint32_t thread = 0;
    std::uint32_t depth = 0;
  };
  struct Content {
    std::uint64_t writer = kNever;  // an event, kAct, or kNever
    bool is_known = true;
  };

  void prepare_calls(const Names& names);
  void note_locks();
  std::vector<std::uint32_t> calls_by_leave() const;
  void reset();
  std::optional<std::string> is_next(std::uint64_t event);
  std::optional<std::string> execute(std::uint64_t event);
  std::optional<std::string> let_missing_code_act(std::uint64_t event);
  // Calls in the order of being entered; the first `done` have nothing left to do.
  struct CallList {
    std::vector<std::uint32_t> calls;
    std::size_t done = 0;
  };
  void skip_done(CallList& list) const;
  // Makes all calls of `list` that were entered before the event `until` catch up with it.
  std::optional<std::string> catch_up_all(CallList& list, std::uint64_t until);
  // The sets that have a location in common with `set`: itself too, if it has any.
  const std::vector<std::uint32_t>& sets_meeting(std::uint32_t set);
  std::optional<std::string> catch_up(std::uint32_t call, std::uint64_t until);
  std::optional<std::string> act(Call& call, std::uint64_t until);
  void note_values();
  bool sees_the_same(std::uint64_t read) const;
  bool all_done_before(std::uint32_t object, std::uint64_t event);

  std::span<const Event> events_;
  const Names& names_;
  const bool barriers_;
  bool has_branch_ = false;
  BudgetWatch watch_;
  bool out_of_time_ = false;

  // Of the trace.
  std::vector<std::vector<std::uint64_t>> threads_;  // events in program order
  std::vector<std::uint64_t> fork_;                  // per thread
  std::vector<std::uint64_t> saw_;                   // per read: writer of what it saw
  // Per access: what it says, or what an access that wrote or saw the same write says. Nothing: nobody says
  // it.
  std::vector<std::optional<std::uint64_t>> value_;
  std::vector<std::vector<std::uint64_t>> sends_;  // per message
  std::vector<std::vector<std::uint32_t>> sets_;   // what calls reach, without what cannot matter
  std::vector<Call> calls_;
  std::vector<CallList> calls_of_thread_;
  std::vector<CallList> calls_of_set_;
  std::vector<std::vector<std::uint32_t>> sets_on_;  // per location
  // Per set, when first wanted; and per set the last one that was found to meet it, from 1.
  std::vector<std::vector<std::uint32_t>> meeting_;
  std::vector<std::uint32_t> met_;
  std::vector<std::uint32_t> thread_named_;          // per location
  std::vector<std::uint32_t> lock_named_;            // per location
  std::vector<std::uint64_t> not_before_;            // per event, if anything is reachable: see note_locks()
  std::vector<std::vector<std::uint64_t>> touches_;  // per location: events on it or on what has its name
  std::vector<std::vector<std::uint32_t>> objects_of_;  // per event, if anything is reachable

  // Of the replay.
  std::vector<char> executed_;
  std::vector<std::uint64_t> done_;         // events, per thread
  std::vector<char> astray_;                // per thread
  std::vector<Holder> holders_;             // per lock
  std::vector<Content> contents_;           // per location
  std::vector<std::uint64_t> acted_until_;  // per location
  std::vector<std::size_t> first_undone_;   // per location: index in touches_
};

}  // namespace deadheat::detect
