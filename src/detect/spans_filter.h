// spans: drops accesses that cannot show the detector behind it anything new. Exact.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "detect/detector.h"
#include "detect/pipeline.h"
#include "detect/spans.h"

namespace deadheat::detect {

class SpansFilter final : public Filter {
 public:
  SpansFilter(StageContext context, DropRule rule);
  void on_event(EventIndex index, const Event& event) override;
  Statistics statistics() const override;
  std::uint64_t memory_bytes() const override;

 private:
  struct Thread {
    Thread() { span.start(1); }
    SpanClock<ObjectId, 16> span;
    std::uint64_t sections = 1;  // synchronisations so far
    std::uint64_t changes = 1;   // events that are neither reads nor branches so far
    std::uint32_t held = 0;
  };
  // What is remembered of accesses: a cache, direct-mapped. Forgetting one only means dropping less.
  struct Remembered {
    ObjectId location;
    ThreadId thread;
    SiteId site;
    std::uint64_t write = 0;  // label, section or change of the last write let through; 0: none
    std::uint64_t read = 0;   // of the last access let through
    std::uint32_t held = 0;
    std::uint32_t writes = 0;  // kReads: writes of the location by any thread so far
  };
  struct Lock {
    ThreadId releaser = ThreadId(~std::uint32_t{0});
    bool observed = false;  // somebody else has taken it since
  };
  struct Location {
    ThreadId last = ThreadId(~std::uint32_t{0});
    std::uint32_t writes = 0;
    SiteId site;         // kLockset: where the last access was
    bool wrote = false;  // kLockset: and whether it was a write
  };

  Thread& thread(ThreadId id);
  bool is_over(ThreadId id) const { return id.index() < joined_.size() && joined_[id.index()]; }
  void on_sync(const Event& event);
  bool covered(Thread& thread, const Event& event);

  DropRule rule_;
  std::vector<std::unique_ptr<Thread>> threads_;  // none if it has not begun, or was joined
  std::vector<bool> joined_;
  std::vector<Lock> locks_;
  std::vector<Location> locations_;
  std::vector<Remembered> cache_;
  std::uint64_t evicted_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace deadheat::detect
