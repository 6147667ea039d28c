// deadheat replay --both-orders: what becomes of the program after either order of two accesses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "recording/reader.h"
#include "replay/live/both_orders.h"

namespace deadheat::cli {

// "1:12": access 12 of thread 1.
std::optional<replay::Stop> parse_stop(const std::string& text);

// `stops`: "1:12", "2:9". The result is the exit code.
int replay_both_orders(const recording::Reader& recording, const std::vector<std::string>& stops,
                       const replay::live::LiveOptions& options);

}  // namespace deadheat::cli
