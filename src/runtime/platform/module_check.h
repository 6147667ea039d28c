// Is a part of the program made for the runtime it is linked with?
#pragma once

#include <stdint.h>

namespace deadheat::platform {

// Ends the program with one clear line (exit code 70) unless the module was instrumented for this version of
// the hooks and for this lane.
void check_module(uint32_t module_version, uint32_t own_version, const char* module_mode,
                  const char* own_mode);

}  // namespace deadheat::platform
