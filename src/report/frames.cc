#include "report/frames.h"

#include <string_view>

namespace deadheat::report {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Our own runtime's sources, as its debug information names them.
bool is_runtime_file(std::string_view file) {
  return contains(file, "src/runtime/interpose") || contains(file, "src/runtime/watch") ||
         contains(file, "src/runtime/monitor") || contains(file, "src/runtime/record");
}

bool is_hidden(const Location& frame) {
  std::string_view function = frame.function;
  return function.starts_with("__dh_") || function.starts_with("deadheat::") ||
         (contains(function, " deadheat::") && is_runtime_file(frame.file));
}

// A header of the system or of the standard library, or code of a library that came without sources.
bool is_foreign(const Location& frame) {
  if (!frame.file.empty()) {
    std::string_view file = frame.file;
    return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") ||
           contains(file, "/include/c++/") || contains(file, "/lib/clang/") || contains(file, "../nptl/") ||
           contains(file, "../sysdeps/") || file.starts_with("./nptl/");
  }
  std::string_view module = frame.module;
  return module.starts_with("/lib/") || module.starts_with("/lib64/") || module.starts_with("/usr/lib/") ||
         module.starts_with("/usr/lib64/") || module.starts_with("[");
}

bool is_interposed(const Location& frame) {
  // Only `hide_runtime_frames` leaves a frame with a function and module, but an offset of 0.
  return frame.file.empty() && frame.offset == 0 && !frame.function.empty() && frame.place.empty();
}

}  // namespace

void hide_runtime_frames(Stack& stack) {
  std::erase_if(stack, is_hidden);
  for (Location& frame : stack) {
    if (is_runtime_file(frame.file)) {
      frame.file.clear();
      frame.line = frame.column = frame.function_line = 0;
      frame.offset = 0;
    }
  }
}

Location own_frame(const Stack& stack) {
  for (const Location& frame : stack) {
    if (!is_foreign(frame) && !is_interposed(frame)) return frame;
  }
  return stack.empty() ? Location() : stack.front();
}

}  // namespace deadheat::report
