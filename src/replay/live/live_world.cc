#include "replay/live/live_world.h"

#include <fmt/format.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "replay/live/models.h"
#include "replay/program.h"
#include "replay/sites.h"
#include "replay/variables.h"

namespace deadheat::replay::live {

namespace {

LiveWorld* running_world = nullptr;

constexpr std::uint64_t kTurnSteps = 20'000;
constexpr unsigned kRegionTurns = 64;
constexpr std::uint64_t kStepNanoseconds = 10;

}  // namespace

std::uint64_t ModelCall::word(std::size_t i) const { return i < open.count ? open.words[i] : 0; }

double ModelCall::real(std::size_t i) const {
  const std::uint64_t bits = word(i);
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void ModelCall::result(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  self.results[0] = bits;
}

LiveWorld* LiveWorld::current() { return running_world; }

LiveWorld::LiveWorld(World& world, History& history, const LiveOptions& options, Finish finish)
    : world_(world), history_(history), options_(options), finish_(std::move(finish)) {
  history_.complete();
  adopt_threads();
  running_world = this;
  world.go_live(*this);
}

void LiveWorld::adopt_threads() {
  for (const auto& [id, thread] : world_.threads()) {
    if (thread->outcome() == Outcome::kNotStarted) continue;
    LiveThread& live = threads_[id];
    live.thread = thread.get();
    live.state = thread->is_done() ? LiveThread::State::kEnded : LiveThread::State::kReady;
    if (!thread->is_done()) thread->hot()->run = 0;
  }
}

// --- Turns

void LiveWorld::run(ThreadId first, ThreadId second) {
  // The access itself is what they do before they come to their next step.
  for (const ThreadId id : {first, second}) resume(threads_.at(id), 0);
  run_regions(threads_.at(std::min(first, second)), threads_.at(std::max(first, second)));
  run_all();
}

void LiveWorld::resume(LiveThread& thread, std::uint64_t turn) {
  running_ = &thread;
  thread.turn = turn;
  thread.thread->resume();
  if (thread.thread->is_done()) thread.state = LiveThread::State::kEnded;
  running_ = nullptr;
}

// In the same order whatever the order of the accesses was.
void LiveWorld::run_regions(LiveThread& first, LiveThread& second) {
  for (LiveThread* thread : {&first, &second}) thread->is_in_region = true;
  const auto is_over = [](const LiveThread& thread) {
    return !thread.is_in_region || thread.state != LiveThread::State::kReady;
  };
  for (unsigned i = 0; i < kRegionTurns && !(is_over(first) && is_over(second)); ++i) {
    LiveThread& next = i % 2 == 0 ? first : second;
    if (!is_over(next)) resume(next, kTurnSteps);
  }
  regions_ended_ = is_over(first) && is_over(second);
  first.is_in_region = second.is_in_region = false;
  after_regions_ = memory_state();
  if (options_.stop_after_regions) end(OutcomeKind::kRegionsEnded, 0, "");
}

void LiveWorld::run_all() {
  for (;;) {
    bool has_run = false;
    bool is_anyone_left = false;
    // New threads come in behind: the map's end is asked for each time.
    for (auto at = threads_.begin(); at != threads_.end(); ++at) {
      LiveThread& thread = at->second;
      if (thread.state == LiveThread::State::kEnded) continue;
      is_anyone_left = true;
      if (thread.state == LiveThread::State::kBlocked) {
        if (!thread.can_go_on()) continue;
        thread.state = LiveThread::State::kReady;
      }
      resume(thread, kTurnSteps);
      has_run = true;
    }
    // The last thread ended the process.
    if (!is_anyone_left) end(OutcomeKind::kExited, 0, "all threads ended");
    if (!has_run && !wake_sleeper()) end(OutcomeKind::kDeadlock, 0, "no thread can go on");
  }
}

// Time passes when nobody has anything else to do.
bool LiveWorld::wake_sleeper() {
  LiveThread* next = nullptr;
  for (auto& [id, thread] : threads_)
    if (thread.state == LiveThread::State::kBlocked && thread.until &&
        (next == nullptr || *thread.until < *next->until))
      next = &thread;
  if (next == nullptr) return false;
  clock_ = std::max(clock_, *next->until);
  next->has_timed_out = true;
  next->state = LiveThread::State::kReady;
  return true;
}

void LiveWorld::step(Thread& thread) {
  clock_ += kStepNanoseconds;
  if (++steps_ > options_.steps) end(OutcomeKind::kSteps, 0, "");
  LiveThread& self = of(thread);
  if (self.turn == 0) yield(self);
  --self.turn;
  if (self.pending_signals != 0) take_signals(self);
}

// --- Signals

namespace {

bool is_ignored_by_default(int signal) {
  return signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH || signal == SIGCONT;
}

}  // namespace

void LiveWorld::handle(LiveThread& thread, int signal, std::uint64_t address) {
  const SignalAction action = history_.signal_actions[signal];
  std::vector<std::uint64_t> words = {static_cast<std::uint64_t>(signal)};
  if (action.has_info) {
    const Address info = memory().allocate_static(128 + 1024);  // and a context that says nothing
    memory().zero(info, 128 + 1024);
    store_number(info, static_cast<std::uint64_t>(signal), 4);
    store_number(Address(info.value() + 16), address, 8);
    words.insert(words.end(), {info.value(), info.value() + 128});
  }
  // What it interrupted has results and arguments of its own.
  DhReplay& hot = *thread.thread->hot();
  std::uint64_t results[kDhMaxResults];
  std::copy_n(thread.results, kDhMaxResults, results);
  const std::uint64_t* const call_words = hot.call_words;
  const std::uint64_t call_word_count = hot.call_word_count;
  call_function(thread, action.handler, words);
  std::copy_n(results, kDhMaxResults, thread.results);
  hot.call_words = call_words;
  hot.call_word_count = call_word_count;
}

void LiveWorld::take_signals(LiveThread& thread) {
  while (const std::uint64_t ready = thread.pending_signals & ~history_.blocked_signals) {
    const int signal = __builtin_ctzll(ready) + 1;
    thread.pending_signals &= ~History::bit_of(static_cast<std::uint32_t>(signal));
    handle(thread, signal, 0);
  }
}

void LiveWorld::send(LiveThread& from, LiveThread& to, int signal) {
  const std::uint64_t bit = History::bit_of(static_cast<std::uint32_t>(signal));
  const std::uint64_t handler = history_.signal_actions[signal].handler;
  if ((history_.blocked_signals & bit) == 0) {
    if (handler == History::kIgnored || (handler == 0 && is_ignored_by_default(signal))) return;
    if (handler == 0) end(OutcomeKind::kSignal, signal, "sent by the program itself");
  }
  to.pending_signals |= bit;
  if (&from == &to) take_signals(to);
}

void LiveWorld::die_of(int signal, std::uint64_t address, const std::string& what) {
  LiveThread* const self = running_;
  const std::uint64_t handler = history_.signal_actions[signal].handler;
  if (self != nullptr && handler > History::kIgnored && !self->is_in_fault &&
      world_.program().function_at(Address(handler)) != nullptr) {
    self->is_in_fault = true;
    handle(*self, signal, address);
    end(OutcomeKind::kSignal, signal, what + "; the program's handler returned");
  }
  end(OutcomeKind::kSignal, signal, what);
}

void LiveWorld::yield(LiveThread& thread) {
  thread.turn = 0;
  thread.thread->yield();
  // A turn of no steps is the two accesses' only; whoever comes back has a real one.
  if (thread.turn == 0) thread.turn = kTurnSteps;
}

void LiveWorld::synchronise(Thread& thread) {
  LiveThread& self = of(thread);
  if (!self.is_in_region) return;
  self.is_in_region = false;
  yield(self);
}

bool LiveWorld::block(LiveThread& thread, std::string waits_for, std::function<bool()> can_go_on,
                      std::optional<std::uint64_t> until) {
  synchronise(*thread.thread);
  if (can_go_on()) return true;
  thread.waits_for = std::move(waits_for);
  thread.can_go_on = std::move(can_go_on);
  thread.until = until;
  thread.has_timed_out = false;
  thread.state = LiveThread::State::kBlocked;
  do {
    yield(thread);
  } while (thread.state == LiveThread::State::kBlocked);
  thread.until.reset();
  thread.waits_for.clear();
  return !thread.has_timed_out;
}

// --- Memory

std::string LiveWorld::describe(Address address) const {
  std::string text = fmt::format("{:#x}", address.value());
  if (const auto global = global_at(world_.program(), address)) {
    const std::uint64_t offset = address.value() - global->address.value();
    return offset == 0 ? global->name : fmt::format("{}+{}", global->name, offset);
  }
  if (const auto block = history_.memory.block_around(address))
    text += fmt::format(", byte {} of {} block of {} bytes", address.value() - block->first.value(),
                        block->second.is_freed ? "a freed" : "a", block->second.size);
  else if (const auto mapping = history_.memory.mappings().around(address))
    text += fmt::format(", byte {} of a mapping of {} bytes", address.value() - mapping->first.value(),
                        mapping->second);
  return text;
}

void LiveWorld::check(Address address, std::uint64_t size, bool is_write) {
  if (size == 0) return;
  if (address.value() < 65536 || address.value() + size > std::uint64_t{1} << 47)
    die_of(11, address.value(),
           fmt::format("{} of {} bytes at {:#x}{}", is_write ? "write" : "read", size, address.value(),
                       address.value() < 65536 ? ", a null pointer or next to it" : ""));
  if (memory().is_freed(address, size)) {
    const auto block = memory().block_around(address);
    std::string where;
    if (block && block->second.freed_at.value() != 0)
      where = ", freed at " + replay::place_of(world_.program(), block->second.freed_at).text();
    end(OutcomeKind::kMemoryError, 0,
        fmt::format("use after free: {} of {} bytes at {}{}", is_write ? "write" : "read", size,
                    describe(address), where));
  }
  if (memory().mappings().is_unmapped(address, size))
    die_of(11, address.value(),
           fmt::format("{} of {} bytes at {:#x}, which was unmapped", is_write ? "write" : "read", size,
                       address.value()));
  if (is_write && !memory().is_plausible(address))
    end(OutcomeKind::kUnknownMemory, 0,
        fmt::format("write of {} bytes at {:#x}, where the recording saw nothing", size, address.value()));
}

std::uint64_t LiveWorld::load(Thread&, std::uint64_t address, std::uint32_t size) {
  check(Address(address), size, false);
  if (const auto value = memory().image().read(Address(address), size)) return *value;
  return load_unknown(address, size);
}

std::uint64_t LiveWorld::load_unknown(std::uint64_t address, std::uint32_t size) {
  std::uint64_t value = 0;
  unsigned known = 0;
  for (std::uint32_t i = 0; i < size; ++i)
    if (const auto byte = memory().image().read(Address(address + i), 1)) {
      value |= *byte << (8 * i);
      ++known;
    }
  if (known != 0) {
    // A structure's padding, or a flag beside others: the rest of the word decides nothing, mostly.
    guessed_bytes += size - known;
    return value;
  }
  // Memory that the live world gave out, and that nobody has written.
  if (address >= Memory::kHeapStart && address < Memory::kStaticStart) {
    ++uninitialised_reads;
    for (std::uint32_t i = 0; i < size; ++i) value |= std::uint64_t{kFreshByte} << (8 * i);
    return value;
  }
  end(OutcomeKind::kUnknownMemory, 0,
      fmt::format("read of {} bytes at {}", size, describe(Address(address))));
}

void LiveWorld::store(Thread&, std::uint64_t address, std::uint64_t value, std::uint32_t size) {
  check(Address(address), size, true);
  memory().store(Address(address), value, size);
}

void LiveWorld::copy(Thread&, std::uint64_t to, std::uint64_t from, std::uint64_t size) {
  check(Address(from), size, false);
  check(Address(to), size, true);
  memory().copy(Address(to), Address(from), size);
}

std::uint8_t LiveWorld::load_byte(Address address) {
  return static_cast<std::uint8_t>(load_number(address, 1));
}

std::uint64_t LiveWorld::load_number(Address address, std::uint32_t size) {
  return load(*running_->thread, address.value(), size);
}

std::string LiveWorld::load_text(Address address, std::uint64_t limit) {
  std::string text;
  while (text.size() < limit) {
    const std::uint8_t byte = load_byte(Address(address.value() + text.size()));
    if (byte == 0) break;
    text.push_back(static_cast<char>(byte));
  }
  return text;
}

std::string LiveWorld::load_bytes(Address address, std::uint64_t size) {
  check(address, size, false);
  std::string bytes(size, '\0');
  const std::span span(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size());
  if (memory().image().read(address, span) != size)
    for (std::uint64_t i = 0; i < size; ++i)
      bytes[i] = static_cast<char>(load_byte(Address(address.value() + i)));
  return bytes;
}

void LiveWorld::store_bytes(Address address, std::string_view bytes) {
  if (bytes.empty()) return;
  check(address, bytes.size(), true);
  memory().store(address, std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

void LiveWorld::store_number(Address address, std::uint64_t value, std::uint32_t size) {
  store(*running_->thread, address.value(), value, size);
}

void LiveWorld::write_output(std::string_view text) {
  output_bytes_ += text.size();
  if (output_.size() < options_.output_bytes)
    output_ += text.substr(0, options_.output_bytes - output_.size());
}

// --- Locals

std::uint64_t LiveWorld::allocate_local(LiveThread& thread, std::uint64_t size, std::uint64_t alignment) {
  if (thread.stack == 0) {
    thread.stack_limit = Memory::kStacksStart + thread.thread->id().value() * Memory::kStackBytes * 2;
    thread.stack = thread.stack_limit + Memory::kStackBytes;
  }
  thread.locals.push_back({thread.thread->hot()->frame, thread.stack});
  alignment = std::max<std::uint64_t>(alignment, 16);
  if (size > thread.stack - thread.stack_limit - alignment) end(OutcomeKind::kSignal, 11, "stack overflow");
  thread.stack = (thread.stack - size) & ~(alignment - 1);
  memory().image().forget(Address(thread.stack), size);
  return thread.stack;
}

// Whatever was at this height of the stack before has returned.
void LiveWorld::enter(Thread& thread) {
  LiveThread& self = of(thread);
  while (!self.locals.empty() && self.locals.back().frame >= thread.hot()->frame) {
    self.stack = self.locals.back().before;
    self.locals.pop_back();
  }
}

std::uint64_t LiveWorld::copy_of_argument(Thread& thread, std::uint64_t pointer, std::uint64_t size) {
  const std::uint64_t address = allocate_local(of(thread), size, 16);
  if (pointer != 0) copy(thread, address, pointer, size);
  return address;
}

void LiveWorld::start_arguments(Thread& thread, std::uint64_t list, const void* native) {
  struct List {
    std::uint32_t general, floating;  // offsets into `saved`
    const char* overflow;
    const char* saved;
  } from;
  std::memcpy(&from, native, sizeof from);
  constexpr std::size_t kSaved = 176;
  // How many there are nobody knows; what lies behind them on the stack does no harm.
  constexpr std::size_t kOverflow = 512;
  LiveThread& self = of(thread);
  const std::uint64_t saved = allocate_local(self, kSaved, 16);
  const std::uint64_t overflow = allocate_local(self, kOverflow, 16);
  store_bytes(Address(saved), std::string_view(from.saved, kSaved));
  store_bytes(Address(overflow), std::string_view(from.overflow, kOverflow));
  store(thread, list, from.general, 4);
  store(thread, list + 4, from.floating, 4);
  store(thread, list + 8, overflow, 8);
  store(thread, list + 16, saved, 8);
}

// --- Calls

void LiveWorld::call(Thread& thread, const OpenCall& call) {
  LiveThread& self = of(thread);
  const std::string_view name = globals().name_at(Address(call.target));
  if (call.target < 65536)
    end(OutcomeKind::kSignal, 11, fmt::format("call of a function at {:#x}, a null pointer", call.target));
  if (name.empty())
    end(OutcomeKind::kLeft, 0,
        fmt::format("call of code at {:#x} that the program never names", call.target));
  const Model* const model = model_of(name);
  const InputFunction* const input = input_function(name);
  if (model == nullptr && input == nullptr) end(OutcomeKind::kLeft, 0, fmt::format("call of {}", name));
  ModelCall made{*this, self, call, name};
  std::ranges::fill(self.results, 0);
  if (input != nullptr) return run_input(made, *input);
  model->run(made);
}

void LiveWorld::continue_call(Thread& thread, const OpenCall& open) {
  if (thread.hot()->unwinding != kDhNotUnwinding) return;
  const std::string_view name = globals().name_at(Address(open.target));
  if ((open.sequencers == 0 && open.callbacks == 0) || input_function(name) != nullptr)
    return call(thread, open);
  const Model* const model = model_of(name);
  if (model == nullptr || model->rest == nullptr)
    end(OutcomeKind::kLeft, 0, fmt::format("the rest of a call of {}", name.empty() ? "unnamed code" : name));
  LiveThread& self = of(thread);
  ModelCall made{*this, self, open, name};
  std::ranges::fill(self.results, 0);
  model->rest(made);
}

void LiveWorld::call_function(LiveThread& thread, std::uint64_t function, std::vector<std::uint64_t> words) {
  Thread& runner = *thread.thread;
  if (function < 65536)
    end(OutcomeKind::kSignal, 11, fmt::format("call of a function at {:#x}, a null pointer", function));
  if (world_.program().function_at(Address(function)) == nullptr) {
    OpenCall open;
    open.target = function;
    open.site = SiteId(runner.hot()->site);
    open.words = words.data();
    open.count = words.size();
    call(runner, open);
    std::copy_n(thread.results, kDhMaxResults, runner.hot()->results);
    return;
  }
  Status status = Nothing{};
  Adapter* const adapter = world_.program().adapter_at(Address(function), status);
  if (!status) failed(runner, status.error().message);
  words.resize(words.size() + 16);  // a function may take more arguments than its caller gave
  const std::uint32_t frame = runner.hot()->frame;
  adapter(words.data());
  runner.hot()->frame = frame;
}

// --- Threads

void LiveWorld::run(Thread& thread) {
  LiveThread& self = of(thread);
  const auto is_main = [&](Address function) {
    const FunctionId* const found = world_.program().function_at(function);
    return found != nullptr && replay::place_of(world_.program(), *found).function == "main";
  };
  const auto check_unwinding = [&] {
    if (thread.hot()->unwinding != kDhNotUnwinding)
      end(OutcomeKind::kSignal, 6, "an exception left the thread's first function: std::terminate");
  };
  if (self.start_function != 0) {
    call_function(self, self.start_function, {self.start_argument});
    check_unwinding();
    end_thread(self, thread.hot()->results[0]);
  }
  // A recorded thread, with no function of the program on its stack: what it was called with is in its log.
  bool has_returned = thread.base_has_returned();
  Address function = thread.base_function();
  for (;;) {
    if (has_returned) {
      check_unwinding();
      if (thread.id() != ThreadId(0)) end_thread(self, thread.hot()->results[0]);
      if (is_main(function)) exit_process(self, static_cast<int>(thread.hot()->results[0]), true);
    }
    std::vector<std::uint64_t> words;
    if (!thread.find_callback(function, words))
      end(OutcomeKind::kLeft, 0, "a thread whose functions have all returned");
    call_function(self, function.value(), words);
    has_returned = true;
  }
}

void LiveWorld::end_thread(LiveThread& thread, std::uint64_t result) {
  run_thread_exit(*this, thread);
  synchronise(*thread.thread);
  KnownThread& known = history_.threads[thread.thread->id()];
  known.has_ended = true;
  known.result = result;
  thread.state = LiveThread::State::kEnded;
  thread.thread->leave(Outcome::kEnded);
}

LiveThread& LiveWorld::start_thread(std::uint64_t function, std::uint64_t argument) {
  Thread& thread = world_.add_thread();
  LiveThread& live = threads_[thread.id()];
  live.thread = &thread;
  live.start_function = function;
  live.start_argument = argument;
  history_.threads[thread.id()].handle = memory().allocate_static(8).value();
  return live;
}

std::uint64_t LiveWorld::handle_of(const LiveThread& thread) {
  KnownThread& known = history_.threads[thread.thread->id()];
  if (known.handle == 0) known.handle = memory().allocate_static(8).value();
  return known.handle;
}

LiveThread* LiveWorld::thread_of_handle(std::uint64_t handle, ThreadId& id) {
  for (const auto& [candidate, known] : history_.threads) {
    if (known.handle != handle || known.is_joined) continue;
    id = candidate;
    const auto found = threads_.find(candidate);
    return found == threads_.end() ? nullptr : &found->second;
  }
  return nullptr;
}

void LiveWorld::exit_process(LiveThread& thread, int code, bool runs_handlers) {
  if (runs_handlers && !is_exiting_) {
    is_exiting_ = true;
    run_thread_exit(*this, thread);
    while (!history_.exit_handlers.empty()) {
      const ExitHandler handler = history_.exit_handlers.back();
      history_.exit_handlers.pop_back();
      // The C++ library's own are about its buffers.
      if (world_.program().function_at(Address(handler.function)) == nullptr) continue;
      call_function(thread, handler.function,
                    handler.has_argument ? std::vector{handler.argument} : std::vector<std::uint64_t>());
    }
  }
  end(OutcomeKind::kExited, code & 0xff, "");
}

// --- The end

void LiveWorld::unreachable(Thread&) {
  end(OutcomeKind::kSignal, 4, "control came where the compiler says it never does");
}

void LiveWorld::trapped(Thread& thread, int signal) {
  running_ = &of(thread);
  end(OutcomeKind::kSignal, signal, signal == 11 ? "the stack is full" : "");
}

void LiveWorld::failed(Thread&, const std::string& what) { end(OutcomeKind::kFailed, 0, what); }

std::string LiveWorld::place_of(const Thread& thread) const {
  const SiteId site = const_cast<Thread&>(thread).hot() == nullptr
                          ? thread.last_site()
                          : SiteId(const_cast<Thread&>(thread).hot()->site);
  return site.value() == 0 ? std::string("no place known") : replay::place_of(world_.program(), site).text();
}

MemoryState LiveWorld::memory_state() const {
  MemoryState state;
  std::uint64_t digest = 0;
  for (const Memory::Change& change : history_.memory.changes()) {
    for (const std::uint64_t part : {change.address.value(), change.after, std::uint64_t{change.known_after}})
      digest = dh_record_mix(digest, part, state.count);
    ++state.count;
    if (state.changes.size() >= options_.changes) continue;
    MemoryChange told{change.address,      change.before,      change.after,
                      change.known_before, change.known_after, {}};
    if (global_at(world_.program(), change.address)) told.name = describe(change.address);
    state.changes.push_back(std::move(told));
  }
  state.digest = digest;
  return state;
}

LiveResult LiveWorld::result_so_far() const {
  LiveResult result;
  if (running_ != nullptr) {
    result.thread = running_->thread->id();
    result.place = place_of(*running_->thread);
  }
  result.output = output_;
  result.output_bytes = output_bytes_;
  result.steps = steps_;
  result.uninitialised_reads = uninitialised_reads;
  result.guessed_bytes = guessed_bytes;
  for (const auto& [id, thread] : threads_) {
    const bool is_waiting = thread.state == LiveThread::State::kBlocked;
    result.threads.push_back({id,
                              thread.state == LiveThread::State::kEnded ? "ended"
                              : is_waiting                              ? "waits for " + thread.waits_for
                                                                        : "runs",
                              place_of(*thread.thread)});
  }
  result.regions_ended = regions_ended_;
  result.after_regions = after_regions_;
  result.at_end = memory_state();
  return result;
}

void LiveWorld::end(OutcomeKind kind, std::int64_t code, std::string what) {
  LiveResult result = result_so_far();
  result.kind = kind;
  result.code = code;
  result.what = std::move(what);
  finish_(result);
  std::abort();
}

}  // namespace deadheat::replay::live
