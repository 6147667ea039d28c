// Reads all of a recording: what it holds, and whether anything about it is wrong.
//
// Checked: every chunk and every item; that every stream ends with an `end` item, unless recording was cut
// short or the disk was full; that no sequencer's number is used twice and a thread's only grow; that
// end.json and the log agree; that every module's bitcode has the hash it is named by. A recording that was
// cut short is not wrong.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "recording/reader.h"

namespace deadheat::recording {

struct ThreadSummary {
  ThreadId thread;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t items = 0;
  std::uint64_t predicted = 0;
  std::uint64_t values = 0;  // logged
  std::uint64_t sequencers = 0;
  End end{};
};

struct Summary {
  std::vector<ThreadSummary> threads;
  std::array<std::uint64_t, kTags> tags{};
  std::array<std::uint64_t, 256> kinds{};  // of sequencers
  std::uint64_t predicted = 0;
  std::uint64_t values = 0;
  std::uint64_t sequencers = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;  // without chunk headers
  std::uint64_t highest_number = 0;
  // The first number that no thread has although a higher one is there, and how many such there are.
  std::uint64_t missing = 0;
  SequencerNumber first_missing;
};

// `progress` is told the bytes of the streams read so far.
using CheckProgress = std::function<void(std::uint64_t)>;

// The first thing that is wrong, with its position.
Result<Summary> check(const Reader& reader, const CheckProgress& progress = {});

}  // namespace deadheat::recording
