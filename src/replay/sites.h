// Where a site is in the sources, from the debug locations of the program's IR.
#pragma once

#include <string>
#include <vector>

#include "base/strong_id.h"
#include "replay/observer.h"

namespace deadheat::replay {

class Program;

struct Place {
  std::string function;  // as a person knows it: demangled
  std::string file;      // as the compiler was given it; empty if unknown
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  std::string text() const;  // "bank.cpp:12:7 in deposit(int)"
};

// The place itself, then the places it was inlined at, innermost first. One place at least.
std::vector<Place> places_of(const Program& program, SiteId site);
Place place_of(const Program& program, SiteId site);

// What a site that is a call calls, by name: "malloc", "pthread_create"; empty if it is not known or no call.
std::string callee_of(const Program& program, SiteId site);

// A function's own place.
Place place_of(const Program& program, FunctionId function);

}  // namespace deadheat::replay
