// One self-contained page: works offline, light or dark as the reader's system is, and without scripts but
// for the filter.
#pragma once

#include <string>

#include "report/finding.h"

namespace deadheat::report {

std::string render_html(const Report& report);

}  // namespace deadheat::report
