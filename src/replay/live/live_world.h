// A live world: a replayed world that goes on without its log.
//
// It exists in a process of its own, forked from a replay whose threads stand somewhere: two of them before
// accesses that race, the others where the recorded order had brought them. From there on every load is
// answered from the memory image, every call into invisible code by a model of it (models.h), and threads
// take turns as this file decides: the same choice every time, so that what differs between two live worlds
// of one replay differs because of the order of the two accesses.
//
// Nothing reaches the outside: models do what they do to the image and to buffers. Whatever is not known ends
// the world with an outcome that says so; there is no guessing on.
//
//   the first access, the second access
//   both threads to their next synchronisation   (what memory is then is noted)
//   all threads, in turn, until the program ends, nobody can go on, or the budget is used up
//
// A turn ends when a thread blocks, yields, or has made `kTurnSteps` steps; a step is an access, an atomic
// operation or a call into invisible code.
//
// A thread that the recording had left inside a library call (it waits for a lock, say) makes that call
// anew, as a model; one that had already done a part of it is helped by the model's second half, where it has
// one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "replay/live/history.h"
#include "replay/live/outcome.h"
#include "replay/thread.h"
#include "replay/world.h"

namespace llvm {
class GlobalValue;
class LandingPadInst;
}  // namespace llvm

namespace deadheat::replay {
struct Instance;
}

namespace deadheat::replay::live {

struct LiveOptions {
  std::uint64_t steps = 50'000'000;  // of all threads together
  double seconds = 20;               // of the clock; the world's process is ended then
  bool stop_after_regions = false;
  std::size_t output_bytes = 1 << 20;  // kept of the output
  std::size_t changes = 256;           // words of memory in a result
};

// An exception on its way or being handled.
struct Exception {
  std::uint64_t object = 0;
  std::uint64_t type = 0;  // address of its std::type_info
  std::uint64_t destructor = 0;
  std::uint32_t handlers = 0;
  std::uint64_t adjusted = 0;  // the object as the handler's type sees it
};

struct LiveThread {
  enum class State : std::uint8_t { kReady, kBlocked, kEnded };

  Thread* thread = nullptr;
  State state = State::kReady;
  std::uint64_t turn = 0;              // steps left of it
  bool is_in_region = false;           // ends its turn at its next synchronisation
  std::function<bool()> can_go_on;     // blocked
  std::optional<std::uint64_t> until;  // blocked: gives up at this time
  bool has_timed_out = false;
  std::string waits_for;
  std::uint64_t start_function = 0;  // of a thread of the live world
  std::uint64_t start_argument = 0;
  bool is_std_thread = false;
  std::uint64_t results[kDhMaxResults] = {};  // of the call that just ended
  std::uint64_t jump_value = 0;               // of the setjmp that returns again
  struct Local {
    std::uint32_t frame;
    std::uint64_t before;
  };
  std::vector<Local> locals;
  std::uint64_t stack = 0;  // grows downwards
  std::uint64_t stack_limit = 0;
  std::optional<Exception> flying;
  std::vector<std::shared_ptr<Exception>> caught;
  std::uint64_t errno_at = 0;
  std::uint64_t pending_signals = 0;  // sent to it and not taken yet (History::bit_of)
  bool is_in_fault = false;           // runs a handler of a fault
};

class LiveWorld;

// A call as a model sees it.
struct ModelCall {
  LiveWorld& live;
  LiveThread& self;
  const OpenCall& open;
  std::string_view name;

  std::uint64_t word(std::size_t i) const;
  std::uint32_t word32(std::size_t i) const { return static_cast<std::uint32_t>(word(i)); }
  Address address(std::size_t i) const { return Address(word(i)); }
  double real(std::size_t i) const;
  void result(std::uint64_t value, std::size_t i = 0) { self.results[i] = value; }
  void result(double value);
};

class LiveWorld final : public Continuation {
 public:
  using Finish = std::function<void(const LiveResult&)>;  // does not return

  LiveWorld(World& world, History& history, const LiveOptions& options, Finish finish);
  static LiveWorld* current();

  // Runs the world to its end. On the scheduler's stack.
  [[noreturn]] void run(ThreadId first, ThreadId second);

  // --- From the hooks, on the thread's fiber
  void step(Thread& thread);
  // Before something that synchronises.
  void synchronise(Thread& thread);
  std::uint64_t load(Thread& thread, std::uint64_t address, std::uint32_t size);
  void store(Thread& thread, std::uint64_t address, std::uint64_t value, std::uint32_t size);
  void copy(Thread& thread, std::uint64_t to, std::uint64_t from, std::uint64_t size);
  std::uint64_t opaque(Thread& thread, SiteId site);
  // Of an instruction without a result.
  void effect(Thread& thread, SiteId site);
  // Variable arguments: `native` is x86-64's va_list of the mirrored function, `list` the program's.
  void start_arguments(Thread& thread, std::uint64_t list, const void* native);
  std::uint64_t copy_of_argument(Thread& thread, std::uint64_t pointer, std::uint64_t size);
  void call(Thread& thread, const OpenCall& call);
  // The recording had left it half done.
  void continue_call(Thread& thread, const OpenCall& call);
  void enter(Thread& thread);
  void resume_exception(Thread& thread);
  [[noreturn]] void unreachable(Thread& thread);

