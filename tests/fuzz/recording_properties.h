// What must hold for any bytes given to the reader of recordings: an error with a place, or items that
// survive being written and read again.
//
// Used by the libFuzzer target beside this file and, on the stored corpus, by the unit tests of
// src/recording.
#pragma once

#include <xxhash.h>
#include <zstd.h>

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

inline std::string log_header() {
  using namespace recording;
  LogHeader header{};
  std::memcpy(header.magic, kLogMagic, sizeof kLogMagic);
  header.version = kVersion;
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

inline std::string chunk_of(std::uint32_t thread, std::uint64_t offset, const std::string& raw,
                            const std::string& stored) {
  recording::ChunkHeader head{};
  head.magic = recording::kChunkMagic;
  head.thread = thread;
  head.offset = offset;
  head.raw_bytes = static_cast<std::uint32_t>(raw.size());
  head.stored_bytes = static_cast<std::uint32_t>(stored.size());
  const std::string hashed = std::string(reinterpret_cast<const char*>(&head), 24) + stored;
  head.hash = XXH3_64bits(hashed.data(), hashed.size());
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + stored;
}

// A log with one thread whose stream is `stream`, in chunks of `chunk` bytes, stored as they are.
inline std::string log_of_stream(const std::string& stream, std::size_t chunk) {
  std::string log = log_header();
  for (std::size_t at = 0; at < stream.size(); at += chunk) {
    const std::string part = stream.substr(at, chunk);
    log += chunk_of(0, at, part, part);
  }
  return log;
}

// A log as long runs leave them: several threads, several compressed chunks each, in turn; and then something
// may happen to it. The first bytes of `script` say how much and what, the rest is a piece of a stream that
// is repeated.
//
//   0: threads   1: how often   2: bytes a chunk   3: what happens   4-5: where
//
// Fuzzers keep their inputs small, so that a log of a megabyte has to be made from a few bytes.
inline std::string large_log(const std::string& script) {
  if (script.size() < 7) return log_header();
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(script[i]); };
  const std::size_t threads = 1 + byte(0) % 4;
  const std::string piece = script.substr(6);
  const std::size_t bytes = std::min<std::size_t>(piece.size() * (1 + 16 * byte(1)), 1 << 19);
  const std::size_t sizes[] = {997, 4096, 65536, recording::kUsualChunkBytes};
  const std::size_t each = sizes[byte(2) % 4];
  const std::size_t where = byte(4) | byte(5) << 8;
  std::string stream;
  while (stream.size() < bytes) stream += piece;
  std::vector<std::string> chunks;
  for (std::size_t at = 0; at < stream.size(); at += each)
    for (std::size_t thread = 0; thread < threads; ++thread) {
      const std::string raw = stream.substr(at, each);
      std::string stored(ZSTD_compressBound(raw.size()), '\0');
      const std::size_t size = ZSTD_compress(stored.data(), stored.size(), raw.data(), raw.size(), 1);
      stored.resize(ZSTD_isError(size) != 0 ? stored.size() : size);
      if (stored.size() >= raw.size()) stored = raw;
      // Damage that a hash of the damaged bytes covers up.
      if (byte(3) % 8 == 1 && chunks.size() == where % 16) stored[where % stored.size()] ^= 1;
      chunks.push_back(chunk_of(static_cast<std::uint32_t>(thread), at, raw, stored));
    }
  const std::size_t one = where % chunks.size(), other = (where / 7) % chunks.size();
  switch (byte(3) % 8) {
    case 2:
      std::swap(chunks[one], chunks[other]);
      break;
    case 3:
      chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(one));
      break;
    case 4:
      chunks.insert(chunks.begin() + static_cast<std::ptrdiff_t>(one), chunks[other]);
      break;
    case 5:
      chunks[one].resize(chunks[one].size() - 1 - where % chunks[one].size());
      break;
    case 6:
      chunks[one][where % chunks[one].size()] ^= 4;
      break;
    default:
      break;
  }
  std::string log = log_header();
  for (const std::string& chunk : chunks) log += chunk;
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
        // Plain ones have 16 bits of the hash, coded ones none, 8 or 64.
        if (item.sequencer.hash_bits == 16)
          again.sequencer(run, item.sequencer);
        else
          again.coded_sequencer(run, item.sequencer);
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
  constexpr unsigned char kLarge = 250;
  if (selector >= kLarge) return check_log(large_log(rest));
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
