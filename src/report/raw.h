// What the runtime tells about a run: one JSON object a line, appended as things happen.
//
// The runtime lives in the user's process, has no symbolizer and may be killed at any moment, so it writes
// addresses and nothing that needs a second look. Everything a line refers to (a module, a thread) was sent
// on an earlier line. A log cut anywhere is readable up to its last complete line; a damaged line is counted
// and skipped. A second start line means that the process called exec: what follows is another program, with
// its own modules and threads. `RawParser` reads a stream as it comes (a pipe from a running program);
// `read_raw_file` reads a log on disk.
//
// The lines, by their `t`:
//   start   pid, version, mode, argv, deadheat (version of this format), suppressions (the program's own, if
//           it has any)
//   module  id, path, base (load bias), begin (base if left out), end, build_id
//   thread  id, parent, name, stack, os
//   race    id, detector, addr, var, accesses, why
//   instances  race (its id), count: how often it was seen in all
//   note    text
//   end     exit, statistics
// Stacks are innermost first and every entry is a return address.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "report/finding.h"

namespace deadheat::report {

inline constexpr int kRawFormat = 1;

using RawStack = std::vector<std::uint64_t>;  // return addresses in the program, never dereferenced

struct RawModule {
  std::uint32_t id = 0;
  std::string path;
  std::uint64_t base = 0;   // load bias: address - base is the ELF file's virtual address
  std::uint64_t begin = 0;  // the first address, often base itself
  std::uint64_t end = 0;
  std::string build_id;  // hex, may be empty
};

struct RawThread {
  std::uint32_t id = 0;
  std::optional<std::uint32_t> parent;
  std::string name;
  RawStack stack;  // of its creation
  std::uint64_t os_id = 0;
};

struct RawLock {
  std::uint64_t address = 0;
  bool shared = false;
  RawStack stack;
};

struct RawAccess {
  std::uint32_t thread = 0;
  Operation operation = Operation::kRead;
  std::uint32_t size = 0;
  std::uint64_t address = 0;
  RawStack stack;
  std::vector<RawLock> locks;
  std::optional<std::string> value;
  std::optional<std::string> before;
};

struct RawVariable {
  VariableKind kind = VariableKind::kUnknown;
  std::string name;
  std::string function;  // whose frame a stack variable is in
  std::string file;      // where a stack variable is declared
  int line = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::optional<std::uint32_t> thread;
  RawStack stack;            // of the allocation
  RawStack freed;            // of the deallocation, if it is gone already
  std::uint64_t module = 0;  // an address in the module of a thread-local variable; `address` is then where
                             // the module's thread-local variables begin
};

struct RawRace {
  std::optional<std::uint64_t> id;  // within its log
  std::string detector;
  std::uint64_t address = 0;
  RawVariable variable;
  std::vector<RawAccess> accesses;
  std::string why;
};

// Everything one program said: a process, up to its exec.
struct RawLog {
  bool started = false;
  std::uint64_t pid = 0;
  std::string version;
  std::string mode;
  std::vector<std::string> argv;
  std::string suppressions;

  std::vector<RawModule>
      modules;  // a later one replaces an earlier one at the same addresses (dlclose, dlopen)
  std::map<std::uint32_t, RawThread> threads;
  std::vector<RawRace> races;
  std::map<std::uint64_t, std::uint64_t> instances;  // by the race's id; once if it is not here
  std::vector<std::string> notes;

  bool ended = false;  // the end line was seen: nothing is missing
  int exit = 0;
  std::map<std::string, std::string> statistics;  // values in JSON notation

  std::uint64_t damaged = 0;  // lines that could not be read
  std::string first_damage;   // what was wrong with the first of them

  std::uint64_t instances_of(const RawRace& race) const;

  // The module that holds this address, or nullptr.
  const RawModule* module_of(std::uint64_t address) const;
};

class RawParser {
 public:
  // `on_race` (may be empty) is called after each race line; races are then not kept in the log.
  explicit RawParser(std::function<void(const RawLog&, const RawRace&)> on_race = {});

  // Takes the next bytes, cut anywhere.
  void feed(std::string_view bytes);
  // What was read up to the last complete line. There is always at least one log.
  const std::vector<RawLog>& logs() const { return logs_; }
  std::vector<RawLog> take() && { return std::move(logs_); }

 private:
  RawLog& log() { return logs_.back(); }
  void line(std::string_view text);
  void damage(std::string_view what);

  std::vector<RawLog> logs_;
  std::string partial_;
  bool skipping_ = false;  // within a line that is too long to be ours
  std::uint64_t lines_ = 0;
  std::function<void(const RawLog&, const RawRace&)> on_race_;
};

Result<std::vector<RawLog>> read_raw_file(const std::string& path);

}  // namespace deadheat::report
