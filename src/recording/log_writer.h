// Appending chunks to a recording's log. What is in the file is at any time a valid log, but for half a chunk
// at its end if the writer is killed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/strong_id.h"

namespace deadheat::recording {

class LogWriter {
 public:
  // Creates the file, which must not exist. `level`: of zstd.
  static Result<std::unique_ptr<LogWriter>> create(const std::string& path, int level);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // All of the chunk or, on an error, nothing of it. REQUIRES: 1 to kMaxChunkBytes bytes.
  Status append(ThreadId thread, std::uint64_t offset, std::span<const char> raw);
  // From the next chunk on.
  void set_level(int level);
  // Of the file.
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t raw_bytes() const { return raw_bytes_; }

 private:
  struct Buffers;
  LogWriter();
  Status write(std::span<const char> bytes);

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace deadheat::recording
