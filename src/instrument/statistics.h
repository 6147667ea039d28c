// What was done to a module: one counter per rule, so that tests can ask which rule fired and users see what
// a switch is worth.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace deadheat::instrument {

struct Statistics {
  uint64_t functions = 0;
  uint64_t frames = 0;
  uint64_t accesses = 0;  // plain accesses seen, memory intrinsics' two sides included
  uint64_t atomics = 0;
  uint64_t constant_memory = 0;    // removed: reads of memory that never changes
  uint64_t private_memory = 0;     // removed: no other thread can reach it (escape)
  uint64_t read_before_write = 0;  // removed: readwrite
  uint64_t dominated = 0;          // removed: dominated
  uint64_t neighbours = 0;         // removed: joined with a neighbour in the block
  uint64_t loop_invariant = 0;     // moved before a loop, address invariant
  uint64_t loop_strided = 0;       // moved before a loop, one range or strided check for all iterations
  uint64_t loop_joined = 0;        // removed: joined with a neighbour that was moved before the loop
  uint64_t private_versions = 0;   // functions with a version for private arguments
  uint64_t private_calls = 0;      // calls of those versions, known when compiled
  uint64_t handed_down = 0;        // variables that are checked only once they are exposed
  uint64_t checks = 0;  // hook calls for plain accesses that remain, those moved before loops included
  uint64_t inlined_hooks = 0;
  uint64_t sync_free_functions = 0;
};

// One line: "deadheat: bank.cc: 12 accesses, ...".
std::string to_line(const Statistics& statistics, std::string_view module_name);

}  // namespace deadheat::instrument
