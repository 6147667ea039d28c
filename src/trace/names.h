// Names of a trace, interned: detectors only ever see dense ids, people only ever see the names as they were
// written.
//
// Each kind of thing has its own ids, dense from 0 in order of first appearance, so that a detector can index
// flat arrays by them: a location and a lock that share a name are two objects with unrelated ids. A thread's
// id counts from 0 in the order in which the trace first names it (as the actor of an event or as the child
// of a fork), which is the order of creation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/strong_id.h"
#include "trace/event.h"

namespace deadheat {

// More than this, of all tables and sets together, is refused by readers and writers: memory follows it.
inline constexpr std::uint64_t kMaxNameBytesInAll = std::uint64_t{2} << 30;

// Strings with dense ids. Memory: the characters once, and 24 to 40 bytes a name.
class NameTable {
 public:
  // The id of `name`, a new one if it was not there.
  std::uint32_t intern(std::string_view name);
  // Adds `name` under the next id without looking whether it is there already: for readers of formats that
  // store each name once. The table for intern() and find() is then built when it is first needed.
  std::uint32_t append(std::string_view name);
  std::optional<std::uint32_t> find(std::string_view name) const;

  // REQUIRES: id < size(). Valid until the next intern() or append().
  std::string_view name(std::uint32_t id) const {
    return std::string_view(characters_).substr(starts_[id], starts_[id + 1] - starts_[id]);
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(starts_.size() - 1); }
  // Of all names together.
  std::uint64_t bytes() const { return characters_.size(); }

 private:
  // What a name is found by: where it is looked for first, and what is compared before its characters are.
  // With millions of names, every look at a name's characters is a wait for memory.
  struct Slot {
    std::uint32_t id_and_one = 0;  // 0: free
    std::uint32_t hash = 0;
  };
  std::uint32_t lookup(std::string_view name, std::uint32_t hash) const;
  void index_up_to_date() const;
  void insert_index(Slot slot) const;

  std::string characters_;
  std::vector<std::uint64_t> starts_ = {0};
  // Open addressing, at most half full; covers the first `indexed_` names.
  mutable std::vector<Slot> slots_;
  mutable std::uint32_t indexed_ = 0;
};

// The sets of locations that BarrierPairs can reach. Calls that reach the same locations share one set.
class ReachableSets {
 public:
  // The index of the set with these members; sorts them and drops doubles.
  std::uint32_t intern(std::vector<ObjectId> members);
  // Adds a set as it is (sorted, no doubles) without looking for an equal one: for readers of formats that
  // store each once.
  std::uint32_t append(std::span<const ObjectId> members);

  // REQUIRES: index < size(). Sorted, no doubles. Valid until the next intern() or append().
  std::span<const ObjectId> at(std::uint32_t index) const {
    return std::span(members_).subspan(starts_[index], starts_[index + 1] - starts_[index]);
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(starts_.size() - 1); }
  std::uint64_t bytes() const { return members_.size() * sizeof(ObjectId); }

 private:
  std::vector<ObjectId> members_;
  std::vector<std::uint64_t> starts_ = {0};
  std::vector<std::uint32_t> slots_;  // open addressing, index + 1
  std::uint32_t indexed_ = 0;
};

struct Names {
  NameTable threads;
  NameTable locations;
  NameTable locks;
  NameTable messages;
  NameTable functions;
  NameTable sites;
  ReachableSets reachable;  // Event::value of an kEnter is an index here

  // What kMaxNameBytesInAll limits.
  std::uint64_t bytes() const {
    return threads.bytes() + locations.bytes() + locks.bytes() + messages.bytes() + functions.bytes() +
           sites.bytes() + reachable.bytes();
  }
  std::string_view thread(ThreadId id) const { return threads.name(id.value()); }
  std::string_view site(SiteId id) const { return sites.name(id.value()); }
  // The name of what `event` acts on; empty for begin, end and branch.
  std::string_view object(const Event& event) const;
  // The table that `kind`'s object is a member of; null for begin, end and branch.
  const NameTable* table(EventKind kind) const;
  NameTable* table(EventKind kind) {
    return const_cast<NameTable*>(static_cast<const Names&>(*this).table(kind));
  }
};

}  // namespace deadheat
