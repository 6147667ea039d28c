// deadheat replay --look: commands from standard input, answers to standard output.
#pragma once

#include "recording/reader.h"

namespace deadheat::cli {

// The result is the exit code.
int replay_look(const recording::Reader& recording);

}  // namespace deadheat::cli
