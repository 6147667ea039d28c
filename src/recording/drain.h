// The writer: takes what a program's threads have logged out of the arena, and writes it to the recording's
// log.
//
//   auto drain = Drain::start(*arena, options);
//   while (program lives) (*drain)->look(), (*drain)->rest();
//   (*drain)->finish(how it ended);
//
// One thread uses a drain. It never waits for the program; the program waits for it only when a ring is full.
// The arena outlives the program, so a program that is killed loses nothing that it had logged; a writer that
// is killed loses what came in its last fifth of a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "recording/arena.h"
#include "recording/log_writer.h"
#include "recording/reader.h"

namespace deadheat::recording {

struct DrainOptions {
  std::string folder;       // made by create_folder
  Description description;  // written again when the program's pid is known
  std::uint64_t limit = 0;  // of the log's bytes on disk; 0: none
  int level = -3;  // of zstd: a third more bytes than 1, a fifth less time, which counts as the program's
  int quick_level = -10;  // for threads that log fast: a quarter to a half more bytes, half the time
};

// How the recorded program ended, as far as anybody knows.
struct Fate {
  bool is_known = false;  // false: not our child; the arena may know
  int exit_code = 0;      // 128 + signal if a signal ended it
  int signal = 0;
  bool still_runs = false;  // the tool stops before the program does
  double cpu_seconds = 0;   // 0: unknown
};

class Drain {
 public:
  // Creates the log. `arena` outlives the drain.
  static Result<std::unique_ptr<Drain>> start(Arena& arena, DrainOptions options);
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  // Takes what is worth taking now.
  void look();
  // Sleeps until there may be something to take: 1 to 20 ms, by how fast it came lately; the program can end
  // it.
  void rest();
  // Takes the rest, ends every stream, writes end.json. Once. An error only if end.json cannot be written;
  // the log is valid even then.
  Status finish(const Fate& fate);

  // What is, or would be, in end.json.
  const Ending& ending() const { return ending_; }
  // What went wrong with the disk, one line; empty if nothing.
  const std::string& problem() const { return problem_; }
  bool attached() const { return load_acquire(arena_.header().pid) != 0; }

 private:
  using Time = std::chrono::steady_clock;
  struct Slot {
    bool is_used = false;
    bool is_broken = false;  // its numbers are nonsense; nothing more is taken from it
    ThreadId thread;
    std::uint64_t taken = 0;   // offset in the ring
    std::uint64_t stream = 0;  // offset in the thread's stream
    Time::time_point flushed;
  };

  Drain(Arena& arena, DrainOptions options);
  void note_pid();
  void look_at(std::uint32_t index);
  bool begin(std::uint32_t index, DhRecord& record);
  std::uint64_t available(std::uint32_t index, const DhRecord& record);
  // Takes up to `size` bytes as chunks, the last one followed by `tail`. False if the disk is full.
  bool take(std::uint32_t index, std::uint64_t size, const std::string& tail);
  bool append(std::uint32_t index, std::uint64_t size, const std::string& tail);
  void stop(StopReason reason);
  void end_streams(EndKind kind, std::int64_t status, bool with_runs);
  bool limit_reached() const;
  void describe_end();
  Status write_end();

  Arena& arena_;
  DrainOptions options_;
  std::unique_ptr<LogWriter> log_;
  std::vector<Slot> slots_;
  std::vector<bool> seen_;    // thread numbers
  std::vector<char> joined_;  // a chunk that is not in one piece
  std::uint64_t threads_ = 0;
  std::uint64_t pending_ = 0;  // bytes left in the rings by this look
  std::uint64_t fullest_ = 0;  // bytes found in the fullest ring by this look
  std::uint32_t seen_wake_ = 0;
  unsigned rest_milliseconds_ = 1;
  bool is_stopped_ = false;
  bool pid_noted_ = false;
  Time::time_point start_;
  Ending ending_;
  std::string problem_;
};

}  // namespace deadheat::recording
