// What is a race, by definition, of accesses that are made one by one: for comparing with what the engine
// tells.
#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "runtime/watch/tests/actors.h"

namespace deadheat::watch {

// Bytes of the test's arena.
struct Range {
  unsigned offset;
  unsigned size;
};

class Definition {
 public:
  static constexpr unsigned kMessages = 2;

  Definition(unsigned actors, uintptr_t arena, unsigned size)
      : arena_(arena), bytes_(size), known_(actors, Clock(actors, 0)), sent_(kMessages, Clock(actors, 0)) {
    for (unsigned i = 0; i < actors; ++i) known_[i][i] = 1;
  }
  void send(unsigned actor, unsigned message) {
    join(sent_[message], known_[actor]);
    ++known_[actor][actor];
  }
  void receive(unsigned actor, unsigned message) { join(known_[actor], sent_[message]); }

  // Whether what was told of an access of `actor`, the last one or one that is about to be made, is a race.
  bool is_race(unsigned actor, bool write, const Told& told) const {
    for (const Past& p : bytes_[told.byte - arena_].past)
      if (p.pc == told.earlier_pc && races(p, actor, write)) return true;
    return false;
  }
  // The bytes that have a race with it, and had none since they were new.
  std::set<unsigned> access(unsigned actor, const Range& range, bool write, uintptr_t pc) {
    std::set<unsigned> racy;
    for (unsigned i = range.offset; i < range.offset + range.size; ++i) {
      Byte& byte = bytes_[i];
      for (const Past& p : byte.past)
        if (races(p, actor, write) && !byte.raced) racy.insert(i);
      byte.past.push_back({actor, known_[actor][actor], write, pc});
    }
    for (unsigned i : racy) bytes_[i].raced = true;
    return racy;
  }
  // They are new.
  void forget(const Range& range) {
    for (unsigned i = range.offset; i < range.offset + range.size; ++i) bytes_[i] = {};
  }

 private:
  using Clock = std::vector<unsigned>;
  struct Past {
    unsigned actor;
    unsigned clock;
    bool write;
    uintptr_t pc;
  };
  struct Byte {
    std::vector<Past> past;
    bool raced = false;
  };
  bool races(const Past& p, unsigned actor, bool write) const {
    return (p.write || write) && p.clock > known_[actor][p.actor] && p.actor != actor;
  }
  static void join(Clock& into, const Clock& from) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
  }
  uintptr_t arena_;
  std::vector<Byte> bytes_;
  std::vector<Clock> known_;
  std::vector<Clock> sent_;
};

}  // namespace deadheat::watch
