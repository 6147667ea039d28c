// Recordings for tests, built item by item and written as the writer would.
//
//   RecordingBuilder builder;
//   builder.thread(0).value(3, 42, 8);
//   builder.thread(0).end(0, EndKind::kProcessEnded, 0);
//   builder.write(folder);
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "base/check.h"
#include "recording/encode.h"
#include "recording/folder.h"
#include "recording/log_writer.h"

namespace deadheat::testing {

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A folder that goes with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    const char* parent = getenv("TMPDIR");
    path_ = std::string(parent == nullptr ? "/tmp" : parent) + "/deadheat-test-XXXXXX";
    DEADHEAT_CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class RecordingBuilder {
 public:
  recording::Encoder& thread(std::uint32_t number) { return threads_[number]; }
  // Sequencers get the next number by themselves.
  void sequencer(std::uint32_t thread, recording::SequencerKind kind, std::uint64_t object = 0,
                 std::uint64_t extra = 0) {
    recording::Sequencer sequencer{};
    sequencer.kind = kind;
    sequencer.number = recording::SequencerNumber(next_number_++);
    sequencer.object = recording::Address(object);
    sequencer.extra = extra;
    threads_[thread].sequencer(0, sequencer);
  }
  // Every stream ends in order.
  void end_all() {
    for (auto& [number, encoder] : threads_) {
      encoder.end(0, number == 0 ? recording::EndKind::kProcessEnded : recording::EndKind::kThreadEnded, 0);
    }
  }

  // The whole folder. Chunks of at most `chunk` bytes, the threads' in turn.
  void write(const std::string& folder, std::size_t chunk = 64) const {
    using namespace recording;
    Description description{"0.1.0", {"./bank", "8"}, "/home/me", "2026-11-15T09:28:10Z", 4711};
    DEADHEAT_CHECK(create_folder(folder, description, {}).ok());
    auto log = LogWriter::create(folder + "/" + kLogFile, 1);
    DEADHEAT_CHECK(log.ok());
    std::size_t longest = 0;
    for (const auto& [number, encoder] : threads_) longest = std::max(longest, encoder.bytes().size());
    for (std::size_t at = 0; at < longest; at += chunk) {
      for (const auto& [number, encoder] : threads_) {
        const std::string& bytes = encoder.bytes();
        if (at >= bytes.size()) continue;
        DEADHEAT_CHECK((*log)
                           ->append(ThreadId(number), at,
                                    std::span(bytes).subspan(at, std::min(chunk, bytes.size() - at)))
                           .ok());
      }
    }
    Ending ending;
    ending.program_ended = true;
    ending.threads = threads_.size();
    ending.sequencers = next_number_;
    ending.raw_bytes = (*log)->raw_bytes();
    ending.log_bytes = (*log)->bytes();
    DEADHEAT_CHECK(write_end(folder, ending).ok());
    drop_reserve(folder);
  }

 private:
  std::map<std::uint32_t, recording::Encoder> threads_;
  std::uint64_t next_number_ = 0;
};

}  // namespace deadheat::testing