  // Continuation
  [[noreturn]] void run(Thread& thread) override;
  [[noreturn]] void trapped(Thread& thread, int signal) override;
  [[noreturn]] void failed(Thread& thread, const std::string& what) override;

  // --- For models
  Memory& memory() { return history_.memory; }
  History& history() { return history_; }
  Globals& globals() { return *history_.globals; }
  World& world() { return world_; }
  static constexpr std::uint32_t kProcess = 4711;  // the process's number, to itself
  [[noreturn]] void end(OutcomeKind kind, std::int64_t code, std::string what);
  // A signal that ends the program, after the program's own handler for it if there is one.
  [[noreturn]] void die_of(int signal, std::uint64_t address, const std::string& what);
  // A signal from one thread of the program to another.
  void send(LiveThread& from, LiveThread& to, int signal);
  // Checks that bytes may be read or written; a crash or memory error is the end.
  void check(Address address, std::uint64_t size, bool is_write);
  std::uint8_t load_byte(Address address);
  std::uint64_t load_number(Address address, std::uint32_t size);
  std::string load_text(Address address, std::uint64_t limit = ~std::uint64_t{0});  // up to a 0
  std::string load_bytes(Address address, std::uint64_t size);
  void store_bytes(Address address, std::string_view bytes);
  void store_number(Address address, std::uint64_t value, std::uint32_t size);
  void write_output(std::string_view text);
  // Waits until `can_go_on`; false: `until` came first.
  bool block(LiveThread& thread, std::string waits_for, std::function<bool()> can_go_on,
             std::optional<std::uint64_t> until = std::nullopt);
  void yield(LiveThread& thread);
  void synchronise(LiveThread& thread) { synchronise(*thread.thread); }
  std::uint64_t now() const { return clock_; }  // nanoseconds, made up: steps and sleeps
  // Calls a function of the program; its result is in the thread's results. An exception may be on its way
  // afterwards.
  void call_function(LiveThread& thread, std::uint64_t function, std::vector<std::uint64_t> words);
  LiveThread& start_thread(std::uint64_t function, std::uint64_t argument);
  LiveThread& thread_of(ThreadId id) { return threads_.at(id); }
  LiveThread* thread_of_handle(std::uint64_t handle, ThreadId& id);
  std::uint64_t handle_of(const LiveThread& thread);
  [[noreturn]] void end_thread(LiveThread& thread, std::uint64_t result);
  [[noreturn]] void exit_process(LiveThread& thread, int code, bool runs_handlers);
  std::uint64_t thread_local_address(LiveThread& thread, const Instance& instance,
                                     const llvm::GlobalValue& global);
  void throw_exception(LiveThread& thread, const Exception& exception);
  std::string describe(Address address) const;  // "balance+4", "0x7f..., in a block of 40 bytes"
  std::string place_of(const Thread& thread) const;
  std::uint64_t uninitialised_reads = 0;
  std::uint64_t guessed_bytes = 0;

 private:
  LiveThread& of(Thread& thread) { return threads_.at(thread.id()); }
  void adopt_threads();
  // Runs the handlers of signals that were sent to a thread and are not blocked.
  void take_signals(LiveThread& thread);
  void handle(LiveThread& thread, int signal, std::uint64_t address);
  void resume(LiveThread& thread, std::uint64_t turn);
  void run_regions(LiveThread& first, LiveThread& second);
  [[noreturn]] void run_all();
  bool wake_sleeper();
  std::uint64_t load_unknown(std::uint64_t address, std::uint32_t size);
  std::uint64_t allocate_local(LiveThread& thread, std::uint64_t size, std::uint64_t alignment);
  std::uint64_t type_number(std::uint64_t type);
  std::uint64_t selector_of(LiveThread& thread, const Instance& instance, const llvm::LandingPadInst& pad);
  MemoryState memory_state() const;
  LiveResult result_so_far() const;

  World& world_;
  History& history_;
  const LiveOptions options_;
  const Finish finish_;
  std::map<ThreadId, LiveThread> threads_;
  LiveThread* running_ = nullptr;
  std::uint64_t steps_ = 0;
  std::uint64_t clock_ = 1'700'000'000'000'000'000;
  std::string output_;
  std::uint64_t output_bytes_ = 0;
  bool regions_ended_ = false;
  bool is_exiting_ = false;
  MemoryState after_regions_;
  std::map<std::pair<ThreadId, const llvm::GlobalValue*>, std::uint64_t> thread_locals_;
  std::unordered_map<std::uint64_t, std::uint64_t> type_numbers_;
};

}  // namespace deadheat::replay::live
