// One real thread that takes the part of many: for playing traces into the real engine.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "runtime/watch/access.h"
#include "runtime/watch/epoch.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

// How many random runs a test makes instead of `usual`. Where identities are short, numbers of slots grow
// with each run, and all of them are looked through again and again: fewer.
constexpr int kFewer = kLastClock < 1000 ? 50 : 1;
constexpr int runs(int usual) { return usual / kFewer; }
// And how often something has to happen in them, at least.
constexpr long enough(long usual) { return usual / kFewer / kFewer; }

// A race as the engine told it, per byte of an arena of the test's.
struct Told {
  std::size_t later;     // the event being played
  uintptr_t earlier_pc;  // where the engine says the other access was made
  uintptr_t byte;

  friend auto operator<=>(const Told&, const Told&) = default;
};

// What report_race (tests/fakes.cc) collects.
extern std::size_t event_now;
extern std::set<Told> told;

// Where locks are taken: by a call of the program, whose place is remembered, and by one of a library.
constexpr uintptr_t kPcInProgram = 1;
constexpr uintptr_t kPcInLibrary = 2;

class Actors {
 public:
  Actors();
  ~Actors();
  Actors(const Actors&) = delete;
  Actors& operator=(const Actors&) = delete;

  Thread* root() const { return root_; }
  // The thread number `id`, created by `parent` (the root if null) when first asked for.
  Thread* get(uint32_t id, Thread* parent = nullptr);
  // All there will be, but for those whom they create: the root waits for one of them, so that from here on
  // nothing depends on what the root knows.
  template <class Ids>
  void are(const Ids& ids) {
    for (uint32_t id : ids) get(id);
    if (!actors_.empty()) thread_joining(root_, actors_.begin()->second.thread);
  }
  // It does nothing more, and nobody will wait for it.
  void end(uint32_t id);
  // Makes it the current thread, as far as hooks can tell.
  Thread* enter(uint32_t id);

 private:
  struct Actor {
    Thread* thread = nullptr;
    DhHot hot{};
    std::vector<DhFrame> frames;
  };
  // The root learns that it is gone, so that its slot can be used again.
  struct Ended {
    uint32_t slot;
    uint32_t last_clock;
  };
  Thread* root_;
  std::map<uint32_t, Actor> actors_;
  std::vector<Ended> ended_;
};

}  // namespace deadheat::watch
