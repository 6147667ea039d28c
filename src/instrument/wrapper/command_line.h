// What a call of deadheat-cc or deadheat-c++ means, and the clang command it becomes.
//
// The wrappers take every flag clang takes. All they need to know of a command is: does it link an executable
// (then the runtime goes in), does it compile (then the plugin is loaded), and which of the flags are their
// own. Everything else goes to clang untouched and in order: what is added stands before it where the user's
// flags should win (debug information), after it where it must (the runtime).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "instrument/options.h"
#include "instrument/wrapper/taken_names.h"

namespace deadheat::instrument::wrapper {

// What the wrapper knows besides its arguments; a struct, so that tests can make one.
struct Environment {
  std::string program;         // "deadheat-cc"
  std::string clang;           // the compiler to run
  std::string library_folder;  // where the plugin and the runtimes are
  std::string mode_variable;   // DEADHEAT_MODE, empty if unset
  bool (*file_exists)(const std::string& path);
  bool (*read_file)(const std::string& path, std::string& contents);
  // A path under which the compiler that is run, and what it runs, find these contents; empty if there is
  // none.
  std::string (*lend_file)(const std::string& contents);
  std::string library_path;  // the variable LIBRARY_PATH
};

struct Command {
  std::vector<std::string> arguments;  // of clang, its name included
  std::string plugin_options;          // for DEADHEAT_PLUGIN_OPTIONS
};

Result<Command> make_command(const Environment& environment, const std::vector<std::string>& arguments);

// What the arguments ask clang for, response files included.
struct Request {
  std::string mode;
  Options options;
  std::vector<std::string> forwarded;  // everything that is not ours
  bool passes_through = false;         // -cc1, or no input at all (--version, -print-...): nothing to add
  bool compiles = false;               // some input is compiled from C, C++ or IR
  bool links = false;                  // an executable or a shared library
  bool links_executable = false;
  bool is_relocatable = false;     // -r: an object file, made of several
  bool forbids_undefined = false;  // of a shared library
  bool is_static = false;
  bool has_static_cxx = false;   // -static-libstdc++
  bool names_libraries = false;  // -nodefaultlibs: the C library is linked where the user says
  bool names_libgcc = false;
  std::vector<NamedLibrary> libraries;
  std::vector<std::string> library_folders;  // -L
  bool saves_temporaries = false;            // -save-temps
  bool uses_lto = false;
  bool chose_linker = false;
};

Result<Request> understand(const Environment& environment, const std::vector<std::string>& arguments);

}  // namespace deadheat::instrument::wrapper
