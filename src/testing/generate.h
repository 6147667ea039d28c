// Traces for comparing detectors with their references: all small ones, and random ones.
//
// Everything generated is a valid trace: a lock is taken only when it is free and released by its holder, a
// thread acts only between its fork and its end, a message is received only after it was sent, a read sees
// the last value written.
#pragma once

#include <cstdint>
#include <functional>
#include <random>

#include "trace/trace.h"

namespace deadheat::testing {

enum class Sites {
  kDistinct,  // each event its own place: pairs of places are pairs of events
  kByAccess,  // one place per thread, kind and object
  kFew,       // three places for everything
};

struct RandomShape {
  int events = 20;
  int threads = 3;  // including the main thread
  int locks = 2;
  int locations = 2;
  int messages = 0;
  int values = 0;      // number of different values; 0: no values
  int max_held = 3;    // locks held by one thread at a time
  bool forks = false;  // threads are forked and joined; otherwise all are there from the start
  bool branches = false;
  bool barrier_pairs = false;
  bool lifo_locks = true;   // released in the reverse order of taking
  bool close_locks = true;  // release everything at the end
  int access_weight = 60;   // of 100: how often an event is an access
  Sites sites = Sites::kDistinct;
};
Trace random_trace(const RandomShape& shape, std::mt19937_64& random);

// A shape chosen at random among the small ones that tests compare on.
RandomShape random_shape(std::mt19937_64& random);

struct SmallShape {
  int events = 7;
  int threads = 2;
  int locks = 1;
  int locations = 1;
  int messages = 0;
  bool forks = false;
  Sites sites = Sites::kDistinct;
};
// Calls `visit` for every trace with exactly shape.events events, up to renaming of threads, locks, locations
// and messages (they appear in order). Returns how many there were.
std::uint64_t for_each_small_trace(const SmallShape& shape, const std::function<void(const Trace&)>& visit);

}  // namespace deadheat::testing
