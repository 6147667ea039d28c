// From addresses to what a person knows: functions, files, lines, variables.
//
// LLVM's symbolizer library does the work, in this process. The LLVM headers stay in symbolizer.cc and
// debug_info.cc. Answers degrade with what the binary has: debug information gives inlined frames, file, line
// and column; a symbol table gives the function; a stripped binary gives module and offset. A module that is
// missing, or was rebuilt since the run (another build id), is not asked at all: a wrong line is worse than
// none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "report/debug_info.h"
#include "report/finding.h"

namespace deadheat::report {

struct DataSymbol {
  std::string name;
  std::string part;         // of the variable, that the address is in: ".balance", "[3].x"
  std::uint64_t start = 0;  // virtual address in the module
  std::uint64_t size = 0;
  Location declared;
  Scalar scalar = Scalar::kUnknown;  // what is at the address
  std::uint64_t scalar_size = 0;
  StoredAs stored_as;
};

class Symbolizer {
 public:
  Symbolizer();
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // The frames at a virtual address of the module's file, inlined ones first. Never empty: the last resort is
  // one location with only module and offset. File names are as the compiler was given them.
  const Stack& code(const std::string& module, std::uint64_t address, const std::string& build_id = "");

  // The variable that holds this virtual address.
  std::optional<DataSymbol> data(const std::string& module, std::uint64_t address,
                                 const std::string& build_id = "");
  // The same for thread-local variables: where they stand among those of the module.
  std::optional<DataSymbol> thread_local_data(const std::string& module, std::uint64_t offset,
                                              const std::string& build_id = "");

  // For people: a line for each module that there was, but that may not be read (by the user that the program
  // has become).
  std::vector<std::string> notes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace deadheat::report
