// When monitors are started.
#pragma once

#include <stdint.h>

namespace deadheat::monitor {

// So many threads live now. With one, nothing is monitored.
void pace_threads(uint32_t live);

}  // namespace deadheat::monitor
