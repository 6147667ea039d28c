// Recordings and replays as JSON, for scripts: docs/recordings.md and docs/replay.md describe the members.
#pragma once

#include <string>

#include "recording/checker.h"
#include "recording/reader.h"
#include "replay/world.h"

namespace deadheat::cli {

// `deadheat recording stat --json`.
std::string json_of(const recording::Reader& reader, const recording::Summary& summary);

// `deadheat replay --json`; `place` is where a divergence was noticed.
std::string json_of(const recording::Reader& reader, const replay::Summary& summary,
                    const std::string& place);

}  // namespace deadheat::cli
