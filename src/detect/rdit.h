// `rdit`: races of a trace from which parts of the program are missing, and none that cannot happen.
//
// RDIT (A. Rajagopalan: Fast and precise on-the-fly data race detection, thesis, chapter 4): a call into code
// that was not traced is a BarrierPair, `enter` and `leave` with the locations that the code can reach;
// whatever order that code may have made through these locations is kept. docs/prediction.md has the
// definition, in terms of acts of the missing code, and where it has to be stricter than the thesis's
// constraints to keep the promise of no false alarm; barrier_acts.h finds the acts; everything else is mcm's.
//
// Promises: sound for any behaviour of the missing code within its reachable locations; complete in that
// model, but for what is counted as undecided. Cost: as mcm, and a pass over the reachable locations of each
// call.
#pragma once

#include "detect/mcm.h"

namespace deadheat::detect {

class Rdit final : public PredictingStage {
 public:
  explicit Rdit(StageContext context) : PredictingStage(std::move(context), {.barriers = true}) {}
};

}  // namespace deadheat::detect
