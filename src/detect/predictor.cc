#include "detect/predictor.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

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
  std::uint32_t unit = 0;
  std::uint64_t skip = 0;  // pairs of the unit that have been decided or put off
  Node a = kNoNode, b = kNoNode;
};

class Predictor {
 public:
  Predictor(std::span<const Event> events, const Names& names, const Options& options,
            const PredictorOptions& predictor)
      : events_(events),
        names_(names),
        options_(options),
        own_(predictor),
        model_(events, names, predictor.barriers),
        candidates_(model_),
        deadline_(Time::now() + in_seconds(options.solver_seconds)),
        found_(candidates_.units().size(), 0) {
    for (std::uint32_t unit = 0; unit < candidates_.units().size(); ++unit)
      tasks_[0].push_back({.unit = unit});
  }

  Prediction run() {
    std::size_t jobs = static_cast<std::size_t>(std::max(1, options_.jobs));
    jobs = std::min(jobs, std::max<std::size_t>(1, candidates_.units().size()));
    for (std::size_t i = 0; i < jobs; ++i) searches_.push_back(std::make_unique<OrderSearch>(model_));
    std::vector<std::thread> workers;
    running_ = jobs;
    for (std::size_t i = 0; i < jobs; ++i) workers.emplace_back([this, i] { work(*searches_[i]); });
    watch();
    for (std::thread& worker : workers) worker.join();
    return summarise();
  }

 private:
  static Time::duration in_seconds(double seconds) {
    return std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(std::min(seconds, 1e8)));
  }

  // The calling thread: progress, cancellation, and the end of the time.
  void watch() {
    std::unique_lock lock(mutex_);
    while (running_ > 0) {
      changed_.wait_for(lock, std::chrono::milliseconds(50));
      if (!stop_ && (options_.is_cancelled() || Time::now() >= deadline_)) stop_ = true;
      if (stop_) {
        for (auto& search : searches_) search->interrupt();
      }
      if (options_.progress && !candidates_.units().empty()) {
        double done =
            static_cast<double>(units_done_.load()) / static_cast<double>(candidates_.units().size());
        lock.unlock();
        options_.progress(done);
        lock.lock();
      }
    }
  }

  void work(OrderSearch& search) {
    WitnessChecker checker(events_, names_, own_.barriers);
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
    changed_.notify_all();
  }

  // The next task, those with the shortest turns first. False when there is nothing left to do.
  bool take(Task& task, std::size_t& turn) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (stop_) return false;
      for (turn = 0; turn < kTurns; ++turn) {
        while (!tasks_[turn].empty()) {
          task = tasks_[turn].front();
          tasks_[turn].pop_front();
          if (found_[task.unit] && !own_.all_pairs) continue;
          ++busy_;
          return true;
        }
      }
      if (busy_ == 0) return false;
      changed_.wait_for(lock, std::chrono::milliseconds(50));  // a busy worker may put something off
    }
  }

  void give_back() {
    std::lock_guard lock(mutex_);
    --busy_;
    changed_.notify_all();
  }

  void put_off(const Task& task, std::size_t turn) {
    std::lock_guard lock(mutex_);
    tasks_[std::min(turn + 1, kTurns)].push_back(task);
  }

  void examine(const Task& task, std::size_t turn, OrderSearch& search, WitnessChecker& checker) {
    Time::time_point end = Time::now() + in_seconds(kUnitTurns[turn]);
    std::uint64_t number = 0;
    bool whole = true;
    candidates_.for_each_pair(candidates_.units()[task.unit], [&](Node a, Node b) {
      if (number++ < task.skip) return true;
      if (stop_ || Time::now() >= end) {
        whole = false;
        put_off({.unit = task.unit, .skip = number - 1}, turn);
        return false;
      }
      ++candidates_seen_;
      return decide(task.unit, a, b, turn, search, checker) != Answer::kRace || own_.all_pairs;
    });
    if (whole) ++units_done_;
  }

  Answer decide(std::uint32_t unit, Node a, Node b, std::size_t turn, OrderSearch& search,
                WitnessChecker& checker) {
    SearchLimits limits{
        .deadline = std::min(deadline_, Time::now() + in_seconds(kPairTurns[turn])),
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
    Status status = checker.check(race.witness);
    std::lock_guard lock(mutex_);
    if (!status.ok()) {
      ++rejected_;
      tasks_[kTurns].push_back({.unit = unit, .a = a, .b = b});
      return Answer::kUndecided;
    }
    found_[unit] = 1;
    races_.push_back(std::move(race));
    return Answer::kRace;
  }

  Prediction summarise() {
    Prediction result;
    result.races = std::move(races_);
    std::sort(result.races.begin(), result.races.end(),
              [](const PredictedRace& one, const PredictedRace& other) {
                return std::pair(one.second, one.first) < std::pair(other.second, other.first);
              });
    std::vector<char> undecided(candidates_.units().size(), 0);
    for (const auto& turn : tasks_) {
      for (const Task& task : turn) undecided[task.unit] |= !found_[task.unit];
    }
    for (char unit : undecided) result.undecided += static_cast<std::uint64_t>(unit);
    result.complete = result.undecided == 0 && !options_.is_cancelled();
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
    result.statistics = {{"pairs_of_places", candidates_.units().size()},
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
                         {"complete", result.complete ? 1u : 0u}};
    return result;
  }

  const std::span<const Event> events_;
  const Names& names_;
  const Options& options_;
  const PredictorOptions own_;
  const CausalModel model_;
  const Candidates candidates_;
  std::vector<std::unique_ptr<OrderSearch>> searches_;
  const Time::time_point deadline_;
  std::atomic<std::size_t> units_done_ = 0;
  std::atomic<std::uint64_t> candidates_seen_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::size_t running_ = 0;
  std::vector<PredictedRace> races_;
  std::vector<char> found_;                          // by unit
  std::vector<std::deque<Task>> tasks_{kTurns + 1};  // by turn; after the last one: given up
  std::size_t busy_ = 0;
  std::uint64_t rejected_ = 0;
};

}  // namespace

Result<Prediction> predict(std::span<const Event> events, const Names& names, const Options& options,
                           const PredictorOptions& predictor) {
  std::uint64_t needed = CausalModel::memory_needed(events.size(), names.threads.size());
  if (needed > options.memory_bytes) {
    return Error{"prediction from " + std::to_string(events.size()) + " events of " +
                 std::to_string(names.threads.size()) + " threads: expected to need at most " +
                 std::to_string(options.memory_bytes >> 20) + " MB of memory, found " +
                 std::to_string(needed >> 20) + " MB"};
  }
  return Predictor(events, names, options, predictor).run();
}

}  // namespace deadheat::detect
