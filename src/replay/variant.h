// What a replay's code is compiled for.
#pragma once

#include <cstdint>

namespace deadheat::replay {

enum class Variant : std::uint8_t {
  kBare,      // verification only
  kCounted,   // and the program's instructions counted
  kObserved,  // and every access told to observers
  kLabelled,  // observed, and every value carries a data-flow label (flow.h)
  kLive,      // and able to go on without the log (live/live_world.h)
};

// How the recording predicted values. Up to version 3 of the format, the predictor knew whose bytes it had,
// granule by granule of 8 bytes: one that came to a place anew had zeros, and what crossed from one granule
// into the next was two values (hook_bodies.h).
enum class Predictor : std::uint8_t { kPlain, kTagged };

// No observers: no shadow stack, no sites.
inline bool is_bare(Variant variant) { return variant <= Variant::kCounted; }

// Calls a mirrored function with the argument words of a call-back.
using Adapter = void(const std::uint64_t* words);

}  // namespace deadheat::replay
