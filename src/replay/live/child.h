// A process for a live world: forked, limited, heard out and gone.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace deadheat::replay::live {

struct ChildLimits {
  double seconds = 20;       // of the clock
  bool keeps_files = false;  // what is open stays open: it has to read the log on
};

enum class ChildEnd : std::uint8_t { kAnswered, kTimedOut, kDied };

struct ChildAnswer {
  ChildEnd end = ChildEnd::kDied;
  std::string bytes;  // kAnswered: all of them
  int signal = 0;     // kDied: of this; 0: it just ended
};

// Forks, runs `work` in the child and returns what it told before it ended. `work` is given a function that
// tells the parent and ends the process; if it returns, the process ends untold. The child has no descriptor
// but its pipe, standard input, output and error are /dev/null; it dies with its parent.
Result<ChildAnswer> run_child(
    const ChildLimits& limits,
    const std::function<void(const std::function<void(const std::string&)>& tell)>& work);

}  // namespace deadheat::replay::live
