#include "detect/predictor.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>

#include "detect/budget.h"
#include "detect/candidates.h"
#include "detect/causal_model.h"
#include "detect/order_search.h"
#include "detect/witness_checker.h"

namespace deadheat::detect {
namespace {

using Time = std::chrono::steady_clock;

// Turns, in seconds: of a unit, and of a single pair in it. The last one is whatever remains.
constexpr double kUnitTurns[] = {1, 8, 1e9};
constexpr double kPairTurns[] = {0.3, 4, 1e9};
constexpr std::size_t kTurns = std::size(kUnitTurns);

// A unit, from some pair on; or a single pair that took too long in its last turn.
struct Task {
  CandidateUnit unit;
  std::uint64_t skip = 0;  // pairs of the unit that have been decided or put off
  Node a = kNoNode, b = kNoNode;
};

class Predictor {
 public:
  Predictor(std::span<const Event> events, const Names& names, const Options& options,
            const PredictorOptions& predictor, Chains chains)
      : events_(events),
        names_(names),
        options_(options),
        own_(predictor),
        budget_(Budget(options.solver_seconds, options.cancelled)
                    .within_memory(options.memory_bytes, held_by_others(events.size()))),
        preparing_(budget_.with_look([&options] {
          if (options.progress) options.progress(-1);
        })),
        model_(events, names, predictor.barriers, std::move(chains), preparing_),
        candidates_(model_, preparing_) {}

  Prediction run() {
    if (!is_prepared()) {
      untouched_ = count_pairs_of_places(events_, Budget(kGrace, nullptr), all_listed_);
      return summarise();
    }
    std::size_t jobs = static_cast<std::size_t>(std::max(1, options_.jobs));
    for (std::size_t i = 0; i < jobs; ++i) searches_.push_back(std::make_unique<OrderSearch>(model_));
    std::vector<std::thread> workers;
    running_ = jobs;
    for (std::size_t i = 0; i < jobs; ++i) workers.emplace_back([this, i] { work(*searches_[i]); });
    watch();
    for (std::thread& worker : workers) worker.join();
    count_the_rest();
    return summarise();
  }

 private:
  bool is_prepared() const { return model_.is_built() && candidates_.is_built(); }

  // What the process had before, but for the events, which are this detector's.
  static std::uint64_t held_by_others(std::uint64_t events) {
    const std::uint64_t now = Budget::memory_in_use();
    return now - std::min(now, events * (sizeof(Event) + sizeof(EventIndex)));
  }

  static Time::duration in_seconds(double seconds) {
    return std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(std::min(seconds, 1e8)));
  }

  // The calling thread: progress, cancellation, and the end of the time.
  void watch() {
    std::unique_lock lock(mutex_);
    while (running_ > 0) {
      ended_.wait_for(lock, std::chrono::milliseconds(50));
      if (!stop_ && budget_.over()) stop_ = true;
      if (stop_) {
        for (auto& search : searches_) search->interrupt();
      }
      if (options_.progress) {
        double done = candidates_.progress();
        lock.unlock();
        options_.progress(done);
        lock.lock();
      }
    }
  }

  void work(OrderSearch& search) {
    // Made when it is first needed: it reads the whole trace.
    std::unique_ptr<WitnessChecker> checker;
    Task task;
    for (std::size_t turn = 0; take(task, turn);) {
      if (task.a != kNoNode) {
        decide(task.unit, task.a, task.b, turn, search, checker);
      } else {
        examine(task, turn, search, checker);
      }
      give_back();
    }
    std::lock_guard lock(mutex_);
    --running_;
    ended_.notify_all();
  }

