// What an instruction does to monitors: the difference between acquiring and releasing, which the watch
// lane's optimisations do not need, is what the monitor lane lives on.
//
//   acquires          ends what is certain: nothing that comes after it may be monitored before it
//   releases          ends monitors, at run time; what is certain stays certain
//   may_not_continue  what comes after it is not certain to happen
//
// Calls of functions of this module are as good as their bodies: a summary says whether any path in them may
// acquire or release, callees included (the least fixed point over the call graph, so recursion adds nothing
// of its own). A handful of POSIX functions are known to do only one of the two. Everything else is as
// SyncFreeFunctions says: nothing, or all.
//
// Releases of invisible code, that is code which is neither instrumented nor among the libraries whose
// synchronisation the runtime interposes, happen where nobody looks. So a call that may lead there is a place
// where the runtime asks (`Telling::kAsks`), unless it is known that the callee tells. So is a library's
// code: harmless_calls.h.
//
// A call that may release ends certainty even if it cannot acquire: at a release, the runtime takes every
// access that it was told of for made, but for those that this function still has ahead (Placement::aheads);
// callers have none.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include "instrument/sync_free_functions.h"

namespace deadheat::instrument {

// How the runtime comes to know of an instruction's releases.
enum class Telling {
  kNothing,    // there are none, or they are interposed or instrumented at their own place
  kRelease,    // a hook before the instruction says so
  kAsks,       // a call that may go to invisible code: a hook before it hands over the callee's address
  kAsksWhose,  // the same, of a library function that is harmless if it is the library's own
};

struct RegionEffects {
  bool acquires = false;
  bool releases = false;
  bool may_not_continue = false;
  Telling telling = Telling::kNothing;
  // It releases once and does nothing else to monitors: those of bytes that are accessed after it may live
  // on.
  bool only_releases = false;

  bool ends_certainty() const { return acquires || may_not_continue; }
};

class MonitorEffects {
 public:
  MonitorEffects(const llvm::Module& module, const SyncFreeFunctions& sync_free);

  RegionEffects effects_of(const llvm::Instruction& instruction) const;

 private:
  struct Summary {
    bool acquires = false;
    bool releases = false;
    bool tells = false;  // it is instrumented: its releases are seen where they happen
  };

  RegionEffects effects_of_call(const llvm::CallBase& call) const;

  const SyncFreeFunctions& sync_free_;
  llvm::DenseMap<const llvm::Function*, Summary> summaries_;
};

// Is this function's body the one that a call of it reaches?
bool has_known_body(const llvm::Function& function);

}  // namespace deadheat::instrument
