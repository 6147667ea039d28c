// Machine code of mirrored functions, kept between replays: $XDG_CACHE_HOME/deadheat/replay (or
// ~/.cache/deadheat/replay).
//
// A folder for this very tool (its file, the hooks, LLVM and the processor all go into the name), in it a
// folder per module and variant, in it one object file per function. Files appear whole or not at all.
// Whatever cannot be read or written is as if it were not there: the cache only saves time. Folders of other
// builds of the tool go when they have not been used for a month. DEADHEAT_CACHE=off turns it off.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <string>

#include "replay/module_code.h"
#include "replay/variant.h"

namespace deadheat::replay {

class ObjectCache {
 public:
  // `hooks`: the bitcode that is inlined into every function.
  ObjectCache(Variant variant, llvm::StringRef hooks);

  // Null if it is not there.
  std::unique_ptr<llvm::MemoryBuffer> find(recording::ModuleId module, std::size_t function) const;
  void put(recording::ModuleId module, std::size_t function, llvm::StringRef object);
  // From now on nothing is written: a live world leaves no trace.
  void make_read_only() { is_read_only_ = true; }

 private:
  std::string path_of(recording::ModuleId module, std::size_t function) const;
  void remove_old(const std::string& parent) const;

  const Variant variant_;
  std::string folder_;  // empty: off
  bool is_read_only_ = false;
};

}  // namespace deadheat::replay
