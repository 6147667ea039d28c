// Traces for tests, from short readable text: one event per line or separated by spaces, in STD, place
// optional.
//
//   Trace trace = build_trace(R"(
//       T0|fork(T1)|1
//       T0|w(x)|2
//       T1|r(x)|3
//   )");
//   Trace trace = build_trace("T0|w(x) T1|r(x)");   // places are then the event's number, from 0
#pragma once

#include <string>
#include <string_view>

#include "trace/trace.h"

namespace deadheat::testing {

// Ends the test program with the reader's message if `text` is not a trace.
Trace build_trace(std::string_view text);

// The trace as extended STD, one event a line: for messages of failing tests.
std::string to_text(const Trace& trace);

}  // namespace deadheat::testing
