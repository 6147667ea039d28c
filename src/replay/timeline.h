// A replay that can be looked at anywhere, forwards and backwards.
//
// The replay runs in a process of its own (the *present*). Every so many synchronisations it forks a
// *checkpoint*: a process that does nothing but wait where the present was. To go back, the nearest
// checkpoint before the wanted place forks once more, and its child becomes the present and replays the
// little that is missing. A replayed world is threads as fibers, a memory image and positions in logs, so a
// fork is all it takes: there is no snapshot code.
//
// At most kCheckpoints live at a time. When there are more, every second one goes and the distance doubles,
// so that going back costs at most a fraction (two of kCheckpoints, about) of what has been replayed. Memory
// is shared between them until somebody writes to it.
//
// Nobody outlives its user: every process reads commands from a socket, and ends when the other end is gone.
// The compiler may run in any of them: the JIT has no threads of its own, and all processes have one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "recording/reader.h"
#include "replay/printer.h"

namespace deadheat::replay {

class Timeline {
 public:
  static constexpr std::size_t kCheckpoints = 16;

  struct Options {
    std::uint64_t first_distance = 256;  // synchronisations between checkpoints, at first
    // Whether the processes may start others in passing; without, every way back is from the start.
    bool has_checkpoints = true;
  };

  // Where a replay stands.
  struct Arrival {
    std::uint64_t number = 0;   // all synchronisations up to this one have happened
    bool is_at_start = false;   // none has
    bool is_at_end = false;     // of the recording
    std::uint64_t regions = 0;  // replayed to get here
    bool was_back = false;
    std::uint64_t from = 0;  // was_back: number of the checkpoint it came from
  };

  // REQUIRES: `recording` outlives it. Events that are printed go to the standard output of the process.
  static Result<std::unique_ptr<Timeline>> open(const recording::Reader& recording, const Options& options);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // Goes to where synchronisation `number` has happened and the next one has not.
  Result<Arrival> go(std::uint64_t number);
  const Arrival& here() const { return here_; }
  // What is printed on the way forwards.
  void print(const Printed& printed) { printed_ = printed; }

  // Bytes of the memory image, 16 a line, ?? where they are not known. At most 4096.
  Result<std::string> memory(std::uint64_t address, std::uint64_t size);
  // Every thread: where it is and what it does next.
  Result<std::string> threads();
  std::size_t checkpoints() const { return checkpoints_.size(); }

 private:
  Timeline(const recording::Reader& recording, const Options& options)
      : recording_(recording), options_(options), distance_(options.first_distance) {}
  Status start();
  Status listen(Arrival& arrival);
  void thin();

  const recording::Reader& recording_;
  const Options options_;
  std::uint64_t distance_;
  int present_ = -1;                          // sockets
  std::map<std::uint64_t, int> checkpoints_;  // by the number of the next synchronisation; 0: the start
  Arrival here_;
  Printed printed_;
};

}  // namespace deadheat::replay
