// Shared libraries that export functions by names of libc's.
//
// An executable of ours defines what it interposes, and exports it, so it comes before every shared library.
// A library of the program's own may have a function `send` or `link` that has nothing to do with libc's: ISO
// C leaves these names to programs. It would be called as if it were libc's. Without us, the program and the
// library call the library's, so they must here. So the wrapper looks at the libraries that an executable is
// linked with, and where one of them defines such a name, the runtime is linked without its own definition.
//
// What ISO C does not leave to programs (malloc, strlen, fopen) and what has threads in its name (pthread_)
// means the same whoever defines it, and stays.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace deadheat::instrument::wrapper {

// A shared library on a command line, or what may be one: a path, or what -l says.
struct NamedLibrary {
  std::string name;
  bool is_path = false;
};

// Of `interposed`, the names that a library may define otherwise than libc.
std::set<std::string, std::less<>> names_left_to_programs(std::string_view interposed);

// The shared libraries meant, libc's and the compiler's own left out. `folders` are searched in order.
std::vector<std::string> find_libraries(const std::vector<NamedLibrary>& libraries,
                                        const std::vector<std::string>& folders);

// Those of `names` that the library at `path` defines for others.
std::set<std::string, std::less<>> defined_by(const std::string& path,
                                              const std::set<std::string, std::less<>>& names);

// An archive whose objects do not define `names`, but refer to them. Nothing else changes, and no
// size does.
void undefine(std::string& archive, const std::set<std::string, std::less<>>& names);

}  // namespace deadheat::instrument::wrapper
