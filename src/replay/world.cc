#include "replay/world.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>

#include <array>
#include <ctime>

#include "recording/names.h"
#include "replay/flow.h"
#include "replay/program.h"

namespace deadheat::replay {

namespace {

World* running = nullptr;

// Traps of mirrored code (a division by zero, a stack that is full) end the replayed thread, not the tool.
class TrapHandlers {
 public:
  TrapHandlers() : stack_(std::make_unique<char[]>(kBytes)) {
    stack_t alternative{};
    alternative.ss_sp = stack_.get();
    alternative.ss_size = kBytes;
    sigaltstack(&alternative, &stack_before_);
    struct sigaction action{};
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    action.sa_handler = [](int signal) {
      if (__dh_replay != nullptr) static_cast<Thread*>(__dh_replay->owner)->trapped(signal);
      // Not the program's doing but ours.
      ::signal(signal, SIG_DFL);
      raise(signal);
    };
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before_[i]);
    action.sa_flags |= SA_RESTART;
    action.sa_handler = [](int) {
      if (__dh_replay != nullptr) static_cast<Thread*>(__dh_replay->owner)->tick();
    };
    sigaction(SIGPROF, &action, &before_.back());
    World::after_fork();
  }
  ~TrapHandlers() {
    const itimerval off{};
    setitimer(ITIMER_PROF, &off, nullptr);
    sigaction(SIGPROF, &before_.back(), nullptr);
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    sigaltstack(&stack_before_, nullptr);
  }
  TrapHandlers(const TrapHandlers&) = delete;
  TrapHandlers& operator=(const TrapHandlers&) = delete;

 private:
  static constexpr std::size_t kBytes = 64 << 10;
  static constexpr std::array<int, 4> kSignals = {SIGFPE, SIGILL, SIGSEGV, SIGBUS};
  std::unique_ptr<char[]> stack_;
  stack_t stack_before_{};
  std::array<struct sigaction, 5> before_{};
};

}  // namespace

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

World* World::current() { return running; }

void World::after_fork() {
  const itimerval quarter{{0, 250'000}, {0, 250'000}};
  setitimer(ITIMER_PROF, &quarter, nullptr);
}

Result<std::unique_ptr<World>> World::open(const recording::Reader& recording, Variant variant) {
  std::unique_ptr<World> world(new World(recording, variant));
  Result<std::unique_ptr<Program>> program = Program::load(recording, variant, world->predictor_);
  if (!program) return program.error();
  world->program_ = std::move(*program);
  return world;
}

World::World(const recording::Reader& recording, Variant variant)
    : recording_(recording),
      variant_(variant),
      predictor_(recording.version() < 4 ? Predictor::kTagged : Predictor::kPlain) {
  if (variant != Variant::kLabelled) return;
  flow_ = std::make_unique<Flow>();
  add(*flow_);
}

Labels& World::labels() {
  DEADHEAT_CHECK(flow_ != nullptr);
  return flow_->labels;
}

World::~World() = default;

bool World::is_compiling() const { return program_->is_compiling(); }

bool World::wants_calls() const {
  if (flow_ != nullptr) return true;
  for (const Observer* observer : observers_)
    if (observer->wants_calls()) return true;
  return false;
}

