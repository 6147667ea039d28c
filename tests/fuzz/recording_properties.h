// What must hold for any bytes given to the reader of recordings: an error with a place, or items that
// survive being written and read again.
//
// Used by the libFuzzer target beside this file and, on the stored corpus, by the unit tests of
// src/recording.
#pragma once

#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "recording/checker.h"
#include "recording/description.h"
#include "recording/encode.h"
#include "recording/format.h"
#include "recording/modules.h"
#include "recording/names.h"
#include "recording/reader.h"

namespace deadheat::fuzz {

inline void require_recording(bool condition) {
  if (!condition) std::abort();
}

// A log with one thread whose stream is `stream`, in chunks of `chunk` bytes, stored as they are.
inline std::string log_of_stream(const std::string& stream, std::size_t chunk) {
  using namespace recording;
  LogHeader header{};
  std::memcpy(header.magic, kLogMagic, sizeof kLogMagic);
  header.version = kVersion;
  std::string log(reinterpret_cast<const char*>(&header), sizeof header);
  for (std::size_t at = 0; at < stream.size(); at += chunk) {
    const std::string part = stream.substr(at, chunk);
    ChunkHeader head{};
    head.magic = kChunkMagic;
    head.offset = at;
    head.raw_bytes = head.stored_bytes = static_cast<std::uint32_t>(part.size());
    const std::string hashed = std::string(reinterpret_cast<const char*>(&head), 24) + part;
    head.hash = XXH3_64bits(hashed.data(), hashed.size());
    log.append(reinterpret_cast<const char*>(&head), sizeof head);
    log += part;
  }
  return log;
}

// Reads a thread's items; gives them as text, and encoded again.
inline std::string read_items(recording::ThreadStream& stream, recording::Encoder& again) {
  using namespace recording;
  std::string text;
  Item item;
  bool ended = false;
  std::uint64_t offset = 0;
  while (stream.next(item)) {
    require_recording(!ended && stream.offset() >= offset && stream.offset() <= stream.raw_bytes());
    offset = stream.offset();
    text += std::to_string(item.predicted) + " " + to_text(item) + "\n";
    const std::uint64_t run = item.predicted;
    switch (item.tag) {
      case Tag::kSequencer:
        again.sequencer(run, item.sequencer);
        break;
      case Tag::kCallback:
        again.callback(run, item.callback.function, item.callback.words);
        break;
      case Tag::kUnwound:
        again.unwound(run);
        break;
      case Tag::kLanded:
        again.landed(run, item.number);
        break;
      case Tag::kJumped:
        again.jumped(run, Address(item.number));
        break;
      case Tag::kAccess:
        again.access(run, item.access);
        break;
      case Tag::kNote:
        again.note(run, item.note);
        break;
      case Tag::kEnd:
        if (item.end.is_written) again.end(run, item.end.kind, item.end.status);
        ended = true;
        break;
      default:
        again.value(run, item.value, 1u << static_cast<unsigned>(item.tag));
    }
  }
  require_recording(ended == stream.status().ok());
  require_recording(!stream.next(item));
  return text;
}

inline void check_log(std::string bytes) {
  using namespace recording;
  Result<Reader> reader = Reader::of_log(std::move(bytes), "input");
  if (!reader.ok()) {
    require_recording(reader.error().message.rfind("input: byte ", 0) == 0);
    return;
  }
  require_recording(reader->note().rfind("input: ", 0) == 0);  // there is no end.json
  std::uint64_t whole = 0;
  for (ThreadId thread : reader->threads()) {
    ThreadStream stream = reader->stream(thread);
    Encoder again;
    const std::string text = read_items(stream, again);
    if (!stream.status().ok()) {
      require_recording(stream.status().error().message.rfind("input: ", 0) == 0);
      continue;
    }
    ++whole;
    // However it is cut into chunks.
    if (again.bytes().empty()) continue;
    for (std::size_t chunk : {std::size_t{7}, std::size_t{kMaxChunkBytes}}) {
      if (again.bytes().size() / chunk > 100000) continue;
      Result<Reader> second = Reader::of_log(log_of_stream(again.bytes(), chunk), "again");
      require_recording(second.ok());
      ThreadStream copy = second->stream(ThreadId(0));
      Encoder ignored;
      require_recording(read_items(copy, ignored) == text && copy.status().ok());
    }
  }
  Result<Summary> summary = check(*reader);
  if (summary.ok()) require_recording(summary->threads.size() == whole);
}

// The first byte says what the rest is.
inline void check_recording(const std::string& input) {
  using namespace recording;
  if (input.empty()) return;
  const auto selector = static_cast<unsigned char>(input[0]);
  std::string rest = input.substr(1);
  switch (selector % 5) {
    case 0:
      check_log(std::move(rest));
      break;
    case 1:
      check_log(log_of_stream(rest, 1 + selector / 5));
      break;
    case 2:
      if (auto description = parse_description(rest, "input"); description.ok()) {
        require_recording(parse_description(to_json(*description), "again").ok());
      }
      break;
    case 3:
      if (auto ending = parse_ending(rest, "input"); ending.ok()) {
        require_recording(parse_ending(to_json(*ending), "again").ok());
      }
      break;
    case 4: {
      ModuleLoading loading;
      Status status = parse_map(rest, "input/0.map", loading);
      if (!status) require_recording(status.error().message.rfind("input/0.map: line ", 0) == 0);
      break;
    }
  }
}

}  // namespace deadheat::fuzz
