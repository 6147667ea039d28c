#include "detect/mcm.h"

#include <string>

namespace deadheat::detect {

void PredictingStage::on_event(EventIndex index, const Event& event) {
  if (failure()) return;
  events_.push_back(event);
  indices_.push_back(index);
}

void PredictingStage::finish() {
  if (failure()) return;
  Result<Prediction> prediction = predict(events_, names(), options(), predictor_);
  if (!prediction.ok()) return fail(std::string(name()) + ": " + prediction.error().message);
  statistics_ = prediction->statistics;
  for (const PredictedRace& race : prediction->races) {
    std::vector<EventIndex> witness;
    witness.reserve(race.witness.size());
    for (std::uint64_t position : race.witness) witness.push_back(indices_[position]);
    report({indices_[race.first], events_[race.first]}, {indices_[race.second], events_[race.second]},
           std::move(witness));
  }
}

}  // namespace deadheat::detect
