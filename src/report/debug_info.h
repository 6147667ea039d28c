// What DWARF knows beyond LLVM's symbolizer: how the compiler was called, and which part of a variable an
// address is in.
//
// Only symbolizer.cc uses it. Every answer may be missing: a module may have no debug information, keep it in
// another file, or describe a variable in a way that is not understood here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "report/finding.h"

namespace deadheat::report {

// How the compiler was called for the code at an address.
struct CompileUnit {
  std::string file;       // as it was given
  std::string directory;  // where it ran
};

enum class Scalar { kUnknown, kSigned, kUnsigned, kBoolean, kFloat, kPointer };

// The optimiser keeps a variable that has its first value and one other as one byte that says whether it has
// changed. What the variable is when that byte is 0, and when it is 1; nothing: it is stored as it is.
using StoredAs = std::optional<std::array<std::uint64_t, 2>>;

struct DataDetails {
  Location declared;
  std::string part;  // ".in.b[2]": what to append to the variable's name; empty if it is the whole variable
  Scalar scalar = Scalar::kUnknown;
  std::uint64_t scalar_size = 0;
  StoredAs stored_as;
};

struct ThreadLocalSymbol {
  std::string name;
  std::uint64_t start = 0;
  std::uint64_t size = 0;
};

class DebugInfo {
 public:
  explicit DebugInfo(const std::string& module);
  ~DebugInfo();
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  std::optional<CompileUnit> unit_of_code(std::uint64_t address);
  // The first line of the function of this name, as it is demangled, in the unit of the code at an address.
  std::optional<int> line_of_function(std::uint64_t address, const std::string& name);
  // `start`: where the variable starts; `address`: the byte that is asked for.
  std::optional<DataDetails> data(std::uint64_t start, std::uint64_t address);
  // The variable that holds this byte of the module's thread-local variables, by the symbol table.
  std::optional<ThreadLocalSymbol> thread_local_symbol(std::uint64_t offset);
  // As `data`, among the module's thread-local variables.
  std::optional<DataDetails> thread_local_data(std::uint64_t start, std::uint64_t offset);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace deadheat::report
