// Per location, the last access of each thread (of each slot, thread_slots.h) at each site: what a detector
// needs to find *every* unordered pair of sites.
//
// Why the last access is enough: if an access e2 is unordered with some earlier access of thread t at site s,
// it is also unordered with t's last access at s, because t's clock only grows. So one clock per (location,
// thread, site, kind) loses no pair of sites, whatever the number of accesses.
//
// Why it is fast although a location may have hundreds of such entries: each entry remembers when it last
// changed its clock (a stamp) and up to which stamp it has looked at the others. Knowledge only grows, so an
// entry that has not changed since the same (thread, site, kind) last looked at it has nothing new to show.
// Entries are kept in the order of their stamps, most recent first, and a look ends at the first old one. An
// access that changes no clock and finds nothing new costs a comparison.
//
// And knowledge is transitive: an access that found nothing unordered leaves a mark, and whoever knows that
// access knows all that it knew, so a look ends at the mark. On data that is properly ordered, by locks or
// otherwise, a look sees an entry or two.
//
// On data without any discipline neither helps: every entry changes all the time, and none is known. But
// there nearly all pairs of sites are soon reported, and an index (site_index.h) leads a look past them to
// the entries at sites that are not yet known to race with the own one. A look takes whichever way is
// shorter.
//
// Works for every order in which (1) a thread's clock advances when others may learn of it and (2) knowledge
// never shrinks: happens-before (hb), schedulable happens-before (shb), weak causal precedence (wcp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/strong_id.h"
#include "detect/detector.h"
#include "detect/pair_set.h"
#include "detect/site_index.h"
#include "detect/thread_slots.h"
#include "trace/event.h"

namespace deadheat::detect {

class SiteHistory {
 public:
  struct Entry {
    Clock clock;
    std::uint32_t previous;  // in the list of the entry's kind, most recent first
    std::uint32_t next;
    Slot slot;
    SiteId site;
    EventKind kind;
    bool is_atomic = false;
    bool writes_known = false;  // nothing that this entry has looked at was unordered with it
    bool reads_known = false;
    std::uint64_t stamp = 0;
    std::uint64_t looked = 0;
    EventIndex index;  // of the first access with `clock`
  };

  SiteHistory() = default;
  ~SiteHistory();
  SiteHistory(const SiteHistory&) = delete;
  SiteHistory& operator=(const SiteHistory&) = delete;

  // `event` is an access at time `own` of its thread, which has `slot`. Calls found(const Entry&) for each
  // conflicting earlier access that !known(slot, clock), once per pair of sites; then records the access.
  template <class Known, class Found>
  void access(EventIndex index, const Event& event, Slot slot, Clock own, const Known& known,
              const Found& found) {
    Location& location = this->location(event.object);
    const std::uint64_t key = key_of(event, slot);
    Entry* mine = nullptr;
    if (location.size > 0) {
      mine = &location.entries()[location.recent];
      if (location.keys()[location.recent] == key) {
        if (mine->clock == own && mine->looked == location.stamp) {
          ++repeated_;
          return;
        }
      } else {
        mine = find(location, key);
      }
    }
    if (mine == nullptr) mine = add(location, key, event, slot);
    location.recent = static_cast<std::uint32_t>(mine - location.entries());

    if (mine->looked != location.stamp) {
      look(location, /*at_writes=*/true, location.writes_mark, *mine, mine->writes_known, known, found);
      if (event.kind == EventKind::kWrite) {
        look(location, /*at_writes=*/false, location.reads_mark, *mine, mine->reads_known, known, found);
      }
    }
    if (mine->clock != own) {
      mine->clock = own;
      mine->index = index;
      mine->stamp = ++location.stamp;
      move_to_front(location, *mine);
    }
    mine->looked = location.stamp;
    if (mine->writes_known) location.writes_mark = Mark{location.stamp, slot, own};
    if (mine->reads_known) location.reads_mark = Mark{location.stamp, slot, own};
  }

  // For look_ahead().
  void fetch_location(const Event& event) const {
    if (event.object.index() < locations_.size()) __builtin_prefetch(&locations_[event.object.index()]);
  }
  void fetch_entries(const Event& event) const {
    if (event.object.index() >= locations_.size()) return;
    const Location& location = locations_[event.object.index()];
    if (location.memory == nullptr) return;
    __builtin_prefetch(location.memory + location.recent * sizeof(Entry));
    __builtin_prefetch(location.memory + location.capacity * sizeof(Entry));
  }

