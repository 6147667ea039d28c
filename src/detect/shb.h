// shb: races that some schedule shows, by schedulable happens-before.
#pragma once

#include <vector>

#include "detect/clocks.h"
#include "detect/detector.h"
#include "detect/site_history.h"

namespace deadheat::detect {

class SchedulableHappensBefore final : public Stage {
 public:
  explicit SchedulableHappensBefore(StageContext context) : Stage(std::move(context)) {}
  void on_event(EventIndex index, const Event& event) override;
  void on_batch(EventIndex first, std::span<const Event> events) override;
  Statistics statistics() const override;
  std::uint64_t memory_bytes() const override {
    return history_.bytes() + clocks_.bytes() + last_writes_.capacity() * sizeof(Moment);
  }

 private:
  SyncClocks clocks_;
  SiteHistory history_;
  std::vector<Moment> last_writes_;
  std::uint64_t reads_ordered_ = 0;
  std::uint64_t reads_known_ = 0;
  std::uint64_t races_ = 0;
};

}  // namespace deadheat::detect
