// What a live world needs to know of the replay before it: its memory, who holds which lock, which threads
// there are.
//
// An observer of the replay, and told of calls into invisible code by the hooks of live code: what a known
// library function did is in its arguments, and partly in no event (that a condition was signalled, that a
// guard is released). What invisible code writes and no table names is only noticed when the program loads
// it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "replay/live/globals.h"
#include "replay/live/input.h"
#include "replay/live/memory.h"
#include "replay/live/unseen_writes.h"
#include "replay/observer.h"

namespace deadheat::replay {
class Thread;
class World;
struct OpenCall;
}  // namespace deadheat::replay

namespace deadheat::replay::live {

struct Lock {
  ThreadId owner;
  std::uint32_t depth = 0;     // held exclusively as often by `owner`; 0: not
  std::set<ThreadId> readers;  // hold it shared
  std::uint32_t kind = ~0u;    // of a mutex, as in pthread_mutexattr_settype; ~0: ask the memory
};

struct Barrier {
  std::uint32_t participants = 0;
  std::uint32_t arrived = 0;
  std::uint64_t generation = 0;
};

struct ExitHandler {
  std::uint64_t function = 0;
  std::uint64_t argument = 0;
  bool has_argument = false;
};

struct SignalAction {
  std::uint64_t handler = 0;  // 0: the default, History::kIgnored
  bool has_info = false;      // it takes three arguments
};

// Thread-specific data of pthread keys.
struct Specifics {
  std::map<std::pair<ThreadId, std::uint32_t>, std::uint64_t> values;  // by thread and key
  std::map<std::uint32_t, std::uint64_t> destructors;                  // of keys of the live world
  std::vector<std::pair<Address, std::uint64_t>> created;              // before: where the key is, its own
  std::uint32_t next_key = 1000;
};

struct KnownThread {
  bool has_ended = false;
  bool is_joined = false;
  bool is_detached = false;
  std::uint64_t result = 0;
  Address handle_at;         // where pthread_create wrote its handle; 0 if unknown
  std::uint64_t handle = 0;  // 0 if unknown
};

struct History final : public Observer {
 public:
  // REQUIRES: a world of live code, not run yet. Adds itself to its observers. One at a time.
  explicit History(World& world);
  ~History() override;
  static History* current();

  // Observer
  void on_thread_end(ThreadId thread, const recording::End&) override;
  void on_access(const Access& access) override {
    if (is_anyone_kept_ && !access.is_write &&
        memory.image().read(access.address, access.size) != access.value &&
        memory.image().read(access.address, access.size))
      ++strange_reads;
    memory.image().on_access(access);
    if (!unseen_handles_.empty() && !access.is_write) see_handle(access);
  }
  void on_library_access(ThreadId thread, SiteId site, const recording::LibraryAccess& access) override {
    memory.image().on_library_access(thread, site, access);
  }
  void on_sequencer(ThreadId thread, SiteId site, const recording::Sequencer& sequencer) override;

  // Of a mutex: kRecursiveMutex, or another kind of pthread_mutexattr_settype.
  static constexpr std::uint32_t kRecursiveMutex = 1;
  std::uint32_t kind_of(Lock& lock, std::uint64_t mutex);

  // From the hooks.
  void on_call(const Thread& thread, const OpenCall& call);
  void after_call(Thread& thread, const OpenCall& call);
  void on_opaque(Thread& thread, SiteId site, std::uint64_t value);

  // Addresses of thread-local variables.
  std::optional<std::uint64_t> thread_local_at(ThreadId thread, const std::string& name) const;
  std::optional<std::uint64_t> thread_local_at(ThreadId thread, const llvm::GlobalValue& global) const;
  void note_thread_local(ThreadId thread, const Instance& instance, const llvm::GlobalValue& global,
                         std::uint64_t address);

  // When the world goes live.
  void complete();

  // A thread stands still from now on. What the others read then should be what is there: if it is not, they
  // saw what that thread did later.
  void on_kept() { is_anyone_kept_ = true; }
  std::uint64_t strange_reads = 0;

  // What live worlds are given when they read from outside; who notes it, in a replay beyond the stops.
  Input input;
  InputRecorder* input_recorder = nullptr;
  // Told of memory that a library call may have changed unseen; in a replay beyond the stops.
  std::function<void(Address, std::uint64_t)> on_unseen_write;

  Memory memory;
  std::unique_ptr<Globals> globals;
  std::unordered_map<std::uint64_t, Lock> locks;
  std::unordered_map<std::uint64_t, Barrier> barriers;
  std::unordered_map<std::uint64_t, std::int64_t> semaphores;
  std::unordered_map<std::uint64_t, std::vector<ThreadId>> waiters;  // of a condition variable, not woken yet
  std::unordered_set<std::uint64_t> once_done;
  std::vector<ExitHandler> exit_handlers;
  std::map<ThreadId, KnownThread> threads;
  std::unordered_map<std::uint64_t, std::uint32_t> mutex_attributes;
  std::map<int, SignalAction> signal_actions;
  std::uint64_t blocked_signals = 0;
  Specifics specifics;
  std::map<ThreadId, std::vector<ExitHandler>> thread_exit_handlers;
  struct Sort {
    Address array;
    std::string given;
  };
  std::map<ThreadId, Sort> sorts;  // that have not ended

  // Signals: sets of them are words with a bit each.
  static constexpr std::uint64_t kIgnored = 1;    // SIG_IGN
  static constexpr std::uint64_t kFlagsAt = 136;  // in struct sigaction
  static std::uint64_t bit_of(std::uint32_t signal) {
    return signal == 0 || signal > 64 ? 0 : std::uint64_t{1} << (signal - 1);
  }
  static std::uint64_t masked(std::uint64_t before, std::uint32_t how, std::uint64_t set) {
    return how == 0 ? before | set : how == 1 ? before & ~set : set;
  }
  // From a struct sigaction in memory.
  void set_action(int signal, Address action);
  std::uint64_t destructor_of(std::uint32_t key) const;  // 0 if none

 private:
  enum class Effect : std::uint8_t;
  Effect effect_of(std::uint64_t target) const;

  void see_handle(const Access& access);
  void note_input(const Thread& thread, const OpenCall& call);
  void note_unseen_writes(const OpenCall& call);

  World& world_;
  bool is_anyone_kept_ = false;
  std::unordered_map<std::uint64_t, ThreadId> unseen_handles_;  // by where they were written
  std::unordered_map<std::uint64_t, Effect> effects_;
  std::unordered_map<std::uint64_t, UnseenWrites> unseen_writes_;  // by function, as they are called
  // By thread and name, or by thread and variable for those that only their module knows.
  std::map<std::pair<ThreadId, std::string>, std::uint64_t> thread_locals_;
  enum class SiteKind : std::uint8_t { kNotLookedAt, kOther, kLocal, kThreadLocal };
  std::vector<SiteKind> sites_;
  std::map<ThreadId, bool> awaits_self_;  // the next opaque value is a pthread_self()
};

}  // namespace deadheat::replay::live
