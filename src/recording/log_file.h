// The `log` of a recording: where its chunks are, and their bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "recording/reader.h"
#include "trace/file.h"

namespace deadheat::recording {

class LogFile {
 public:
  static Result<std::shared_ptr<LogFile>> open(const std::string& path);
  // Bytes in memory; `name` stands for the file in messages.
  static Result<std::shared_ptr<LogFile>> of_bytes(std::string bytes, std::string name);

  const std::string& name() const { return name_; }
  const std::map<ThreadId, std::vector<Chunk>>& threads() const { return threads_; }
  std::uint64_t chunk_count() const { return chunk_count_; }
  // Up to the end of the last good chunk.
  std::uint64_t readable_bytes() const { return readable_bytes_; }
  std::uint64_t size() const;
  Completeness completeness() const { return completeness_; }
  const std::string& note() const { return note_; }
  std::uint32_t version() const { return version_; }

  // Reads, verifies and decompresses a chunk. REQUIRES: out.size() == chunk.raw_bytes.
  Status read_chunk(ThreadId thread, const Chunk& chunk, std::span<unsigned char> out) const;

 private:
  LogFile(std::string name) : name_(std::move(name)) {}
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> out) const;
  Status index();
  // Reads the chunk's header and stored bytes into the scratch memory; an error if anything about them is
  // wrong.
  Status read_stored(std::uint64_t position, std::span<char>& stored, struct ChunkHeader& header) const;
  void end_here(Completeness completeness, std::uint64_t position, const std::string& what);

  std::string name_;
  mutable std::optional<InputFile> file_;  // read by position only
  std::string bytes_;
  std::map<ThreadId, std::vector<Chunk>> threads_;
  std::uint32_t version_ = 0;
  std::uint64_t chunk_count_ = 0;
  std::uint64_t readable_bytes_ = 0;
  Completeness completeness_ = Completeness::kComplete;
  std::string note_;
};

}  // namespace deadheat::recording
