// `mcm`: every race that can be inferred from the trace, and none that cannot happen.
//
// Maximal causality (J. Huang, P. Meredith, G. Rosu: Maximal sound predictive race detection with control
// flow abstraction, PLDI 2014), decided by an SMT solver per candidate pair. docs/prediction.md has the
// definition, the guarantee and its limits; order_search.h the encoding and where it departs from the paper;
// predictor.h the whole. `enter` and `leave` do nothing here: on traces with missing parts use `rdit`.
//
// Promises: sound (every race has a witness that an independent checker has replayed) and, but for what is
// counted as undecided, complete: for each pair of places with a predictable race, one such race. Cost:
// solver.
#pragma once

#include <string>
#include <vector>

#include "detect/detector.h"
#include "detect/predictor.h"

namespace deadheat::detect {

// Collects the trace and predicts when it ends.
class PredictingStage : public Stage {
 public:
  PredictingStage(StageContext context, PredictorOptions predictor)
      : Stage(std::move(context)), predictor_(predictor) {}

  void on_event(EventIndex index, const Event& event) override;
  void finish() override;
  Statistics statistics() const override { return statistics_; }
  std::string incomplete() const override { return incomplete_; }
  std::uint64_t memory_bytes() const override {
    return events_.capacity() * sizeof(Event) + indices_.capacity() * sizeof(EventIndex);
  }

 private:
  const PredictorOptions predictor_;
  std::vector<Event> events_;
  std::vector<EventIndex> indices_;  // in the whole trace
  Statistics statistics_;
  std::string incomplete_;
};

class Mcm final : public PredictingStage {
 public:
  explicit Mcm(StageContext context) : PredictingStage(std::move(context), {.barriers = false}) {}
};

}  // namespace deadheat::detect