Result<Summary> World::run(const RunOptions& options) {
  DEADHEAT_CHECK(running == nullptr && threads_.empty());
  running = this;
  options_ = options;
  if (options_.pause) pause_at_ = 0;
  if (!options.stops.empty()) stops_ = std::make_unique<Stops>(recording_, options.stops);
  for (ThreadId id : recording_.threads()) {
    if (options.thread && *options.thread != id) continue;
    threads_[id] = std::make_unique<Thread>(*this, recording_.stream(id));
    total_bytes_ += threads_[id]->stream().raw_bytes();
  }
  const double start = processor_seconds();
  {
    const TrapHandlers handlers;
    if (observers_.empty())
      run_one_by_one();
    else
      run_in_order();
    if (failed_ != nullptr || !options.stops.empty()) stop_all();
  }
  running = nullptr;
  if (!unreachable_.empty() && failed_ == nullptr) return Error{unreachable_};
  if (failed_ != nullptr && failed_->outcome() == Outcome::kFailed)
    return Error{fmt::format("thread {}: {}", failed_->id().value(), failed_->problem())};
  Summary summary;
  summary.needs_observing = needs_observing_;
  summary.compile_seconds = program_->compile_seconds();
  summary.compiled_functions = program_->compiled_functions();
  summary.cached_functions = program_->cached_functions();
  summary.seconds = processor_seconds() - start - summary.compile_seconds;
  for (const auto& [id, thread] : threads_) summary.reading_seconds += thread->stream().reading_seconds();
  for (const auto& [id, thread] : threads_)
    summary.threads.push_back({id, thread->outcome(), thread->end(), thread->regions(), thread->values(),
                               thread->logged_values(), thread->stores(), thread->instructions()});
  if (failed_ != nullptr)
    summary.divergence = Divergence{failed_->id(),        failed_->regions(), failed_->last_number(),
                                    failed_->last_site(), failed_->problem(), failed_->stream().position()};
  return summary;
}

void World::resume(Thread& thread) {
  thread.resume();
  if (failed_ == nullptr && (thread.outcome() == Outcome::kDiverged || thread.outcome() == Outcome::kFailed))
    failed_ = &thread;
  show_progress();
}

void World::run_one_by_one() {
  for (const auto& [id, thread] : threads_) {
    resume(*thread);
    if (failed_ != nullptr || needs_observing_) return;
  }
}

void World::run_in_order() {
  // Threads start when their creation has happened, so that a long recording of many short threads needs few
  // at a time; those that nobody is known to have created start when nothing else can go on.
  auto unstarted = threads_.begin();
  if (!threads_.empty() && threads_.begin()->second->outcome() == Outcome::kNotStarted)
    ready_.push_back(threads_.begin()->second.get());
  while (failed_ == nullptr) {
    if (stops_ != nullptr && (are_all_stopped() || !unreachable_.empty())) return;
    if (!ready_.empty()) {
      Thread& thread = *ready_.front();
      ready_.pop_front();
      if (!thread.is_done()) resume(thread);
      continue;
    }
    const bool is_next = !waiting_.empty() && waiting_.begin()->first <= next_number_;
    if (!is_next && (stops_ == nullptr || !stops_->is_any_kept())) {
      while (unstarted != threads_.end() && unstarted->second->outcome() != Outcome::kNotStarted) ++unstarted;
      if (unstarted != threads_.end()) {
        resume(*unstarted->second);
        continue;
      }
    }
    if (waiting_.empty()) break;
    if (const std::uint64_t next = waiting_.begin()->first; next >= pause_at_) {
      pause_at_ = options_.pause(next);
      if (next >= pause_at_) pause_at_ = next + 1;
    }
    Thread& thread = *waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    if (!must_stay(thread)) resume(thread);
  }
  if (failed_ == nullptr && stops_ != nullptr && unreachable_.empty())
    unreachable_ =
        kept_back_.empty() ? "the recording ended before the threads came to their accesses" : kept_back_;
}

// --- Stops

std::uint64_t World::stop_of(ThreadId thread) const {
  return stops_ == nullptr ? 0 : stops_->access_of(thread);
}

void World::needs_observing(Thread& thread) {
  needs_observing_ = true;
  thread.leave(Outcome::kStopped);
}

void World::stopped(Thread& thread) {
  if (++stopped_ == 1 && options_.on_stop) options_.on_stop();
  stops_->keep(thread.id(), thread.regions() == 0 ? 0 : thread.last_number() + 1);
}

bool World::are_all_stopped() {
  for (const Stop& stop : stops_->all()) {
    const auto found = threads_.find(stop.thread);
    if (found == threads_.end() || found->second->is_done()) {
      unreachable_ = fmt::format("thread {} ended before its access {}", stop.thread.value(), stop.access);
      return false;
    }
  }
  if (stopped_ < stops_->all().size()) return false;
  // Threads that exist by now are to be somewhere: at their first sequencer.
  is_halting_ = true;
  while (!ready_.empty()) {
    Thread& thread = *ready_.front();
    ready_.pop_front();
    if (thread.outcome() == Outcome::kNotStarted) resume(thread);
  }
  if (options_.at_stops) options_.at_stops();
  return true;
}

