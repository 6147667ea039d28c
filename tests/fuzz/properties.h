// What must hold for any bytes given to a trace reader: an error, or events that survive writing and reading.
//
// Used by the libFuzzer targets beside this file and, on the stored corpus, by the unit tests of src/trace.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "trace/binary.h"
#include "trace/std_text.h"
#include "trace/trace.h"

namespace deadheat::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

inline std::string text_of(const Trace& trace) {
  std::string text;
  for (const Event& event : trace.events) text += to_std_line(trace.names, event) + "\n";
  return text;
}

// The trace as text reads back as the same text.
inline void check_survives_text(const Trace& trace) {
  const std::string text = text_of(trace);
  std::unique_ptr<TraceSource> source = std_source_of(text, "again");
  Result<Trace> again = read_all(*source);
  require(again.ok());
  require(again->events.size() == trace.events.size());
  require(text_of(*again) == text);
}

// The trace in binary reads back as the same text: what one reader takes, the other takes.
inline void check_survives_binary(const Trace& trace) {
  std::string bytes;
  require(write_binary(trace, bytes).ok());
  Result<std::unique_ptr<BinarySource>> source = binary_source_of(std::move(bytes), "again");
  require(source.ok());
  Result<Trace> again = read_all(**source);
  require(again.ok());
  require(again->note.empty());
  require(text_of(*again) == text_of(trace));
}

inline void check_std(std::string bytes) {
  std::unique_ptr<TraceSource> source = std_source_of(std::move(bytes), "input");
  Result<Trace> trace = read_all(*source);
  if (!trace.ok()) {
    require(trace.error().message.rfind("input:", 0) == 0);
    return;
  }
  check_survives_text(*trace);
  check_survives_binary(*trace);
}

inline void check_dht(std::string bytes) {
  Result<std::unique_ptr<BinarySource>> source = binary_source_of(std::move(bytes), "input");
  if (!source.ok()) return;
  Trace trace;
  Event event;
  while (true) {
    Result<bool> more = (*source)->next(event);
    if (!more.ok()) require(more.error().message.rfind("input: ", 0) == 0);
    if (!more.ok() || !*more) break;
    trace.events.push_back(event);
  }
  trace.names = (*source)->names();
  // What was read before any damage is a trace.
  check_survives_text(trace);
  (void)(*source)->seek(EventIndex(trace.events.size() / 2));
}

}  // namespace deadheat::fuzz
