// How a live world ended, as its process tells it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "replay/observer.h"

namespace deadheat::replay::live {

enum class OutcomeKind : std::uint8_t {
  kExited,         // code: its exit code
  kSignal,         // code: the signal that would have ended it
  kMemoryError,    // use after free, double free, free of what was never allocated
  kDeadlock,       // no thread can go on
  kSteps,          // the budget of steps is used up
  kTime,           // the budget of time is
  kUnknownMemory,  // it needs a byte that the recording does not know
  kLeft,           // it called what has no model
  kRegionsEnded,   // asked to stop when both threads had come to their next synchronisation
  kFailed,         // a fault of Deadheat
};
const char* to_string(OutcomeKind kind);

// Whether the program itself came to this, rather than our knowledge of it to its end.
bool is_verdict(OutcomeKind kind);

struct ThreadPlace {
  ThreadId thread;
  std::string state;  // "runs", "waits for mutex 0x...", "ended"
  std::string place;  // of its last access or call: "bank.cc:12:7 in deposit(int)"
};

// A word of memory that is not what it was when the world went live.
struct MemoryChange {
  Address address;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  std::uint8_t known_before = 0;  // a bit per byte
  std::uint8_t known_after = 0;
  std::string name;  // of the global there, "counter+8"; empty if none

  friend bool operator==(const MemoryChange&, const MemoryChange&) = default;
};

struct MemoryState {
  std::uint64_t digest = 0;  // of all changes
  std::uint64_t count = 0;
  std::vector<MemoryChange> changes;  // the first of them
};

struct LiveResult {
  OutcomeKind kind = OutcomeKind::kFailed;
  std::int64_t code = 0;
  std::string what;    // "use after free of ...", "call of socket"
  ThreadId thread;     // that did it
  std::string place;   // where
  std::string output;  // what it wrote to standard output and error from the stops on
  std::uint64_t output_bytes = 0;
  std::uint64_t steps = 0;
  std::uint64_t uninitialised_reads = 0;  // of bytes nobody ever wrote
  std::uint64_t guessed_bytes = 0;        // unknown bytes beside known ones, taken as 0
  std::vector<ThreadPlace> threads;
  bool regions_ended = false;
  MemoryState after_regions;  // when both threads had come to their next synchronisation
  MemoryState at_end;

  // One line: "exited with code 3", "signal 11 (...): ...".
  std::string text() const;
};

std::string encode(const LiveResult& result);
Result<LiveResult> decode(const std::string& bytes);

}  // namespace deadheat::replay::live
