#include "detect/mcm.h"

#include <string>

#include "detect/candidates.h"

namespace deadheat::detect {

void PredictingStage::on_event(EventIndex index, const Event& event) {
  if (failure()) return;
  events_.push_back(event);
  indices_.push_back(index);
}

void PredictingStage::finish() {
  if (failure()) return;
  PredictorOptions predictor = predictor_;
  // Cuts count events of the trace, so they cannot say what is left of it behind a filter.
  if (!indices_.empty() && indices_.back().value() + 1 != indices_.size())
    predictor.witness_events = UINT64_MAX;
  Result<Prediction> prediction = predict(events_, names(), options(), predictor);
  if (!prediction.ok()) {
    bool all = true;
    const std::uint64_t undecided = count_pairs_of_places(events_, Budget(kGrace, options().cancelled), all);
    statistics_ = {
        {"undecided", undecided}, {"model_built", 0}, {"all_listed", all ? 1u : 0u}, {"complete", 0}};
    // What other detectors of the same run have found is not lost by that.
    return fail(std::string(name()) + ": " + prediction.error().message + "; " + (all ? "" : "at least ") +
                std::to_string(undecided) + " pair" + (undecided == 1 ? "" : "s") + " of places undecided");
  }
  statistics_ = prediction->statistics;
  if (!prediction->complete && (prediction->undecided > 0 || !prediction->all_listed)) {
    incomplete_ = std::string(prediction->model_built ? "" : "was still preparing; ") + "left " +
                  (prediction->all_listed ? "" : "at least ") + std::to_string(prediction->undecided) +
                  " pair" + (prediction->undecided == 1 ? "" : "s") + " of places undecided" +
                  (options().is_cancelled() ? " when it was interrupted" : "");
  }
  for (const PredictedRace& race : prediction->races) {
    std::vector<EventIndex> witness;
    witness.reserve(race.witness.size());
    for (std::uint64_t position : race.witness) witness.push_back(indices_[position]);
    report({indices_[race.first], events_[race.first]}, {indices_[race.second], events_[race.second]},
           std::move(witness), race.cut);
  }
}

}  // namespace deadheat::detect
