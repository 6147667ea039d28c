#include "instrument/inline_hooks.h"

#define CARRIED(lane)                                \
  extern "C" const char deadheat_##lane##_bitcode[]; \
  extern "C" const char deadheat_##lane##_bitcode_end[]
CARRIED(watch);
CARRIED(monitor);
CARRIED(record);

namespace deadheat::instrument {
namespace {

llvm::StringRef between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace

llvm::StringRef hook_bitcode(llvm::StringRef mode) {
  if (mode == "monitor") return between(deadheat_monitor_bitcode, deadheat_monitor_bitcode_end);
  if (mode == "record") return between(deadheat_record_bitcode, deadheat_record_bitcode_end);
  return between(deadheat_watch_bitcode, deadheat_watch_bitcode_end);
}

}  // namespace deadheat::instrument
