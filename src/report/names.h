// The words that reports use for our enums, in both directions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/finding.h"

namespace deadheat::report {

std::string_view name_of(Operation operation);
std::string_view name_of(VariableKind kind);
std::string_view name_of(Kind kind);
std::string_view name_of(Verdict verdict);

std::optional<Operation> operation_named(std::string_view name);
std::optional<VariableKind> variable_kind_named(std::string_view name);

constexpr bool is_write(Operation operation) {
  return operation == Operation::kWrite || operation == Operation::kAtomicWrite ||
         operation == Operation::kFree;
}

std::string basename_of(std::string_view path);

// "0x55d0c0de1010".
std::string hex(std::uint64_t number);

// The place as a person writes it: "bank.cpp:12:7", else a trace's place, else "bank+0x11d3".
std::string place_text(const Location& location);

}  // namespace deadheat::report
