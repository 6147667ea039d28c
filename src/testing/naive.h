// Naive references: each definition written down as directly as possible, with no thought for speed. Linked
// into tests only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace deadheat::testing {

// A relation over the events of a trace.
class Relation {
 public:
  explicit Relation(std::size_t size) : size_(size), words_((size + 63) / 64), bits_(size * words_, 0) {}
  std::size_t size() const { return size_; }
  bool has(std::size_t a, std::size_t b) const { return bits_[a * words_ + b / 64] >> (b % 64) & 1; }
  // True if it was not there.
  bool add(std::size_t a, std::size_t b) {
    std::uint64_t& word = bits_[a * words_ + b / 64];
    const std::uint64_t bit = std::uint64_t{1} << (b % 64);
    if (word & bit) return false;
    word |= bit;
    return true;
  }
  // Adds what follows by transitivity.
  void close();

 private:
  std::size_t size_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

using EventPairs = std::set<std::pair<std::size_t, std::size_t>>;     // (earlier, later)
using SitePairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;  // (smaller, larger)

bool conflict(const Event& a, const Event& b);

// Program order, fork and join, messages: what no schedule can change. Not reflexive.
Relation hard_order(const Trace& trace);
// The same and, for each lock, a release before every later acquire.
Relation happens_before(const Trace& trace);

// Conflicting pairs that `order` does not order.
EventPairs unordered_conflicts(const Trace& trace, const Relation& order);
SitePairs sites_of(const Trace& trace, const EventPairs& pairs);
// For each location, the first event that is the later one of a pair.
std::map<std::uint64_t, std::size_t> first_per_location(const Trace& trace, const EventPairs& pairs);

// The write each read sees, or size() if none; for other events size().
std::vector<std::size_t> last_writes(const Trace& trace);
// The locks held at each event (before it, for acquires and releases).
std::vector<std::set<std::uint64_t>> held_locks(const Trace& trace);
// For each acquire its release and for each release its acquire; size() if there is none. Inner pairs of a
// lock taken again by its holder are left out.
std::vector<std::size_t> matching(const Trace& trace);

// The thesis's notion of a race ("TREE", section 3.3): conflicting, no common lock, not ordered by the hard
// order.
EventPairs lockset_and_message_races(const Trace& trace);

}  // namespace deadheat::testing
