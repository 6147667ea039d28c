// The one form of a finding, whatever lane or detector it comes from. Four renderings know it: terminal,
// JSON, SARIF, HTML.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace deadheat::report {

// A place a person knows. Any part may be missing: `function` without debug info, only `module`+`offset`
// without symbols.
struct Location {
  std::string file;       // as the compiler was given it
  std::string directory;  // where the compiler ran: what a relative `file` is relative to
  int line = 0;
  int column = 0;
  std::string function;
  // Where the function starts, or the one that an unnamed one is written in; 0 if unknown. What a line is
  // measured from in a fingerprint.
  int function_line = 0;
  std::string module;        // path of the executable or shared library
  std::uint64_t offset = 0;  // the address within the module, as its file on disk numbers it
  std::string place;         // a trace's place, when there is no source
};

using Stack = std::vector<Location>;  // innermost first, inlined frames included

enum class Operation { kRead, kWrite, kAtomicRead, kAtomicWrite, kFree };

struct Lock {
  std::string name;  // the variable, if known
  std::uint64_t address = 0;
  bool shared = false;  // held for reading
  Stack acquired;
};

struct Access {
  std::uint32_t thread = 0;
  Operation operation = Operation::kRead;
  std::uint32_t size = 0;
  Location location;
  Stack stack;
  std::vector<Lock> locks;
  bool locks_known = true;                  // false: none are listed, but there may have been some
  std::optional<std::string> value;         // what was read or is being written
  std::optional<std::string> value_before;  // for a write: what it replaces
  std::optional<std::uint64_t> event;       // number in the trace, from 0
};

enum class VariableKind { kUnknown, kGlobal, kHeap, kStack, kThreadLocal, kTrace };

struct Variable {
  std::string name;
  std::string member;  // the part that raced, if the debug information tells: "accounts[3].balance"
  VariableKind kind = VariableKind::kUnknown;
  std::uint64_t address = 0;  // start of the variable or block
  std::uint64_t size = 0;
  std::uint64_t offset = 0;             // of the racy bytes within it
  Location declared;                    // a global's or stack variable's declaration, if known
  Stack allocated;                      // a heap block's allocation
  std::optional<std::uint32_t> thread;  // who allocated the block, or whose stack it is
  Stack freed;                          // who freed it, when it was freed already
};

struct Thread {
  std::uint32_t id = 0;
  std::string name;
  std::optional<std::uint32_t> parent;
  Stack created;
  std::uint64_t os_id = 0;
};

// One event of a schedule, as a person reads it.
struct Step {
  std::uint64_t event = 0;
  std::string thread;
  std::string operation;  // "acq(l)"
  std::string place;
};

// So many first events of a thread.
struct Prefix {
  std::string thread;
  std::uint64_t events = 0;
};

enum class Kind { kDataRace, kHighLevelRace };
enum class Verdict { kUnclassified, kHarmful, kBenign, kOrdered };

struct Finding {
  std::string fingerprint;  // survives rebuilds: from functions, files and operations, never from addresses
  Kind kind = Kind::kDataRace;
  std::vector<std::string> detectors;  // who found any instance: this pair of places
  // Who found the very two events that are shown, if that is not all of them: another detector may deny
  // these two, and mean other events at the same places.
  std::vector<std::string> shown_by;
  Verdict verdict = Verdict::kUnclassified;
  std::string reason;               // of the verdict
  std::string why;                  // why nothing orders the accesses
  std::vector<Variable> variables;  // one for a data race
  std::vector<Access> accesses;     // ordered by place
  std::vector<Thread> threads;      // those of the accesses
  std::uint64_t instances = 1;
  std::vector<std::uint64_t> witness;  // event numbers in the order that shows a predicted race
  std::vector<Step> schedule;          // the end of the witness, spelt out
  // The same where `witness` would be too long: the first events of each thread, in the order of the trace,
  // then the two accesses.
  std::vector<Prefix> witness_prefix;
};

struct Program {
  std::vector<std::string> command;
  int exit = 0;       // its exit code, or 128 + the signal that ended it
  std::string again;  // the command line that shows the findings again
};

struct Report {
  std::string mode;
  Program program;
  std::vector<Finding> findings;
  // Free-form; what is documented in docs/ may be relied upon. Values are numbers or strings in JSON
  // notation.
  std::map<std::string, std::string> statistics;
  bool interrupted = false;        // somebody waits for it: a terminal gets what a person can read
  bool incomplete = false;         // the run or the analysis was cut short: there may be more
  std::uint64_t suppressed = 0;    // findings that a suppression took away
  std::vector<std::string> notes;  // one line each: "incomplete: ...", "2 findings suppressed by ..."
};

}  // namespace deadheat::report
