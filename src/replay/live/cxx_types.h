// Which handlers catch which exceptions: std::type_info objects of the recorded program (Itanium C++ ABI),
// read from the memory image, and the hierarchy of the standard library's own exceptions, which is not in the
// program's IR.
#pragma once

#include <cstdint>
#include <string>

#include <llvm/ADT/StringRef.h>

namespace deadheat::replay::live {

class LiveWorld;

struct Match {
  enum Kind : std::uint8_t { kNo, kYes, kUnknown } kind = kNo;
  std::uint64_t offset = 0;  // of the base in the object
  bool is_pointer = false;   // a pointer was thrown
  std::string name;
};

// Does a handler for the type `caught` (named `caught_symbol`, "_ZTISt9exception") take an exception of type
// `thrown`? Both are addresses of type_infos.
Match match_type(LiveWorld& live, std::uint64_t thrown, llvm::StringRef caught_symbol, std::uint64_t caught);

// As a person knows it.
std::string type_name(LiveWorld& live, std::uint64_t type);

}  // namespace deadheat::replay::live
