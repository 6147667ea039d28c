// Vector time three ways, over the synchronisation of a trace alone: plain vector clocks, the shared copies
// of src/detect/clocks.h, and tree clocks.
#pragma once

#include <string>

namespace deadheat::bench {

// Prints a row per implementation. Ends the program if they disagree on what any thread knows at the end.
void compare_clocks(const std::string& path);

}  // namespace deadheat::bench