  // The next task, those with the shortest turns first. False when there is nothing left to do.
  bool take(Task& task, std::size_t& turn) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (stop_) return false;
      if (CandidateUnit unit; candidates_.next_unit(unit, listing_)) {
        task = {.unit = unit};
        turn = 0;
        ++busy_;
        return true;
      }
      for (turn = 0; turn < kTurns; ++turn) {
        while (!tasks_[turn].empty()) {
          task = tasks_[turn].front();
          tasks_[turn].pop_front();
          if (found_.contains(task.unit.key()) && !own_.all_pairs) continue;
          ++busy_;
          return true;
        }
      }
      if (busy_ == 0) return false;
      idle_ = true;
      changed_.wait_for(lock, std::chrono::milliseconds(50));  // a busy worker may put something off
    }
  }

  void give_back() {
    std::lock_guard lock(mutex_);
    --busy_;
    if (std::exchange(idle_, false)) changed_.notify_all();
  }

  void put_off(const Task& task, std::size_t turn) {
    std::lock_guard lock(mutex_);
    tasks_[std::min(turn + 1, kTurns)].push_back(task);
  }

  void examine(const Task& task, std::size_t turn, OrderSearch& search,
               std::unique_ptr<WitnessChecker>& checker) {
    Time::time_point end = Time::now() + in_seconds(kUnitTurns[turn]);
    std::uint64_t number = 0;
    bool out_of_turn = false;
    auto go_on = [&] { return !(out_of_turn = stop_ || Time::now() >= end); };
    candidates_.for_each_pair(
        task.unit,
        [&](Node a, Node b) {
          if (number < task.skip) return ++number, true;
          if (!go_on()) return false;
          ++number;
          ++candidates_seen_;
          return decide(task.unit, a, b, turn, search, checker) != Answer::kRace || own_.all_pairs;
        },
        go_on);
    if (out_of_turn) put_off({.unit = task.unit, .skip = std::max(number, task.skip)}, turn);
  }

  Answer decide(const CandidateUnit& unit, Node a, Node b, std::size_t turn, OrderSearch& search,
                std::unique_ptr<WitnessChecker>& checker) {
    SearchLimits limits{
        .deadline = std::min(budget_.deadline(), Time::now() + in_seconds(kPairTurns[turn])),
        .stop = &stop_,
        .memory_bytes = options_.memory_bytes / static_cast<std::uint64_t>(std::max(1, options_.jobs))};
    Decision decision = search.decide(a, b, limits);
    if (decision.answer == Answer::kNoRace) return decision.answer;
    if (decision.answer == Answer::kUndecided) {
      put_off({.unit = unit, .a = a, .b = b}, turn);
      return decision.answer;
    }
    PredictedRace race{.first = model_.event_index(a), .second = model_.event_index(b)};
    race.witness.reserve(decision.schedule.size() + 2);
    for (Node node : decision.schedule) {
      if (model_.is_event(node)) race.witness.push_back(model_.event_index(node));
    }
    race.witness.push_back(race.first);
    race.witness.push_back(race.second);
    if (!checker) checker = std::make_unique<WitnessChecker>(events_, names_, own_.barriers, budget_);
    Status status = checker->check(race.witness);
    std::lock_guard lock(mutex_);
    if (!status.ok()) {
      if (!checker->out_of_time()) ++rejected_;
      tasks_[kTurns].push_back({.unit = unit, .a = a, .b = b});
      return Answer::kUndecided;
    }
    found_.insert(unit.key());
    if (witness_events_ + race.witness.size() > own_.witness_events) shorten(race);
    witness_events_ += race.witness.size();
    races_.push_back(std::move(race));
    return Answer::kRace;
  }

  // A witness of many events in the order of the trace, said in less space.
  void shorten(PredictedRace& race) const {
    auto end = race.witness.end() - 2;
    if (!std::is_sorted(race.witness.begin(), end) || (race.witness.size() > 2 && *(end - 1) > race.second))
      return;
    race.cut.assign(names_.threads.size(), 0);
    for (auto event = race.witness.begin(); event != end; ++event) ++race.cut[events_[*event].thread.index()];
    race.witness = {};
  }

  // Pairs of places that nobody came to, for as long as a user waits after the end of the time.
  void count_the_rest() {
    Budget grace(kGrace, nullptr);
    BudgetWatch watch(grace);
    CandidateUnit unit;
    while (candidates_.next_unit(unit, watch)) {
      ++untouched_;
      if (watch.over(64)) break;
    }
    if (watch.over()) all_listed_ = false;
  }

  Prediction summarise() {
    Prediction result;
    result.races = std::move(races_);
    std::sort(result.races.begin(), result.races.end(),
              [](const PredictedRace& one, const PredictedRace& other) {
                return std::pair(one.second, one.first) < std::pair(other.second, other.first);
              });
    std::unordered_set<std::uint64_t> undecided;
    for (const auto& turn : tasks_) {
      for (const Task& task : turn) {
        if (!found_.contains(task.unit.key())) undecided.insert(task.unit.key());
      }
    }
    result.undecided = undecided.size() + untouched_;
    result.all_listed = all_listed_;
    result.model_built = is_prepared();
    result.complete = result.undecided == 0 && all_listed_ && is_prepared() && !options_.is_cancelled();
    SearchCounters sum;
    for (const auto& search : searches_) {
      const SearchCounters& one = search->counters();
      sum.refuted_by_cut += one.refuted_by_cut;
      sum.shown_by_trace_order += one.shown_by_trace_order;
      sum.solved += one.solved;
      sum.solver_calls += one.solver_calls;
      sum.constraints += one.constraints;
      sum.stuck += one.stuck;
    }
    result.statistics = {{"pairs_of_places", candidates_.units_seen()},
                         {"pairs_with_a_common_lock", candidates_.dropped_by_locks()},
                         {"pairs_decided", candidates_seen_.load()},
                         {"refuted_by_cut", sum.refuted_by_cut},
                         {"shown_by_trace_order", sum.shown_by_trace_order},
                         {"given_to_solver", sum.solved},
                         {"solver_calls", sum.solver_calls},
                         {"constraints", sum.constraints},
                         {"witnesses_rejected", rejected_},
                         {"searches_stuck", sum.stuck},
                         {"undecided", result.undecided},
                         {"model_built", is_prepared() ? 1u : 0u},
                         {"all_listed", result.all_listed ? 1u : 0u},
                         {"complete", result.complete ? 1u : 0u}};
    return result;
  }

  const std::span<const Event> events_;
  const Names& names_;
  const Options& options_;
  const PredictorOptions own_;
  const Budget budget_;
  const Budget preparing_;  // the same, for the thread that shows progress
  const CausalModel model_;
  std::vector<std::unique_ptr<OrderSearch>> searches_;
  std::atomic<std::uint64_t> candidates_seen_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;                 // guards what follows
  std::condition_variable changed_;  // a task may have been put off
  std::condition_variable ended_;    // a worker
  bool idle_ = false;                // somebody waits for a task
  Candidates candidates_;            // its for_each_pair() needs no lock
  BudgetWatch listing_{budget_};
  std::size_t running_ = 0;
  std::vector<PredictedRace> races_;
  std::unordered_set<std::uint64_t> found_;          // keys of units
  std::vector<std::deque<Task>> tasks_{kTurns + 1};  // by turn; after the last one: given up
  std::size_t busy_ = 0;
  std::uint64_t rejected_ = 0;
  std::uint64_t untouched_ = 0;
  std::uint64_t witness_events_ = 0;
  bool all_listed_ = true;
};

}  // namespace

Result<Prediction> predict(std::span<const Event> events, const Names& names, const Options& options,
                           const PredictorOptions& predictor) {
  Chains chains = find_chains(events, names, predictor.barriers);
  std::uint64_t needed = CausalModel::memory_needed(events.size(), chains.count);
  if (needed > options.memory_bytes) {
    return Error{"prediction from " + std::to_string(events.size()) + " events of " +
                 std::to_string(chains.count) + " threads at a time: expected to need at most " +
                 std::to_string(options.memory_bytes >> 20) + " MB of memory, found " +
                 std::to_string(needed >> 20) + " MB"};
  }
  return Predictor(events, names, options, predictor, std::move(chains)).run();
}

}  // namespace deadheat::detect
