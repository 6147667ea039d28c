// One replayed thread: its stream of items, its predictor, and the fiber on which its mirrored functions run.
//
// Mirrored code asks for values; as long as the predictor has them (`run` in DhReplay) nothing else happens.
// When the run is over, the next item of the stream says what happened in the recorded run just then: a
// value, a synchronisation, a call from invisible code into the program, an exception, a jump, the end. The
// methods here carry it out, on the thread's own fiber, called from the hooks (slow_hooks.cc).
//
// A thread may end in the middle of anything: control then leaves all its frames by longjmp to the fiber's
// first one. So no frame between that one and mirrored code may own anything.
#pragma once

#include <boost/context/fiber.hpp>
#include <csetjmp>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "recording/reader.h"
#include "replay/abi.h"
#include "replay/observer.h"

namespace deadheat::replay {

class World;

// A call into invisible code that has not returned yet. Live code only; lives in the hook's frame.
struct OpenCall {
  std::uint64_t target = 0;
  SiteId site;
  const std::uint64_t* words = nullptr;
  std::uint64_t count = 0;
  // What the log said of it so far.
  std::uint32_t sequencers = 0;
  std::uint32_t callbacks = 0;
  bool is_in_callback = false;
};

enum class Outcome : std::uint8_t {
  kNotStarted,
  kRunning,
  kEnded,     // its stream's end
  kStopped,   // before a sequencer beyond the wanted ones
  kDiverged,  // it did something else than the recorded thread
  kFailed,    // the recording is damaged or its code cannot be compiled
};

class Thread {
 public:
  Thread(World& world, recording::ThreadStream stream);
  // Of a live world, without a log: `stream` is never read.
  Thread(World& world, ThreadId id, recording::ThreadStream stream);
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  ThreadId id() const { return id_; }
  Outcome outcome() const { return outcome_; }
  bool is_done() const { return outcome_ > Outcome::kRunning; }
  const std::string& problem() const { return problem_; }  // kDiverged, kFailed
  const recording::End& end() const { return end_; }
  std::uint64_t regions() const { return regions_; }             // verified
  std::uint64_t values() const { return predicted_ + logged_; }  // asked for
  std::uint64_t logged_values() const { return logged_; }
  std::uint64_t stores() const { return stores_; }
  std::uint64_t instructions() const { return instructions_; }  // counted code only
  std::uint64_t last_number() const { return last_number_; }
  SiteId last_site() const { return last_site_; }  // of the last access before it was done, if observed
  const recording::ThreadStream& stream() const { return stream_; }
  DhReplay* hot() { return hot_; }
  SiteId call_site() const;  // of the innermost call, 0 if none

  // From the scheduler: runs the thread until it waits or is done.
  void resume();
  // Gives back everything but the figures. REQUIRES: is_done() or never started.
  void release();

  // From the hooks, on the fiber.
  std::uint64_t value(std::uint64_t address, std::uint32_t size);
  void nothing();
  void invisible();
  void resume_exception();
  [[noreturn]] void unreachable();
  // The sequencer of an atomic or fence that the code does now; a load may have none.
  void atomic_sequencer(unsigned operation, SiteId site);
  // What its accesses are (DhAccessFlags).
  std::uint32_t atomic_flags() const { return atomic_flags_; }
  void* jump_buffer(std::uint64_t environment);
  // If calls are observed: how many invisible ones are open, so that one that is left by a jump ends.
  void invisible_begins() { ++open_calls_; }
  void invisible_ends();
  [[noreturn]] void diverge(std::string what);
  [[noreturn]] void fail(std::string what);
  // From a signal handler: the code did what no processor does.
  [[noreturn]] void trapped(int signal);
  // Observed: a store is about to be made, and the log knows of one that faulted. If it is this one, what
  // its handler did comes now.
  void fault_at_store(std::uint64_t address, std::uint64_t value, std::uint32_t size);
  // From a timer's signal handler: is this a loop that the log says nothing about any more? A thread that was
  // killed or stopped in one would stay in it.
  void tick();

  // Live code. The thread is before the access it is to stop at.
  void stop_before_access();
  std::vector<OpenCall*>& live_calls() { return live_calls_; }
  // REQUIRES: it waits for its turn.
  const recording::Sequencer& next_sequencer() const { return item_.sequencer; }
  // The function that called back last with no call open: the thread's start routine, main.
  Address base_function() const { return base_function_; }
  bool base_has_returned() const { return base_has_returned_; }
  // Skips what the log says until a call-back; false: there is none.
  bool find_callback(Address& function, std::vector<std::uint64_t>& words);
  bool has_jump_buffer(std::uint64_t environment) const { return buffers_.contains(environment); }
  [[noreturn]] void jump(std::uint64_t environment);

  // Waits until the scheduler resumes the thread.
  void yield();
  [[noreturn]] void leave(Outcome outcome);

 private:
  struct JumpBuffer {
    std::jmp_buf context;
    std::uint32_t open_calls = 0;
    std::size_t live_calls = 0;
  };

  void body();
  void fetch();
  bool is_at_item() const { return hot_->run == 0 && !is_value(item_.tag); }
  // REQUIRES: is_at_item().
  void step();
  void pass_sequencer();
  bool is_of_fault() const;  // REQUIRES: the item is a sequencer
  bool matches(const recording::Sequencer& happened, std::uint64_t hash) const;
  void verify(const recording::Sequencer& happened);
  [[noreturn]] void differs(const recording::Sequencer& happened);
  [[noreturn]] void no_more();
  void sequencer(SiteId site);
  void callback();
  bool is_at_fault() const;  // of a store
  void note_fault(std::uint64_t kind);

  World& world_;
  const ThreadId id_;
  recording::ThreadStream stream_;
  recording::Item item_;
  DhReplay* hot_ = nullptr;
  boost::context::fiber fiber_;      // when it waits
  boost::context::fiber scheduler_;  // when it runs
  std::jmp_buf base_;
  std::unordered_map<std::uint64_t, std::unique_ptr<JumpBuffer>> buffers_;
  Outcome outcome_ = Outcome::kNotStarted;
  std::string problem_;
  recording::End end_{};
  std::uint64_t regions_ = 0;
  std::uint64_t predicted_ = 0;
  std::uint64_t logged_ = 0;
  std::uint64_t stores_ = 0;
  std::uint64_t instructions_ = 0;
  std::uint64_t last_number_ = 0;
  std::uint64_t sequenced_hash_ = 0;  // at the last sequencer
  SiteId last_site_;
  std::vector<OpenCall*> live_calls_;  // innermost last
  Address base_function_;
  bool base_has_returned_ = false;
  std::uint64_t ticked_hash_ = 0;
  std::uint32_t atomic_flags_ = 0;
  unsigned idle_ticks_ = 0;
  bool is_alone_ = false;  // sequencers need not wait, and nobody wants to know of them
  std::uint32_t open_calls_ = 0;
  // Faults whose handlers run: what the interrupted code's registers hold (runtime/record_faults.h).
  struct Fault {
    std::uint64_t hash;
    std::uint64_t run;
  };
  std::vector<Fault> faults_;
  std::uint64_t counted_again_ = 0;  // of the values before the next item
};

}  // namespace deadheat::replay
