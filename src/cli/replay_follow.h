// deadheat replay --follow: what depends on what one read gave.
#pragma once

#include <string>

#include "recording/reader.h"

namespace deadheat::cli {

// `read`: "1:12". The result is the exit code.
int replay_follow(const recording::Reader& recording, const std::string& read);

}  // namespace deadheat::cli
