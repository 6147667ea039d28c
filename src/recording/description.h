// recording.json and end.json: what a recording says about itself.
#pragma once

#include <string>

#include "base/result.h"
#include "recording/reader.h"

namespace deadheat::recording {

std::string to_json(const Description& description);
std::string to_json(const Ending& ending);

// `name` stands for the file in messages.
Result<Description> parse_description(const std::string& text, const std::string& name);
Result<Ending> parse_ending(const std::string& text, const std::string& name);

// "program ended", "limit", ...: as end.json has it.
const char* to_string(StopReason reason);

}  // namespace deadheat::recording
