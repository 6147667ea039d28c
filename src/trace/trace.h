// Traces: sequences of events with the names of what they act on, read from and written to files.
//
// Two formats, told apart by what is in the file when reading and by the suffix when writing: STD text
// (`.std`, docs/traces.md) and Deadheat's own binary form (`.dht`, FORMAT.md). Both are streamed: a source
// needs memory for the names and one buffer, never for the whole trace.
//
// What the events mean to every analysis:
//  - a lock may be taken again by the thread that holds it (recursive mutexes, monitors); the last release
//  frees it;
//  - rcv(m) is ordered after every earlier snd(m);
//  - fork(t) is ordered before the events of t, join(t) after them; a thread that nobody forks was there from
//  the start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/event.h"
#include "trace/file.h"
#include "trace/names.h"

namespace deadheat {

// A trace being read. Not for use by several threads at a time.
class TraceSource {
 public:
  virtual ~TraceSource() = default;

  // Names of everything in the events read so far; the table grows while reading.
  virtual const Names& names() const = 0;

  // Fills `out` from its start and returns how many events it holds; 0 at the end of the trace. An error says
  // where, what was expected and what was found; nothing can be read after it.
  virtual Result<std::size_t> read(std::span<Event> out) = 0;

  // One event at a time; false at the end. Do not mix with read().
  Result<bool> next(Event& event);

  // After the end: what a reader should know about what was not there ("cut short after event ..."); empty if
  // nothing.
  virtual std::string note() const { return {}; }
  // Events in the whole trace, if the file says so.
  virtual std::optional<std::uint64_t> total_events() const { return std::nullopt; }
  // Between 0 and 1: how much of the input has been read, for progress; negative if unknown.
  virtual double progress() const { return -1; }

 private:
  std::vector<Event> buffer_;
  std::size_t position_ = 0;
  std::size_t filled_ = 0;
};

// A trace being written. `names` is always the same growing table, and outlives the sink.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual Status write(const Names& names, std::span<const Event> events) = 0;
  // Completes the trace. A file appears under its name only here: nothing half-written is left behind by an
  // error.
  virtual Status close(const Names& names) = 0;
  // Events that the format cannot express and that were left out (text without `extended`).
  virtual std::uint64_t left_out() const { return 0; }
  // Values that the format cannot express.
  virtual std::uint64_t values_left_out() const { return 0; }
};

// A whole trace in memory.
struct Trace {
  std::vector<Event> events;
  Names names;
  std::string note;  // TraceSource::note()
};

struct WriteOptions {
  bool extended = false;      // text: also values, branches, messages and BarrierPairs
  int compression_level = 3;  // binary: zstd's; 0: stored as it is
};

// `shown`: the name in messages, if it is not the path.
Result<std::unique_ptr<TraceSource>> open_trace(const std::string& path, const std::string& shown = {});
// A trace that comes through a pipe and is read once.
Result<std::unique_ptr<TraceSource>> open_trace_stream(InputFile stream, const std::string& shown);
// The same over what such a stream has kept.
Result<std::unique_ptr<TraceSource>> open_trace_bytes(const std::string& bytes, const std::string& shown);
// By suffix; `-` is text on standard output.
Result<std::unique_ptr<TraceSink>> create_trace(const std::string& path, const WriteOptions& options = {});

Result<Trace> read_trace(const std::string& path);
Result<Trace> read_all(TraceSource& source);

// A source over a trace in memory, which must outlive it.
std::unique_ptr<TraceSource> source_of(const Trace& trace);

}  // namespace deadheat
