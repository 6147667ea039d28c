#include "report/frames.h"

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "report/function_names.h"
#include "report/names.h"

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

// A program may have a namespace of our name, and our own tests do.
bool is_hidden(const Location& frame) {
  std::string_view function = frame.function;
  if (function.starts_with("__dh_") || contains(frame.file, "src/runtime/inline_hooks.cc")) return true;
  return contains(function, "deadheat::") && is_runtime_file(frame.file);
}

// What a person would write between < and > for a header of the system or the compiler; empty for any other
// file.
// "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/stl_vector.h" is how a compiler spells
// one.
std::string header_name(const std::string& file) {
  if (file.empty() || file[0] != '/') return {};
  std::string path = contains(file, "/../") ? std::filesystem::path(file).lexically_normal().string() : file;
  std::string_view name = path;
  auto skip_to_after = [&](std::string_view part) {
    std::size_t at = name.find(part);
    if (at == std::string_view::npos) return false;
    name.remove_prefix(at + part.size());
    return true;
  };
  if (skip_to_after("/c++/v1/")) return std::string(name);
  // "12/bits/stl_vector.h", and "12/x86_64-linux-gnu/bits/..." elsewhere
  if (skip_to_after("/include/c++/") || skip_to_after("-gnu/c++/")) {
    skip_to_after("/");
    return std::string(name);
  }
  if (skip_to_after("/lib/clang/") || name.starts_with("/usr/lib/gcc/")) {
    skip_to_after("/include/");
    return std::string(name);
  }
  if (!name.starts_with("/usr/include/")) return {};
  name.remove_prefix(13);
  if (name.starts_with("x86_64-linux-gnu/")) name.remove_prefix(17);
  return std::string(name);
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

bool is_foreign(const Location& frame) {
  std::string_view module = frame.module;
  for (std::string_view folder : {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "["}) {
    if (module.starts_with(folder)) return true;
  }
  return !header_name(frame.file).empty();
}

bool is_interposed(const Location& frame) {
  // Only `hide_runtime_frames` leaves a frame with a function and module, but an offset of 0.
  return frame.file.empty() && frame.offset == 0 && !frame.function.empty() && frame.place.empty();
}

Stack without_thread_start(const Stack& stack) {
  std::size_t end = stack.size();
  while (end > 0 && is_foreign(stack[end - 1])) end--;
  return end == 0 ? stack : Stack(stack.begin(), stack.begin() + static_cast<std::ptrdiff_t>(end));
}

std::string function_text(const Location& frame) {
  if (frame.function.empty()) return "??";
  return is_foreign(frame) ? brief_function(frame.function) : short_function(frame.function);
}

std::string frame_place_text(const Location& frame) {
  if (is_interposed(frame)) return {};
  std::string header = header_name(frame.file);
  if (header.empty() || frame.line <= 0) return place_text(frame);
  return "<" + header + ">:" + std::to_string(frame.line);
}

Location own_frame(const Stack& stack) {
  for (const Location& frame : stack) {
    if (!is_foreign(frame) && !is_interposed(frame)) return frame;
  }
  return stack.empty() ? Location() : stack.front();
}

}  // namespace deadheat::report