void World::go_on_from_stops(Observer& observer) {
  observers_.insert(observers_.begin(), &observer);
  for (const auto& [id, thread] : threads_) {
    if (thread->outcome() != Outcome::kRunning) continue;
    if (stops_->access_of(id) != 0)
      ready_.push_back(thread.get());
    else
      waiting_[thread->next_sequencer().number.value()] = thread.get();
  }
  stops_.reset();
  is_halting_ = false;
  run_in_order();
}

bool World::must_stay(Thread& thread) {
  if (stops_ == nullptr || !stops_->is_any_kept()) return false;
  const recording::Sequencer& next = thread.next_sequencer();
  if (!stops_->follows(next)) return false;
  if (stops_->access_of(thread.id()) != 0)
    unreachable_ = fmt::format(
        "the recorded order does not allow it: synchronisation {} of thread {}, before its access {}, "
        "follows "
        "from what another thread does after the access it has stopped at",
        next.number.value(), thread.id().value(), stops_->access_of(thread.id()));
  else if (kept_back_.empty())
    kept_back_ = fmt::format(
        "the recorded order does not allow it: synchronisation {} of thread {} ({} {:#x}), without which not "
        "all of them come to their accesses, follows from what another thread does after the access it has "
        "stopped at",
        next.number.value(), thread.id().value(), recording::to_string(next.kind), next.object.value());
  stops_->keep(thread.id(), next.number.value());
  return true;
}

Thread& World::add_thread() {
  const ThreadId id(threads_.empty() ? 0 : threads_.rbegin()->first.value() + 1);
  std::unique_ptr<Thread>& thread = threads_[id];
  thread = std::make_unique<Thread>(*this, id, recording_.stream(recording_.threads().front()));
  return *thread;
}

void World::stop_all() {
  is_stopping_ = true;
  for (const auto& [id, thread] : threads_)
    if (thread->outcome() == Outcome::kRunning) thread->resume();
}

void World::wait_for_turn(Thread& thread, recording::SequencerNumber number) {
  if (options_.until && number > *options_.until) thread.leave(Outcome::kStopped);
  if (observers_.empty()) return;
  if (number.value() > next_number_ || is_halting_ || number.value() >= pause_at_) {
    waiting_[number.value()] = &thread;
    thread.yield();
    if (is_live()) return;
  }
  next_number_ = number.value() + 1;
}

void World::happened(const recording::Sequencer& sequencer) {
  if (observers_.empty() || sequencer.kind != recording::SequencerKind::kThreadCreated) return;
  const auto child = threads_.find(sequencer.other_thread());
  if (child != threads_.end() && child->second->outcome() == Outcome::kNotStarted)
    ready_.push_back(child->second.get());
}

Adapter* World::adapter_at(Thread& thread, Address function, std::size_t words) {
  Status status = Nothing{};
  Adapter* const adapter = program_->adapter_at(function, status);
  if (!status) thread.fail(status.error().message);
  // Only functions of modules that are recorded log call-backs.
  if (adapter == nullptr)
    thread.fail(fmt::format(
        "{}/modules: expected the module of the function at {:#x}, which is called back, found none",
        recording_.folder(), function.value()));
  (void)words;
  return adapter;
}

std::vector<SiteId> World::stack_of(ThreadId id) const {
  std::vector<SiteId> stack;
  const auto found = threads_.find(id);
  if (found == threads_.end() || found->second->hot() == nullptr || found->second->hot()->frames == nullptr)
    return stack;
  const DhReplay& hot = *found->second->hot();
  for (std::uint32_t i = 0; i < hot.frame && i < kDhMaxFrames; ++i) stack.emplace_back(hot.frames[i]);
  return stack;
}

void World::show_progress() {
  if (!options_.progress || total_bytes_ == 0) return;
  std::uint64_t done = 0;
  for (const auto& [id, thread] : threads_) done += thread->stream().offset();
  options_.progress(static_cast<double>(done) / static_cast<double>(total_bytes_));
}

}  // namespace deadheat::replay
