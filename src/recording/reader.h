// Reading a recording: the folder, the chunks of its log, one stream of items a thread.
//
//   Result<Reader> reader = Reader::open("run.dh");
//   for (ThreadId thread : reader->threads()) {
//     ThreadStream stream = reader->stream(thread);
//     Item item;
//     while (stream.next(item)) ...;
//     if (!stream.status()) ...;  // damage; the message has file and position
//   }
//
// A recording that was cut short is not an error: streams stop at their last whole item, with an `end` of
// kind kCutOff, and `note()` says so. Nothing that the files contain can crash the reader or make it allocate
// more than a chunk a stream (1 MiB) and 24 bytes a chunk.
//
// Streams only read the log by position: they may be used in different threads at the same time, and, after
// fork(2), in both processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/strong_id.h"
#include "recording/item.h"
#include "recording/modules.h"
#include "runtime/sequencer_coding.h"

namespace deadheat::recording {

// recording.json
struct Description {
  std::string deadheat;  // version that recorded
  std::vector<std::string> command;
  std::string folder;      // working directory of the program
  std::string start_time;  // UTC, ISO 8601
  int pid = 0;             // 0: the program had not started yet
};

enum class StopReason : std::uint8_t { kProgramEnded, kLimit, kDiskFull, kWriterGone };

// end.json
struct Ending {
  StopReason reason = StopReason::kProgramEnded;
  bool program_ended = false;  // else it was still running when this was written
  int exit_code = 0;
  int signal = 0;  // that ended it, 0 if none
  std::uint64_t threads = 0;
  std::uint64_t unrecorded_threads = 0;
  std::uint64_t sequencers = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t log_bytes = 0;
  double wall_seconds = 0;
  double cpu_seconds = 0;
};

enum class Completeness : std::uint8_t {
  kComplete,  // as the writer left it
  kCutShort,  // the writer did not get to the end: no end.json, perhaps half a chunk
  kDamaged,   // something in it is wrong; readable up to there
};

struct Chunk {
  std::uint64_t position;  // of its header in the log
  std::uint64_t offset;    // of its first byte in the stream
  std::uint32_t raw_bytes;
  std::uint32_t stored_bytes;
};

class LogFile;  // the open log

// A cursor over one thread's items. Movable, not copyable.
class ThreadStream {
 public:
  ThreadStream(ThreadStream&&) noexcept;
  ThreadStream& operator=(ThreadStream&&) noexcept;
  ~ThreadStream();

  // The next item; false after the end item and on damage (then `status()` is an error). Every stream that is
  // not damaged ends with exactly one item of tag kEnd.
  bool next(Item& item) {
    // Values behind fewer than 15 predicted ones: nearly all items.
    if (static_cast<std::size_t>(limit_ - at_) >= kMaxItemBytes) [[likely]] {
      const unsigned first = *at_;
      const unsigned tag = first & kTagMask;
      const unsigned run = first >> kTagBits;
      if (tag <= static_cast<unsigned>(Tag::kValue8) && run != kLongRun) [[likely]] {
        std::uint64_t value;
        std::memcpy(&value, at_ + 1, sizeof value);
        item.tag = static_cast<Tag>(tag);
        item.predicted = run;
        item.value = value & kValueMask[tag];
        at_ += 1 + (std::size_t{1} << tag);
        return true;
      }
      if (tag >= static_cast<unsigned>(Tag::kCodedSequencer) && tag < tags_ && run != kLongRun &&
          coding_ != nullptr) {
        item.predicted = run;
        item.tag = static_cast<Tag>(tag);
        return decode_coded(item, at_ + 1);
      }
    }
    return next_slow(item);
  }

  const Status& status() const { return status_; }
  ThreadId thread() const { return thread_; }
  // Bytes of the stream before the next item.
  std::uint64_t offset() const { return buffer_offset_ + static_cast<std::uint64_t>(at_ - buffer_.get()); }
  // "thread 3, byte 1234 of its stream (chunk at byte 5678 of run.dh/log)"
  std::string position() const;
  std::uint64_t raw_bytes() const;  // of the whole stream
  // Processor time spent on reading and decompressing chunks.
  double reading_seconds() const { return reading_seconds_; }

