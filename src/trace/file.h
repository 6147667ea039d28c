// Files as the readers and writers need them: whole reads, errors as Result, output that appears only when
// complete.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace deadheat {

class InputFile {
 public:
  static Result<InputFile> open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  // What came through a stream, as long as it was little enough to keep.
  struct Kept {
    std::string bytes;
    std::size_t most = 0;
    bool is_all = true;
    bool is_cut_short = false;  // interrupted before its end: the last line may be a part of one
  };
  // A pipe or the like, which it does not close. Once `interrupted`, it ends.
  static InputFile stream(int descriptor, std::string name, const std::atomic<bool>& interrupted,
                          std::shared_ptr<Kept> kept);
  bool is_stream() const { return interrupted_ != nullptr; }
  // Did a stream end because it was interrupted? Then it may have ended anywhere.
  bool is_cut_short() const { return is_cut_short_; }
  // Of a stream: what comes next, at most so many bytes; fewer only at its end.
  Result<std::string_view> peek(std::size_t bytes);

  // Fills `out` as far as the file goes; fewer bytes only at its end.
  Result<std::size_t> read(std::span<char> out);
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> out);
  // 0 if it is not a regular file.
  std::uint64_t size() const { return size_; }

 private:
  InputFile() = default;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::string path_;
  Result<std::size_t> read_stream(std::span<char> out);
  const std::atomic<bool>* interrupted_ = nullptr;
  bool is_cut_short_ = false;
  std::shared_ptr<Kept> kept_;
  std::string ahead_;  // peeked at, not yet read
};

// Written beside its final name, renamed by close(): an error or a crash leaves no file under that name.
// Something that is not a regular file (a pipe, /dev/stdout) is written directly.
class OutputFile {
 public:
  // `-` is standard output.
  static Result<OutputFile> create(const std::string& path);
  // Where a file is written before it gets its name: for those who must remove it when a signal ends us.
  static std::string temporary_name(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  Status write(std::string_view bytes);
  Status close();

 private:
  OutputFile() = default;
  void abandon();
  int descriptor_ = -1;
  std::string path_;
  std::string temporary_;  // empty if written directly
};

}  // namespace deadheat
