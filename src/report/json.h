// The JSON report, schema "deadheat-report/1": the contract with scripts and CI. docs/reports.md lists every
// field.
#pragma once

#include <string>

#include "report/finding.h"

namespace deadheat::report {

std::string render_json(const Report& report);

}  // namespace deadheat::report