 private:
  friend class Reader;
  static constexpr std::uint64_t kValueMask[4] = {0xff, 0xffff, 0xffffffff, ~std::uint64_t{0}};

  ThreadStream(std::shared_ptr<const LogFile> log, ThreadId thread, const std::vector<Chunk>* chunks);
  bool next_slow(Item& item);
  bool refill();
  bool fill();
  bool decode(Item& item);
  bool decode_coded(Item& item, const unsigned char* at);
  bool decode_callback(Item& item, const unsigned char* at);
  bool at_second_end();
  bool fail(const std::string& expected, const std::string& found);
  bool finish(Item& item);
  void stop();

  std::shared_ptr<const LogFile> log_;
  ThreadId thread_;
  const std::vector<Chunk>* chunks_ = nullptr;  // the log's
  unsigned tags_;                               // of the log's version
  std::size_t next_chunk_ = 0;
  // The rest of the chunk before, then a chunk; kMaxItemBytes zeros behind it, so that one item can be
  // decoded without looking at `limit_` at every byte.
  std::unique_ptr<unsigned char[]> buffer_;
  std::size_t capacity_ = 0;
  std::uint64_t buffer_offset_ = 0;  // of buffer_[0] in the stream
  const unsigned char* at_ = nullptr;
  const unsigned char* limit_ = nullptr;
  std::uint64_t last_number_ = 0;
  std::uint64_t last_object_ = 0;
  bool any_sequencer_ = false;
  std::unique_ptr<DhCoding> coding_;  // null until needed
  std::vector<std::uint64_t> words_;  // of the last call-back
  double reading_seconds_ = 0;
  bool ended_ = false;
  Status status_ = Nothing{};
};

class Reader {
 public:
  // An error if there is no recording of this version; damage further in is in completeness() and note().
  static Result<Reader> open(const std::string& folder);
  // A log in memory, without the rest of the folder; `name` stands for it in messages.
  static Result<Reader> of_log(std::string bytes, const std::string& name);
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  const std::string& folder() const { return folder_; }
  std::uint32_t version() const;  // of the format
  const Description& description() const { return description_; }
  // Null if there is none: cut short.
  const Ending* ending() const { return ending_.get(); }
  Completeness completeness() const { return completeness_; }
  // Where and why it is cut short or damaged, one line; empty if complete.
  const std::string& note() const { return note_; }
  // Somebody was writing it when it was opened.
  bool is_being_written() const { return is_being_written_; }

  // Threads that logged anything, in order of their numbers; 0 is the main thread.
  std::vector<ThreadId> threads() const;
  bool has_thread(ThreadId thread) const;
  // REQUIRES: has_thread(thread). May outlive the reader.
  ThreadStream stream(ThreadId thread) const;
  const std::vector<Chunk>& chunks(ThreadId thread) const;

  const std::vector<ModuleLoading>& modules() const { return modules_; }
  // Every module once, whichever loading it came with.
  std::vector<const Module*> distinct_modules() const;

  // Of the log that is readable.
  std::uint64_t log_bytes() const;
  std::uint64_t chunk_count() const;

 private:
  Reader() = default;
  void judge();

  std::string folder_;
  Description description_;
  std::unique_ptr<Ending> ending_;
  Completeness completeness_ = Completeness::kComplete;
  std::string note_;
  bool is_being_written_ = false;
  std::shared_ptr<LogFile> log_;
  std::vector<ModuleLoading> modules_;
};

// Whether a writer is at work on the recording. A program that was simply run may be gone before its writer
// has written the last of it: this waits up to `milliseconds` for that.
bool wait_for_writer(const std::string& folder, unsigned milliseconds);

}  // namespace deadheat::recording
