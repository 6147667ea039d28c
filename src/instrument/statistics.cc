#include "instrument/statistics.h"

namespace deadheat::instrument {

std::string to_line(const Statistics& statistics, std::string_view module_name) {
  std::string line = "deadheat: " + std::string(module_name) + ":";
  const auto add = [&](std::string_view name, uint64_t count) {
    line += " " + std::string(name) + "=" + std::to_string(count);
  };
  add("functions", statistics.functions);
  add("frames", statistics.frames);
  add("accesses", statistics.accesses);
  add("atomics", statistics.atomics);
  add("constant", statistics.constant_memory);
  add("private", statistics.private_memory);
  add("readwrite", statistics.read_before_write);
  add("dominated", statistics.dominated);
  add("neighbours", statistics.neighbours);
  add("loop-invariant", statistics.loop_invariant);
  add("loop-strided", statistics.loop_strided);
  add("loop-joined", statistics.loop_joined);
  add("versions", statistics.private_versions);
  add("private-calls", statistics.private_calls);
  add("handed-down", statistics.handed_down);
  add("syncfree-functions", statistics.sync_free_functions);
  add("checks", statistics.checks);
  add("inlined", statistics.inlined_hooks);
  return line;
}

}  // namespace deadheat::instrument
