// Which invisible functions an analysis need not worry about.
//
// The runtime tells what library functions read, write and synchronise for the program
// (docs/interposition.md), from whatever code they are called. What remains is code that synchronises by its
// own instructions, where nobody sees it. The C and C++ libraries and the OpenMP runtime do not, beyond what
// the runtime tells.
#pragma once

#include <string_view>

namespace deadheat::replay {

// By its (mangled) name.
bool is_known_function(std::string_view name);

}  // namespace deadheat::replay
