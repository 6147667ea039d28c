// A replayed world: all threads of a recording, run again in the order of their sequencers, verified.
//
// Every thread has its own log, so threads do not need each other: without observers each simply runs to its
// end, one after the other. With observers they are interleaved: a thread that comes to a sequencer waits
// until all smaller numbers have happened. Threads are fibers of this process and of one kernel thread.
//
// A number may be missing (a thread died between drawing and logging it; a recording cut short). When nobody
// can run and the next number is nobody's, the smallest one that somebody waits with is next.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recording/reader.h"
#include "replay/observer.h"
#include "replay/stops.h"
#include "replay/thread.h"
#include "replay/variant.h"

namespace deadheat::replay {

class Flow;
class Labels;
class Program;

// Processor time of this process so far: what a busy machine does not change.
double processor_seconds();

struct RunOptions {
  std::optional<recording::SequencerNumber> until;  // the last sequencer to happen
  std::optional<ThreadId> thread;                   // only this one
  std::function<void(double fraction)> progress;    // called now and then
  // With observers: called before the synchronisation that is next, with its number, while no thread runs;
  // and again before the first one that is at least what it returned. Starts with the first.
  std::function<std::uint64_t(std::uint64_t next)> pause;
  // Live code with observers: runs until every one of these threads is before its access, and the others as
  // far as that needs; then calls `at_stops` and ends. An error if the recorded order does not allow it.
  std::vector<Stop> stops;
  std::function<void()> on_stop;  // the first of them is there
  std::function<void()> at_stops;
};

// What takes over when a replayed world goes on without its log (live/live_world.h).
class Continuation {
 public:
  virtual ~Continuation() = default;
  // On the thread's fiber, with no function of the program running: does what the thread still has to do.
  [[noreturn]] virtual void run(Thread& thread) = 0;
  [[noreturn]] virtual void trapped(Thread& thread, int signal) = 0;
  [[noreturn]] virtual void failed(Thread& thread, const std::string& what) = 0;
};

struct Divergence {
  ThreadId thread;
  std::uint64_t region = 0;       // of the thread, from 0
  std::uint64_t last_number = 0;  // of the sequencer before it
  SiteId site;                    // of the last access, 0 if not observed
  std::string what;
  std::string position;  // in the log
};

struct ThreadSummary {
  ThreadId thread;
  Outcome outcome;
  recording::End end;
  std::uint64_t regions;
  std::uint64_t values;
  std::uint64_t logged_values;
  std::uint64_t stores;
  std::uint64_t instructions;  // kCounted only
};

struct Summary {
  std::vector<ThreadSummary> threads;
  std::optional<Divergence> divergence;
  // A store faulted and a handler took over: only an observed replay notices stores. It went no further.
  bool needs_observing = false;
  // Of the processor.
  double seconds = 0;          // without compilation
  double reading_seconds = 0;  // of these: decompressing the log
  double compile_seconds = 0;  // and finding code in the cache
  std::uint64_t compiled_functions = 0;
  std::uint64_t cached_functions = 0;
};

class World {
 public:
  // `variant`: kObserved if there will be observers, kLabelled if they want data-flow labels.
  static Result<std::unique_ptr<World>> open(const recording::Reader& recording, Variant variant);
  ~World();

  // REQUIRES: not kBare. Outlives the world.
  void add(Observer& observer) { observers_.push_back(&observer); }
  // Once. An error: the recording is damaged, or its code does not run on this machine. A divergence is no
  // error of this function.
  Result<Summary> run(const RunOptions& options);

  Program& program() { return *program_; }
  // The labels of values, and the sources that observers make. REQUIRES: kLabelled.
  Labels& labels();
  // The call sites of a thread that runs, outermost first.
  std::vector<SiteId> stack_of(ThreadId thread) const;

  // For threads.
  bool is_observed() const { return !is_bare(variant_); }
  Predictor predictor() const { return predictor_; }
  bool wants_calls() const;
  bool is_nobody_waiting() const { return observers_.empty() && !options_.until && live_ == nullptr; }
  bool is_stopping() const { return is_stopping_; }
  bool is_compiling() const;
  void wait_for_turn(Thread& thread, recording::SequencerNumber number);
  void happened(const recording::Sequencer& sequencer);
  Adapter* adapter_at(Thread& thread, Address function, std::size_t words);
  template <class Function>
  void notify(Function&& tell) {
    for (Observer* observer : observers_) tell(*observer);
  }
  const std::vector<Observer*>& observers() const { return observers_; }
  Flow* flow() { return flow_.get(); }  // null if not labelled
  static World* current();

  // For live worlds. `continuation` outlives the world's last resume.
  void go_live(Continuation& continuation) { live_ = &continuation; }
  bool is_live() const { return live_ != nullptr; }
  [[noreturn]] void run_live(Thread& thread) { live_->run(thread); }
  [[noreturn]] void trapped_live(Thread& thread, int signal) { live_->trapped(thread, signal); }
  [[noreturn]] void failed_live(Thread& thread, const std::string& what) { live_->failed(thread, what); }
  std::uint64_t stop_of(ThreadId thread) const;
  void stopped(Thread& thread);
  [[noreturn]] void needs_observing(Thread& thread);
  // From `at_stops`: replays on to the end of the recording, with one more observer, told first.
  void go_on_from_stops(Observer& observer);
  const std::map<ThreadId, std::unique_ptr<Thread>>& threads() const { return threads_; }
  Thread& add_thread();  // one more, without a log
  // In the child of a fork: what a process does not inherit.
  static void after_fork();
  std::uint64_t next_number() const { return next_number_; }

 private:
  World(const recording::Reader& recording, Variant variant);
  void run_one_by_one();
  void run_in_order();
  void resume(Thread& thread);
  bool are_all_stopped();
  // Whether a thread has to stay where it waits, because of those that were stopped.
  bool must_stay(Thread& thread);
  void stop_all();
  void show_progress();

  const recording::Reader& recording_;
  const Variant variant_;
  const Predictor predictor_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Flow> flow_;
  std::vector<Observer*> observers_;
  RunOptions options_;
  std::map<ThreadId, std::unique_ptr<Thread>> threads_;
  std::map<std::uint64_t, Thread*> waiting_;  // by the number they wait with
  std::deque<Thread*> ready_;
  std::uint64_t next_number_ = 0;
  bool is_stopping_ = false;
  bool needs_observing_ = false;
  Thread* failed_ = nullptr;
  Continuation* live_ = nullptr;
  std::unique_ptr<Stops> stops_;
  std::size_t stopped_ = 0;
  std::uint64_t pause_at_ = ~std::uint64_t{0};
  bool is_halting_ = false;  // every thread that comes to a sequencer waits there
  std::string unreachable_;  // why the stops cannot be reached
  std::string kept_back_;    // the first one that had to stay without being asked to, and why
  std::uint64_t total_bytes_ = 0;
};

}  // namespace deadheat::replay
