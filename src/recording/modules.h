// The instrumented modules of a recorded program: their bitcode, and where the program had them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "recording/item.h"

namespace deadheat::recording {

// XXH3-64 of a module's bitcode.
using ModuleId = StrongId<struct ModuleIdTag, std::uint64_t>;

struct Module {
  ModuleId id;
  std::vector<Address> globals;  // in the order of the module's plan
  std::string bitcode;           // path of the .bc file
};

struct ModuleFunction {
  ModuleId module;
  std::uint64_t index = 0;  // in the plan
  Address address;
};

// What one executable or shared library brought with it.
struct ModuleLoading {
  std::uint32_t number = 0;  // in order of loading
  std::vector<Module> modules;
  std::vector<ModuleFunction> functions;
};

// The 16 hex digits that name a module's files.
std::string to_string(ModuleId id);

// `folder` is the recording's. In the order of loading; an error names file, line, expected and found. That
// every bitcode file is there is checked, what is in it is not: read_bitcode does.
Result<std::vector<ModuleLoading>> read_modules(const std::string& folder);

// The text of one .map file; `path` is its name, for messages, and tells where the bitcode is.
Status parse_map(std::string_view text, const std::string& path, ModuleLoading& loading);

// Reads the bitcode; an error if it is not what its name says.
Result<std::string> read_bitcode(const Module& module);

}  // namespace deadheat::recording
