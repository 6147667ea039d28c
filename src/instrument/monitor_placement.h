// Where monitors start, and where the runtime is told of releases: sections 3.3 and 3.4 of the IFRit paper.
//
// Monitors may start wherever a location is in RW (weak) or W (strong). As in the paper they start at three
// kinds of places only, beyond which a start is redundant: after whatever ended certainty or monitors
// (acquires, releases, calls), at the beginning of blocks, and right after the definition of the address
// (short-scope monitors, 3.6).
//
// A second analysis, forwards, finds starts that are redundant: on every path the location was started
// already, as strongly, and nothing has released since. (It cannot take away two starts that justify each
// other: on any path, the first one after the last release finds nothing before it.)
// The heads of loops that may take long count as releases here: the gate may have been closed when the start
// was passed, and open now.
//
// Stopping. The paper's refined algorithm stops, at every release, all monitors but those of locations in RW
// there. Here the runtime stops them, wherever the release happens, and the pass says only which may live on:
// at operations that release and do not acquire (unlock, sem_post, pthread_create, a store with release
// order), those that are in RW. At every other release nothing is certain anyway, because what may release
// may acquire as well. Beside that the pass marks the two releases the runtime cannot see by itself: atomic
// operations, and calls that may lead to invisible code.
//
// A race is told when both accesses were made, not when it is certain that they will be: threads are
// cancelled, and processes exit. The runtime takes an access for made when its thread comes to anything that
// ends certainty, to a release (but for those with something certain behind them, `aheads`, which are
// marked), or once more to a start that is `prompt`.
//
// Starts that stand in one block with nothing but ordinary instructions between them become one group at the
// last one's place, behind one look at the gate. A start may even come to stand behind the access it is for:
// after an access, as before it, the thread is in its interference-free region, until it releases.
//
// Tested by monitor_placement_test.cc.
#pragma once

#include <llvm/ADT/MapVector.h>

#include "instrument/interference_free_regions.h"

namespace deadheat::instrument {

struct Start {
  LocationId location;
  const Site* site;  // the access it stands for; it is strong if that is a write
  bool prompt =
      false;  // it stands right before its access, or behind it: whoever comes here again has made it
};

struct Placement {
  using Group = llvm::SmallVector<Start, 2>;
  llvm::MapVector<llvm::Instruction*, Group> starts;  // before this instruction
  llvm::MapVector<llvm::Instruction*, Group> keeps;   // through this release
  llvm::SmallVector<llvm::Instruction*, 4> releases;  // told of right before
  llvm::SmallVector<llvm::Instruction*, 4> aheads;    // releases with certain accesses behind them
  llvm::SmallVector<llvm::CallBase*, 8> asks;         // may go to invisible code
  llvm::SmallVector<llvm::CallBase*, 8> whose;        // harmless, if the library's own
};

Placement place_monitors(llvm::Function& function, const InterferenceFreeRegions& regions,
                         const MonitorEffects& effects);

}  // namespace deadheat::instrument
