// A small file, read at once.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace deadheat::recording {

// An error if it is larger than `most` bytes.
Result<std::string> read_whole_file(const std::string& path, std::uint64_t most);

}  // namespace deadheat::recording
