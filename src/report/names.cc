#include "report/names.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace deadheat::report {
namespace {

// The order of each table is the order of its enum.
constexpr std::string_view kOperations[] = {"read", "write", "atomic-read", "atomic-write", "free"};
constexpr std::string_view kVariableKinds[] = {"unknown", "global", "heap", "stack", "thread-local", "trace"};
constexpr std::string_view kKinds[] = {"data-race", "high-level-race"};
constexpr std::string_view kVerdicts[] = {"unclassified", "harmful", "benign", "ordered"};

template <class Enum, std::size_t n>
std::optional<Enum> find(const std::string_view (&table)[n], std::string_view name) {
  for (std::size_t i = 0; i < n; i++) {
    if (table[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Operation operation) { return kOperations[static_cast<int>(operation)]; }
std::string_view name_of(VariableKind kind) { return kVariableKinds[static_cast<int>(kind)]; }
std::string_view name_of(Kind kind) { return kKinds[static_cast<int>(kind)]; }
std::string_view name_of(Verdict verdict) { return kVerdicts[static_cast<int>(verdict)]; }

std::optional<Operation> operation_named(std::string_view name) { return find<Operation>(kOperations, name); }
std::optional<VariableKind> variable_kind_named(std::string_view name) {
  return find<VariableKind>(kVariableKinds, name);
}

std::string basename_of(std::string_view path) {
  std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string hex(std::uint64_t number) { return fmt::format("0x{:x}", number); }

std::string place_text(const Location& location) {
  if (!location.file.empty() && location.line > 0) {
    if (location.column > 0) return fmt::format("{}:{}:{}", location.file, location.line, location.column);
    return fmt::format("{}:{}", location.file, location.line);
  }
  if (!location.place.empty()) return location.place;
  if (!location.module.empty())
    return fmt::format("{}+0x{:x}", basename_of(location.module), location.offset);
  if (location.offset != 0) return hex(location.offset);
  return "unknown place";
}

}  // namespace deadheat::report
