// fasttrack: the first race of each location, in the order that was observed.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "detect/clocks.h"
#include "detect/detector.h"
#include "detect/epoch.h"

namespace deadheat::detect {

class FastTrack final : public Stage {
 public:
  explicit FastTrack(StageContext context) : Stage(std::move(context)) {}

  void on_event(EventIndex index, const Event& event) override;
  void on_batch(EventIndex first, std::span<const Event> events) override;
  Statistics statistics() const override;
  std::uint64_t memory_bytes() const override;
  bool sees_atomics() const override { return true; }

 private:
  // Clocks start at 1, so no epoch has the clock 0.
  static constexpr Epoch kShared = Epoch::special(std::uint64_t{1} << 63);  // in `read`: see readers_
  static constexpr Epoch kRaced =
      Epoch::special(std::uint64_t{3} << 62);  // in `write`: nothing more to find here

  struct Cell {
    Epoch write;
    Epoch read;
    EventIndex write_index;
    EventIndex read_index;  // or the number of the list in readers_
    SiteId write_site;
    SiteId read_site;
  };
  static_assert(sizeof(Cell) == 40, "one per location");

  // Reads that are not ordered among themselves: the last one of each slot.
  struct Reader {
    Epoch epoch;
    EventIndex index;
    SiteId site;
  };

  // The last atomic read and write of each slot at a location that is accessed atomically.
  struct AtomicAccess {
    Epoch epoch;
    EventIndex index;
    SiteId site;
    bool is_write;
  };

  void on_atomic(EventIndex index, const Event& event);
  // Reports a race with an earlier atomic access, if there is one. REQUIRES: `event` is a plain access.
  bool races_with_atomics(Cell& cell, const ThreadTime& time, EventIndex index, const Event& event);
  void on_read(EventIndex index, const Event& event);
  void on_write(EventIndex index, const Event& event);
  void race(Cell& cell, EventIndex first, EventKind kind, Epoch epoch, SiteId site, EventIndex index,
            const Event& event, bool is_atomic = false);
  Cell& cell(ObjectId location);
  void drop_readers(Cell& cell);

  SyncClocks clocks_;
  std::vector<Cell> cells_;
  std::vector<std::vector<Reader>> readers_;
  std::vector<std::uint32_t> free_readers_;
  std::unordered_map<std::uint64_t, std::vector<AtomicAccess>> atomics_;

  std::uint64_t read_same_epoch_ = 0;
  std::uint64_t read_exclusive_ = 0;
  std::uint64_t read_share_ = 0;
  std::uint64_t read_shared_ = 0;
  std::uint64_t write_same_epoch_ = 0;
  std::uint64_t write_exclusive_ = 0;
  std::uint64_t write_shared_ = 0;
  std::uint64_t after_race_ = 0;
  std::uint64_t races_ = 0;
};

}  // namespace deadheat::detect
