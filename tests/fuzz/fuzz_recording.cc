#include <cstddef>
#include <cstdint>

#include "recording_properties.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  deadheat::fuzz::check_recording(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
