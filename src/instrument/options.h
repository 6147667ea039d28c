// What the plugin is asked to do: the lane, and a switch per optimisation.
//
// The wrappers say it in the variable DEADHEAT_PLUGIN_OPTIONS, a comma-separated list: `mode=watch`, `stats`,
// and `+name` or
// `-name` for a switch (`all` is every switch). An environment variable and not -mllvm, because clang reads
// -mllvm before it loads a pass plugin.
#pragma once

#include <array>
#include <bitset>
#include <string>
#include <string_view>

#include "base/result.h"

namespace deadheat::instrument {

enum class Optimisation {
  kEscape,      // memory that no other thread can reach is not checked
  kReadWrite,   // a read followed by a write of the same bytes is checked as the write
  kDominated,   // an access covered by an earlier check on every path is not checked again
  kNeighbours,  // neighbouring accesses of one line of a block become one check
  kLoops,       // accesses of a counted loop become one check before the loop
  kSyncFree,    // calls to functions without synchronisation end nothing
  kScopes,      // variables of a loop's body keep what is known of them from round to round
  kHanded,      // locals handed to functions that let go of nothing are not checked
  kInline,      // hot hooks are inlined
  kDirect,      // what will be part of an executable addresses the runtime, which is, directly (watch lane)
  kVersions,    // functions in two versions (monitor lane)
  kCount,
};

inline constexpr std::array<std::string_view, static_cast<size_t>(Optimisation::kCount)> kOptimisationNames =
    {"escape", "readwrite", "dominated", "neighbours", "loops",   "syncfree",
     "scopes", "handed",    "inline",    "direct",     "versions"};

struct Options {
  std::string mode = "watch";
  bool statistics = false;
  bool is_marked = false;  // the front end said which functions to watch (sanitizer_marks.h)
  std::bitset<static_cast<size_t>(Optimisation::kCount)> enabled =
      std::bitset<static_cast<size_t>(Optimisation::kCount)>().set();

  bool is_on(Optimisation optimisation) const {
    // What is handed down leaves no records behind, and its life needs no end, because its checks are left
    // out as those of private memory are.
    if (optimisation == Optimisation::kHanded && !enabled[static_cast<size_t>(Optimisation::kEscape)])
      return false;
    return enabled[static_cast<size_t>(optimisation)];
  }
};

// Applies a list of switches (`-dominated,+loops,-all`) to `options`.
Status apply_switches(std::string_view list, Options& options);

// Parses the whole of DEADHEAT_PLUGIN_OPTIONS.
Result<Options> parse_options(std::string_view text);

}  // namespace deadheat::instrument
