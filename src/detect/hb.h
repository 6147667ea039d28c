// hb: every pair of sites with two unordered accesses, in the order that was observed.
#pragma once

#include "detect/clocks.h"
#include "detect/detector.h"
#include "detect/site_history.h"

namespace deadheat::detect {

class HappensBefore final : public Stage {
 public:
  explicit HappensBefore(StageContext context) : Stage(std::move(context)) {}
  void on_event(EventIndex index, const Event& event) override;
  void on_batch(EventIndex first, std::span<const Event> events) override;
  Statistics statistics() const override;
  bool sees_atomics() const override { return true; }
  std::uint64_t memory_bytes() const override { return history_.bytes() + clocks_.bytes(); }

 private:
  SyncClocks clocks_;
  SiteHistory history_;
  std::uint64_t races_ = 0;
};

}  // namespace deadheat::detect
