// A replay as events of src/trace/event.h, for the detectors of src/detect.
//
// Two passes over a recording. Detectors know locations, not bytes: two accesses conflict if they name the
// same one. So the first pass (`Boundaries`) collects where accesses begin and end, and the second (`Events`)
// cuts every access at those places: an access becomes one event per elementary range, and two accesses share
// a location exactly if they share bytes. Memory that is allocated afresh is new locations, whatever was
// there before.
//
// Synchronisation becomes locks, messages, forks and joins:
// - a release to an object sends its message, an acquire receives; a replacing release begins a new message;
// - locks that are ever shared: a shared holder receives what exclusive ones sent when they released, and
// sends what
//   the next exclusive one receives: shared holders do not order each other;
// - barriers: a message per generation;
// - atomics, by C++20's rules, as in the watch lane (src/runtime/watch/atomics.cc): a release store begins
// the
//   location's messages anew, a read-modify-write adds to them, an acquire load receives them, fences do
//   either for relaxed accesses. A message per location and thread, so that their number follows those and
//   not the length of the run;
// - freeing and unmapping write what they take away.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "replay/observer.h"
#include "trace/event.h"
#include "trace/names.h"

namespace deadheat::replay {

// The first pass.
class Boundaries : public Observer {
 public:
  void on_access(const Access& access) override { add(access.address, access.size); }
  void on_library_access(ThreadId, SiteId, const recording::LibraryAccess& access) override {
    add(access.address, access.size);
  }
  void on_sequencer(ThreadId, SiteId, const recording::Sequencer& sequencer) override;

  // Bit i: an elementary range of the granule begins at byte i. Bit 0 always.
  std::uint8_t cuts(std::uint64_t granule) const {
    const auto found = cuts_.find(granule);
    return found == cuts_.end() ? 1 : found->second;
  }
  bool is_ever_shared(Address lock) const { return shared_.contains(lock.value()); }
  // Without any, relaxed loads learn nothing.
  bool has_fences() const { return has_fences_; }

 private:
  void add(Address address, std::uint64_t size) {
    cut(address.value());
    cut(address.value() + size);
  }
  void cut(std::uint64_t at) {
    if ((at & 7) != 0)
      cuts_.try_emplace(at >> 3, 1).first->second |= static_cast<std::uint8_t>(1u << (at & 7));
  }

  std::unordered_map<std::uint64_t, std::uint8_t> cuts_;  // only of granules that are cut inside
  std::unordered_set<std::uint64_t> shared_;
  bool has_fences_ = false;
};

// The second pass.
class Events : public Observer {
 public:
  using Emit = std::function<void(const Event&)>;
  using NameSite = std::function<std::string(SiteId)>;
  // `names` grows; `name_site` is asked once a site. All outlive this.
  Events(const Boundaries& boundaries, Names& names, Emit emit, NameSite name_site);

  // What the replay calls the site that events call `site`.
  SiteId replay_site(SiteId site) const { return replay_sites_[site.index()]; }
  // The first address of a location.
  Address address_of(ObjectId location) const { return addresses_[location.index()]; }
  // What the recording calls the thread that events call `thread`.
  ThreadId recorded_thread(ThreadId thread) const { return recorded_threads_[thread.index()]; }

  void on_thread_begin(ThreadId thread) override;
  void on_thread_end(ThreadId thread, const recording::End& end) override;
  void on_access(const Access& access) override;
  void on_library_access(ThreadId thread, SiteId site, const recording::LibraryAccess& access) override;
  void on_sequencer(ThreadId thread, SiteId site, const recording::Sequencer& sequencer) override;
  void on_note(ThreadId thread, SiteId site, const recording::Note& note) override;

 private:
  using MessageId = std::uint32_t;
  struct Granule {
    std::uint32_t location[8] = {};  // + 1, by the first byte of the elementary range
  };
  // What an atomic location carries: for each thread of its release sequences the message it sent.
  struct Carried {
    std::map<std::uint32_t, MessageId> messages;  // by thread
  };
  struct ThreadState {
    ThreadId id;  // of events
    bool is_ended = false;
    std::uint32_t ignored_reads = 0, ignored_writes = 0, ignored_synchronisation = 0;
    std::unordered_set<std::uint64_t> shared_locks;
    // Fences.
    std::unordered_set<MessageId> seen_relaxed;  // an acquire fence receives them
    bool has_release_fence = false;
    MessageId release_fence = 0;
    // The atomic operation whose accesses are under way.
    std::uint32_t atomic_accesses_left = 0;
    recording::Sequencer atomic{};
    SiteId atomic_site;
  };

  ThreadState& state(ThreadId thread);
  SiteId site_of(SiteId site);
  std::uint32_t location_of(std::uint64_t granule, unsigned byte);
  void emit(ThreadState& thread, EventKind kind, std::uint64_t object, SiteId site);
  void access_range(ThreadState& thread, SiteId site, std::uint64_t address, std::uint64_t size,
                    bool is_write, bool is_atomic, const std::uint64_t* value);
  // All locations that exist there are written.
  void take_away(ThreadState& thread, SiteId site, std::uint64_t address, std::uint64_t size);
  void renew(std::uint64_t address, std::uint64_t size);
  template <class Function>
  void for_granules(std::uint64_t address, std::uint64_t size, Function&& visit);

  MessageId new_message();
  MessageId message_of(std::unordered_map<std::uint64_t, MessageId>& table, std::uint64_t object);
  MessageId send_own(ThreadState& thread, std::uint64_t address, SiteId site);
  void synchronise(ThreadState& thread, SiteId site, const recording::Sequencer& sequencer);
  void begin_atomic(ThreadState& thread, SiteId site, const recording::Sequencer& sequencer);
  void finish_atomic(ThreadState& thread);
  void fence(ThreadState& thread, SiteId site, unsigned order);

  const Boundaries& boundaries_;
  Names& names_;
  const Emit emit_;
  const NameSite name_site_;
  std::unordered_map<std::uint32_t, ThreadState> threads_;
  std::vector<ThreadId> recorded_threads_;
  std::unordered_map<std::uint32_t, SiteId> sites_;
  std::vector<SiteId> replay_sites_;
  std::vector<Address> addresses_;
  std::unordered_map<std::uint64_t, Granule> granules_;
  std::unordered_map<std::uint64_t, std::uint64_t> blocks_;  // allocated: address to size
  std::unordered_map<std::uint64_t, std::uint32_t> locks_;
  std::unordered_map<std::uint64_t, MessageId> objects_;
  std::unordered_map<std::uint64_t, MessageId> lock_writers_, lock_readers_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, MessageId> barriers_;
  std::unordered_map<std::uint64_t, Carried> atomics_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, MessageId> own_messages_;  // of a location and a thread
  std::unordered_set<MessageId> captured_;  // seen by a relaxed load: never sent again
};

}  // namespace deadheat::replay
