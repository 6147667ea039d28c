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

// What the program calls the local that is born at `site` (Observer::on_local), and where it declares it.
// Empty names if there is no debug information.
struct LocalPlace {
  std::string name;
  std::string file;
  unsigned line = 0;
};
LocalPlace local_of(const Program& program, SiteId site);

}  // namespace deadheat::replay
