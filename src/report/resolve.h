// From a raw log to instances: addresses become places, runtime frames disappear, each access gets the place
// that a person would point at.
#pragma once

#include "report/finding.h"
#include "report/raw.h"
#include "report/symbolizer.h"

namespace deadheat::report {

// One finding per race of the log, not merged, with no fingerprint yet.
Finding resolve(const RawLog& log, const RawRace& race, Symbolizer& symbolizer);

}  // namespace deadheat::report