  // Accesses that showed nothing and changed nothing; entries looked at.
  std::uint64_t repeated() const { return repeated_; }
  std::uint64_t looks() const { return looks_; }
  std::uint64_t bytes() const { return bytes_ + pairs_.bytes() + locations_.capacity() * sizeof(Location); }

 private:
  static constexpr std::uint32_t kEnd = ~std::uint32_t{0};

  // An access to which everything up to a stamp was known.
  struct Mark {
    std::uint64_t stamp = 0;
    Slot slot;
    Clock clock;
  };
  struct Location {
    char* memory = nullptr;  // `capacity` entries, then as many keys
    std::uint32_t size = 0;
    std::uint32_t capacity = 0;
    std::uint32_t recent = 0;  // entry of the last access
    std::uint32_t reads = kEnd;
    std::uint32_t writes = kEnd;
    std::uint32_t index = kEnd;  // in indices_, if there are many entries
    std::uint64_t stamp = 0;
    Mark reads_mark;
    Mark writes_mark;

    Entry* entries() { return reinterpret_cast<Entry*>(memory); }
    std::uint64_t* keys() { return reinterpret_cast<std::uint64_t*>(memory + capacity * sizeof(Entry)); }
  };

  static std::uint64_t key_of(const Event& event, Slot slot) {
    // There are no more slots than threads, and these have at most 21 bits (kMaxThreads).
    return std::uint64_t{event.kind == EventKind::kWrite} << 63 | std::uint64_t{event.is_atomic} << 62 |
           std::uint64_t{slot.value()} << 32 | event.site.value();
  }

  Location& location(ObjectId object) {
    if (object.index() >= locations_.size()) grow(object);
    return locations_[object.index()];
  }

  // `all_known`: whether everything in the list up to mine.looked was known; kept up to date.
  template <class Known, class Found>
  void look(Location& location, bool at_writes, const Mark& mark, const Entry& mine, bool& all_known,
            const Known& known, const Found& found) {
    std::uint64_t old = mine.looked;
    if (old == 0) all_known = true;
    if (mark.stamp > old && known(mark.slot, mark.clock)) {
      old = mark.stamp;
      all_known = true;
    }
    Entry* entries = location.entries();
    auto meet = [&](const Entry& other) {
      ++looks_;
      if (other.slot == mine.slot || known(other.slot, other.clock)) return;
      all_known = false;
      if (other.is_atomic && mine.is_atomic) return;
      if (pairs_.insert(other.site, mine.site)) found(other);
    };
    if (const SiteIndex* index = shortcut(location, at_writes, mine.site, old)) {
      // What is passed over may be unordered with this access; to say so is always safe.
      all_known = false;
      index->for_each_unknown(at_writes, mine.site, pairs_, [&](std::uint32_t i) {
        if (entries[i].stamp > old) meet(entries[i]);
      });
      return;
    }
    std::uint32_t i = at_writes ? location.writes : location.reads;
    for (; i != kEnd && entries[i].stamp > old; i = entries[i].next) meet(entries[i]);
  }

  // The location's index, if it leads to what is newer than `old` in fewer steps than the list. The list has
  // at most one entry for each stamp.
  const SiteIndex* shortcut(const Location& location, bool at_writes, SiteId site, std::uint64_t old) const {
    if (location.index == kEnd) return nullptr;
    const std::uint64_t newer = std::min<std::uint64_t>(location.stamp - old, location.size);
    if (newer < SiteIndex::worthwhile) return nullptr;
    const SiteIndex& index = *indices_[location.index];
    if (!index.has_rows() || index.words() > newer) return nullptr;
    return index.count_unknown(at_writes, site, pairs_) <= newer / 2 ? &index : nullptr;
  }

  Entry* find(Location& location, std::uint64_t key);
  Entry* add(Location& location, std::uint64_t key, const Event& event, Slot slot);
  void add_to_index(Location& location);
  void grow(ObjectId object);
  void move_to_front(Location& location, Entry& entry);

  std::vector<Location> locations_;
  PairSet pairs_;
  std::vector<std::unique_ptr<SiteIndex>> indices_;
  std::uint64_t repeated_ = 0;
  std::uint64_t looks_ = 0;
  std::uint64_t bytes_ = 0;
};

// The earlier side of a race found through an entry. The entry does not keep values.
inline RacyEvent earlier_event(const SiteHistory::Entry& entry, const Event& later,
                               const ThreadSlots& slots) {
  Event event;
  event.kind = entry.kind;
  event.thread = slots.tenant(entry.slot, entry.clock);
  event.object = later.object;
  event.site = entry.site;
  event.is_atomic = entry.is_atomic;
  return RacyEvent{entry.index, event};
}

}  // namespace deadheat::detect
