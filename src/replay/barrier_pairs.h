// Calls into invisible code as BarrierPairs: `enter` and `leave` events with the locations that the code can
// reach (reachable.h), for the detector `rdit`.
//
// Every invisible call counts but for functions that are known (known_functions.h) and those that the program
// itself excludes from instrumentation by an attribute. A call that can reach nothing is no event. A thread
// that was started by such code runs it from its first to its last moment: it can reach what the call that
// started it could.
//
// An observer beside RaceEvents, told after it; and in a pass of its own before, to mark all that is reached:
// accesses there are events even if only one thread makes them. Calls that reach the same allocations share
// one set of locations, which is looked up by the allocations and not made again.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "replay/locations.h"
#include "replay/observer.h"
#include "replay/reachable.h"
#include "trace/event.h"
#include "trace/names.h"

namespace deadheat::replay {

class Program;

// First pass: is there any such call?
class InvisibleCalls final : public Observer {
 public:
  explicit InvisibleCalls(const Program& program) : program_(program) {}
  bool wants_calls() const override { return true; }
  void on_invisible_arguments(ThreadId, SiteId site, std::span<const CallWord> arguments) override;
  std::uint64_t unknown() const { return unknown_; }

 private:
  const Program& program_;
  std::unordered_map<std::uint32_t, bool> known_;  // by site
  std::uint64_t unknown_ = 0;
};

class BarrierPairs final : public Observer {
 public:
  using Sink = std::function<void(const Event&)>;

  // `sets` receives the sets of locations; a further pass over the same recording finds them there again.
  BarrierPairs(const Program& program, Locations& locations, ReachableSets& sets, Sink sink)
      : program_(program), locations_(locations), sets_(sets), sink_(std::move(sink)), reachable_(program) {}

  bool wants_calls() const override { return true; }
  void on_thread_begin(ThreadId thread) override;
  void on_access(const Access& access) override { reachable_.on_access(access); }
  void on_library_access(ThreadId thread, SiteId site, const recording::LibraryAccess& access) override {
    reachable_.on_library_access(thread, site, access);
  }
  void on_sequencer(ThreadId thread, SiteId site, const recording::Sequencer& sequencer) override;
  void on_local(ThreadId thread, SiteId site, Address address, std::uint64_t size) override {
    reachable_.on_local(thread, site, address, size);
  }
  void on_local_end(ThreadId thread, SiteId site, Address address, std::uint64_t size) override {
    reachable_.on_local_end(thread, site, address, size);
  }
  void on_invisible_arguments(ThreadId thread, SiteId site, std::span<const CallWord> arguments) override;
  void on_invisible_end(ThreadId thread) override;

  std::uint64_t calls() const { return calls_; }
  // Does invisible code of one thread reach what another thread accesses, or its invisible code reaches?
  bool is_shared() const { return is_shared_; }
  // Marks what is reached: a pass of its own, before the one whose events count.
  void mark_reached() { is_marking_ = true; }
  // Calls that could reach too much to be looked at.
  std::uint64_t unbounded() const { return unbounded_; }

 private:
  static constexpr std::uint32_t kNoSet = ~std::uint32_t{0};

  struct Call {
    std::uint32_t set = kNoSet;
    std::vector<Allocation> reach;  // what it allocates included
  };

  // kNoSet: it reaches nothing.
  std::uint32_t set_of(ThreadId thread, const Reach& reach);
  void emit(EventKind kind, ThreadId thread, SiteId site, std::uint32_t set);

  const Program& program_;
  Locations& locations_;
  ReachableSets& sets_;
  Sink sink_;
  Reachable reachable_;
  std::unordered_map<std::uint32_t, bool> known_;  // by site
  std::map<std::vector<AllocationId>, std::uint32_t> by_allocations_;
  std::unordered_map<std::uint64_t, std::uint32_t> reached_by_;  // an allocation: by whose code, + 1
  std::vector<std::vector<Call>> open_;                          // by thread, innermost last; known ones too
  std::unordered_map<std::uint32_t, std::uint32_t> root_;        // a thread's own first code: its set
  std::uint64_t calls_ = 0;
  std::uint64_t unbounded_ = 0;
  bool is_shared_ = false;
  bool is_marking_ = false;
};

}  // namespace deadheat::replay
