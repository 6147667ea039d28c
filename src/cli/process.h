// Starting another program and waiting for it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace deadheat::cli {

struct ProgramStart {
  std::string file;                // what to execute, looked up in PATH if it has no slash
  std::vector<std::string> words;  // argv, argv[0] included
  std::vector<std::pair<std::string, std::string>> environment;  // set in addition to ours
  bool errors_to_null = false;
  int inherited = -1;  // a descriptor that the program gets although it is close-on-exec here
};

struct ProgramEnd {
  int pid = 0;
  int signal = 0;  // that ended it, 0 if none
  int code = 0;    // exit code, or 128 + signal
};

// Standard input, output and error are the caller's. An error means that it could not be started.
Result<ProgramEnd> run_program(const ProgramStart& start);

// The folder of the deadheat binary: the wrappers are beside it.
std::string own_folder();

// The file that `execvp` would take, or nothing.
std::string find_in_path(const std::string& file);

// Whether the file carries the marker that our wrappers leave: a section or note named `.note.deadheat`, or a
// symbol that starts with `__dh_`.
bool is_instrumented(const std::string& path);

// The lane an instrumented file was built for, by its note; empty if it has none.
std::string mode_of(const std::string& path);

}  // namespace deadheat::cli
