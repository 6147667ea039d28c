// What the program calls the memory at an address.
#pragma once

#include <optional>
#include <string>

#include "replay/program.h"

namespace deadheat::replay {

struct GlobalPlace {
  std::string name;
  Address address;
  std::uint64_t size = 0;
};

// The global variable that contains an address, if the program's code refers to one there.
std::optional<GlobalPlace> global_at(const Program& program, Address address);

}  // namespace deadheat::replay
