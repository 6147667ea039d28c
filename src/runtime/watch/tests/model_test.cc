// The watch lane against the definition of a race.
//
// Whole traces are played into the real hooks, slow path, clocks and shadow memory by one real thread that
// takes the part of every thread in turn. What is told is compared with a naive happens-before closure, byte
// by byte: every byte that has a race is reported with its first one, and everything that is reported is a
// race.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "runtime/platform/options.h"
#include "runtime/watch/access.h"
#include "runtime/watch/again.h"
#include "runtime/watch/covered.h"
#include "runtime/watch/known_to_all.h"
#include "runtime/watch/locks.h"
#include "runtime/watch/pair.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/quick_bytes.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/sync.h"
#include "runtime/watch/tests/actors.h"
#include "testing/generate.h"
#include "testing/naive.h"
#include "testing/trace_builder.h"

namespace deadheat::watch {
namespace {

// A trace's access, made concrete: some bytes of a small arena.
struct Bytes {
  unsigned offset;
  unsigned size;
};

constexpr unsigned kArena = 32;
constexpr unsigned kMaxObjects = 8;
alignas(64) char arena[kArena];
alignas(64) char locks[kMaxObjects][64];
alignas(64) char messages[kMaxObjects][64];

constexpr uintptr_t kPcBase = 0x1000;

// Where in the code the accesses are made.
enum class Places {
  kOneForEach,
  kFew,  // one for each kind and size, so that accesses are made again
  kOneForEachPart,
};
uintptr_t pc_of(const Trace& trace, const std::vector<Bytes>& bytes, Places places, std::size_t index) {
  if (places == Places::kOneForEach) return kPcBase + index;
  bool const write = trace.events[index].kind == EventKind::kWrite;
  uintptr_t const pc = kPcBase + (write ? 32 : 0) + bytes[index].size;
  // Of the first parts of granules there are two.
  return places == Places::kFew
             ? pc
             : pc + bytes[index].offset % 8 * 64 + (bytes[index].offset == 0 ? 1024 * (index % 2) : 0);
}

long made_again;
long made_more;  // of their bytes
long joined;     // bytes that were touched elsewhere
long replaced;
long made_again_behind;  // a write
long made_in_bytes;
long first_pairs;
long write_pairs;
long read_pairs;
long noted_pairs;
long slower_of_pairs;
long noted_alone;

// What two threads read is noted, as far as that is possible; and some of what one thread alone reads, as if
// others noted what is beside it.
bool read_shared(Thread* t, uintptr_t address, DhCell* cell, uint64_t bytes, uintptr_t pc) {
  DhCell const seen = load_halves(cell);
  if (has_own_note(seen, t->hot->floor, bytes)) return ReadNotes::read_again(t, cell, bytes, pc);
  static unsigned lone;
  bool const is_alone = (seen.half[1] & 0xff) == 0;
  if (is_alone && ++lone % 4 != 0) return false;
  if (!t->notes.may_begin() || !ReadNotes::begin(t, address, cell, bytes, pc)) return false;
  noted_alone += is_alone ? 1 : 0;
  return true;
}

// As the hooks do it, but for learning more often.
template <bool kWrite>
bool quickly(Thread* t, uintptr_t address, DhCell* cell, uint64_t bytes, uintptr_t pc) {
  t->until_known = 100;  // who brings up to date what all know is the player
  if (!kWrite && read_shared(t, address, cell, bytes, pc)) return true;
  if (access_again<kWrite, kSameAccess>(t, cell, bytes, pc) == Again::kDone) {
    ++made_again;
    return true;
  }
  Again more = access_again<kWrite, kSameLabel>(t, cell, bytes, pc);
  if (!kWrite && more == Again::kElsewhere && read_that_joins(t, cell, bytes, pc)) more = Again::kJoined;
  if (more == Again::kDone || more == Again::kJoined) {
    ++(more == Again::kDone ? made_more : joined);
    return true;
  }
  if (kWrite && replace_own_write(t, cell, bytes, pc)) {
    ++replaced;
    return true;
  }
  if (!kWrite && read_second_again(t, cell, bytes, pc) == Again::kDone) {
    ++made_again_behind;
    return true;
  }
  if (access_in_bytes_quickly<kWrite>(t, cell, bytes, pc)) {
    ++made_in_bytes;
    return true;
  }
  learn_again(t, cell, bytes, pc, kHookSite | (kWrite ? kWriteSite : 0));
  bool const done = quickest_access<kWrite>(t, address, cell, bytes, pc, 0);
  learn_again(t, cell, bytes, pc, kHookSite | (kWrite ? kWriteSite : 0));
  return done;
}

class Player {
 public:
  Player(const Trace& trace, const std::vector<Bytes>& bytes, Places places)
      : trace_(trace), bytes_(bytes), places_(places) {
    clear_shadow(reinterpret_cast<uintptr_t>(arena), sizeof arena);
    clear_shadow(reinterpret_cast<uintptr_t>(locks), sizeof locks);
    clear_shadow(reinterpret_cast<uintptr_t>(messages), sizeof messages);
  }

  void play() {
    std::set<uint32_t> there;
    for (const Event& e : trace_.events) there.insert(e.thread.value());
    for (const Event& e : trace_.events)
      if (e.kind == EventKind::kFork) there.erase(static_cast<uint32_t>(e.object.index()));
    // Nobody asks for a thread after its last event, or its join.
    std::map<uint32_t, std::size_t> last;
    for (std::size_t i = 0; i < trace_.events.size(); ++i) {
      const Event& e = trace_.events[i];
      last[e.thread.value()] = i;
      if (e.kind == EventKind::kFork || e.kind == EventKind::kJoin)
        last[static_cast<uint32_t>(e.object.index())] = i;
    }
    actors_.are(there);
    for (std::size_t i = 0; i < trace_.events.size(); ++i) {
      event_now = i;
      one(trace_.events[i], i);
      for (auto const [thread, at] : last)
        if (at == i) actors_.end(thread);
      if (i % 3 != 0) advance_known_to_all();
    }
  }

 private:
  void one(const Event& e, std::size_t index) {
    Thread* const t = actors_.get(e.thread.value());
    auto const object = e.object.index();
    switch (e.kind) {
      case EventKind::kRead:
      case EventKind::kWrite:
        access(t, e.kind == EventKind::kWrite, index);
        break;
      case EventKind::kAcquire:
        t->waits_with = nullptr;
        lock_acquired(t, locks[object % kMaxObjects], false, true,
                      index % 4 != 0 ? kPcInProgram : kPcInLibrary);
        break;
      case EventKind::kRelease:
        lock_releasing(t, locks[object % kMaxObjects]);
        // Who takes the lock again without having done anything may as well have waited for a condition.
        if (takes_again(index)) t->waits_with = locks[object % kMaxObjects];
        break;
      case EventKind::kFork:
        actors_.get(static_cast<uint32_t>(object), t);
        break;
      case EventKind::kJoin: {
        Thread* const child = actors_.get(static_cast<uint32_t>(object), t);
        publish(child);
        if (t->clock.join(child->clock)) t->learnt();
        break;
      }
      case EventKind::kSend:
        sync_release(t, messages[object % kMaxObjects], false);
        break;
      case EventKind::kReceive:
        sync_acquire(t, messages[object % kMaxObjects]);
        break;
      default:
        break;
    }
  }

  bool takes_again(std::size_t release) const {
    const Event& r = trace_.events[release];
    for (std::size_t i = release + 1; i < trace_.events.size(); ++i) {
      const Event& e = trace_.events[i];
      if (e.thread == r.thread) return e.kind == EventKind::kAcquire && e.object.index() == r.object.index();
    }
    return false;
  }

  // The fast path as inlined into programs, then the slow ones.
  void access(Thread* t, bool write, std::size_t index) {
    Bytes const b = bytes_[index];
    auto const address = reinterpret_cast<uintptr_t>(arena) + b.offset;
    bool const one_granule = (address & 7) + b.size <= 8;
    bool const by_spans = platform::options().filter == platform::Filter::kSpans;
    uintptr_t const pc = pc_of(trace_, bytes_, places_, index);
    if (by_spans && b.size <= 16) {
      // A site is known when it comes again: every second access is made to look as if it did. Of those
      // across granules, some are made by the library.
      uint32_t const site = one_granule || index % 3 != 0 ? uint32_t{kHookSite} : 0;
      if (index % 2 == 0) remember_site(t, pc, current_frames(t), b.size | site | (write ? kWriteSite : 0));
      Chunk* const chunk = existing_chunk(address);
      if (b.size == 16 && (address & 7) == 0 && chunk != nullptr && t->may_be_quick()) {
        return write ? access_pair<true>(t, address, pc) : access_pair<false>(t, address, pc);
      }
      if (one_granule && chunk != nullptr) {
        DhCell* const cell = &chunk->cells[cell_index(address)];
        uint64_t const bytes = bytes_at(address, b.size);
        if (is_covered(cell, t->hot->floor, bytes | (write ? uint64_t{kDhWriteBit} : 0))) return;
        if (write && cell->half[0] == 0 && t->may_be_quick() &&
            quickest_first_write(t, address, cell, bytes, pc))
          return;
        if (t->may_be_quick() && (write ? quickly<true>(t, address, cell, bytes, pc)
                                        : quickly<false>(t, address, cell, bytes, pc)))
          return;
      } else if (!one_granule && t->may_be_quick() &&
                 (write ? quickest_across<true>(t, address, b.size, pc, 0, site)
                        : quickest_across<false>(t, address, b.size, pc, 0, site))) {
        return;
      }
      if (write ? quick_access<true>(t, address, b.size, pc, 0, site)
                : quick_access<false>(t, address, b.size, pc, 0, site))
        return;
    }
    check_access(t, {address, b.size, write ? AccessType::kWrite : AccessType::kRead, pc, 0, false});
  }

  // Two accesses of eight bytes, as __dh_read8x2 and __dh_write8x2 make them.
  template <bool kWrite>
  static void access_pair(Thread* t, uintptr_t address, uintptr_t pc) {
    constexpr uint64_t kNeed = 0xff | (kWrite ? uint64_t{kDhWriteBit} : 0);
    DhCell* const cell = &existing_chunk(address)->cells[cell_index(address)];
    uint64_t const floor = t->hot->floor;
    if (is_covered(&cell[0], floor, kNeed) && is_covered(&cell[1], floor, kNeed)) return;
    t->until_known = 100;
    if (kWrite && (cell[0].half[0] | cell[1].half[0]) == 0) {
      if (quickest_first_pair(t, address, cell, pc)) {
        ++first_pairs;
        return;
      }
    } else if (!kWrite && quickest_noted_pair(t, cell, pc)) {
      ++noted_pairs;
      return;
    } else if (kWrite ? quickest_write_pair(t, cell, pc) : quickest_read_pair(t, address, cell, pc)) {
      ++(kWrite ? write_pairs : read_pairs);
      return;
    }
    quickest_apart<kWrite>(t, address, cell, pc, [=](unsigned i) {
      ++slower_of_pairs;
      uintptr_t const granule = address + 8 * i;
      if (quickest_access<kWrite>(t, granule, &cell[i], 0xff, pc, 0)) return;
      if (quick_access<kWrite>(t, granule, 8, pc, 0, kHookSite)) return;
      check_access(t, {granule, 8, kWrite ? AccessType::kWrite : AccessType::kRead, pc, 0, false});
    });
  }

  const Trace& trace_;
  const std::vector<Bytes>& bytes_;
  Places places_;
  Actors actors_;
};

uintptr_t at(unsigned byte) { return reinterpret_cast<uintptr_t>(arena) + byte; }

bool touches(const Bytes& b, unsigned byte) { return byte >= b.offset && byte < b.offset + b.size; }

// Plays `trace` and compares; returns how many bytes had a race.
int compare(const Trace& trace, const std::vector<Bytes>& bytes, Places places = Places::kOneForEach) {
  Player(trace, bytes, places).play();
  testing::Relation const order = testing::happens_before(trace);
  auto const race = [&](std::size_t a, std::size_t b, unsigned byte) {
    const Event& x = trace.events[a];
    const Event& y = trace.events[b];
    return is_access(x.kind) && is_access(y.kind) && x.thread != y.thread &&
           (x.kind == EventKind::kWrite || y.kind == EventKind::kWrite) && touches(bytes[a], byte) &&
           touches(bytes[b], byte) && !order.has(a, b);
  };
  int racy = 0;
  for (unsigned byte = 0; byte < kArena; ++byte) {
    std::size_t first = trace.events.size();
    for (std::size_t later = 0; later < trace.events.size() && first == trace.events.size(); ++later) {
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        if (race(earlier, later, byte)) first = later;
      }
    }
    if (first == trace.events.size()) continue;
    ++racy;
    bool found = false;
    for (const Told& t : told) found |= t.byte == at(byte) && t.later == first;
    EXPECT_TRUE(found) << "byte " << byte << ": first race at event " << first << " was not told\n"
                       << testing::to_text(trace);
  }
  for (const Told& t : told) {
    unsigned const byte = static_cast<unsigned>(t.byte - at(0));
    bool is_race = false;
    for (std::size_t earlier = 0; earlier < t.later; ++earlier)
      is_race |= pc_of(trace, bytes, places, earlier) == t.earlier_pc && race(earlier, t.later, byte);
    EXPECT_TRUE(is_race) << "byte " << byte << ": what was told of event " << t.later << " and place "
                         << t.earlier_pc - kPcBase << " is no race\n"
                         << testing::to_text(trace);
  }
  return racy;
}

// Every location its own 8 bytes, accessed as a whole.
std::vector<Bytes> whole_words(const Trace& trace) {
  std::vector<Bytes> bytes;
  for (const Event& e : trace.events) bytes.push_back({static_cast<unsigned>(e.object.index() % 4) * 8, 8});
  return bytes;
}

std::vector<Bytes> random_bytes(const Trace& trace, std::mt19937_64& random) {
  std::vector<Bytes> bytes;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    unsigned const size = 1u << (random() % 4);
    bool const aligned = random() % 4 != 0;
    unsigned offset = static_cast<unsigned>(random() % (16 - size + 1));
    if (aligned) offset &= ~(size - 1);
    bytes.push_back(random() % 16 == 0 ? Bytes{offset, static_cast<unsigned>(1 + random() % 16)}
                                       : Bytes{offset, size});
  }
  return bytes;
}

TEST(WatchModel, EverySmallTraceOfTwoThreadsAndOneLock) {
  testing::SmallShape shape;
  shape.events = 7;
  long racy = 0;
  std::uint64_t const count = testing::for_each_small_trace(shape, [&](const Trace& trace) {
    if (!::testing::Test::HasFailure()) racy += compare(trace, whole_words(trace)) != 0;
  });
  EXPECT_GT(count, 1000u);
  EXPECT_GT(racy, enough(100));
}

TEST(WatchModel, EverySmallTraceWithAMessageAndTwoLocks) {
  testing::SmallShape shape;
  shape.events = 6;
  shape.locks = 2;
  shape.messages = 1;
  std::uint64_t const count = testing::for_each_small_trace(shape, [&](const Trace& trace) {
    if (!::testing::Test::HasFailure()) compare(trace, whole_words(trace));
  });
  EXPECT_GT(count, 1000u);
}

TEST(WatchModel, RandomTracesByteByByte) {
  std::mt19937_64 random(20261115);
  long racy = 0;
  for (int i = 0; i < runs(40000) && !::testing::Test::HasFailure(); ++i) {
    testing::RandomShape shape = testing::random_shape(random);
    shape.events = 8 + static_cast<int>(random() % 60);
    shape.threads = 2 + static_cast<int>(random() % 4);
    shape.locks = 1 + static_cast<int>(random() % 4);
    shape.messages = static_cast<int>(random() % 3);
    shape.forks = random() % 2 == 0;
    shape.barrier_pairs = false;
    shape.branches = false;
    Trace const trace = testing::random_trace(shape, random);
    racy += compare(trace, random_bytes(trace, random)) != 0;
  }
  EXPECT_GT(racy, enough(1000));
}

TEST(WatchModel, RandomTracesThroughFewPlaces) {
  std::mt19937_64 random(20261116);
  long racy = 0;
  made_again = made_more = made_again_behind = 0;
  for (int i = 0; i < runs(20000) && !::testing::Test::HasFailure(); ++i) {
    // Messages give labels without changing what locks are held.
    testing::RandomShape shape;
    shape.events = 40 + static_cast<int>(random() % 80);
    shape.threads = 2 + static_cast<int>(random() % 2);
    shape.locks = static_cast<int>(random() % 2);
    shape.locations = 1 + static_cast<int>(random() % 2);
    shape.messages = 2;
    shape.access_weight = 10 + static_cast<int>(random() % 60);
    shape.forks = false;
    shape.barrier_pairs = false;
    shape.branches = false;
    Trace trace = testing::random_trace(shape, random);
    for (Event& e : trace.events) {
      if (e.kind == EventKind::kWrite && random() % 4 != 0) e.kind = EventKind::kRead;
    }
    std::vector<Bytes> bytes = whole_words(trace);
    if (random() % 2 == 0) {
      for (Bytes& b : bytes) {
        if (random() % 3 == 0) continue;
        b.size = random() % 2 == 0 ? 4 : 1;
        b.offset += static_cast<unsigned>(random() % 8) & ~(b.size - 1);
      }
    }
    racy += compare(trace, bytes, Places::kFew) != 0;
  }
  EXPECT_GT(racy, enough(1000));
  EXPECT_GT(made_again, enough(1000));
  EXPECT_GT(made_more, enough(500));
  EXPECT_GT(noted_alone, enough(500));
}

// Halves of words and smaller parts, each touched at its own place, one after the other, again and again.
TEST(WatchModel, RandomTracesOfPartsThatJoin) {
  std::mt19937_64 random(20261120);
  long racy = 0;
  joined = replaced = 0;
  for (int i = 0; i < runs(10000) && !::testing::Test::HasFailure(); ++i) {
    testing::RandomShape shape;
    shape.events = 40 + static_cast<int>(random() % 60);
    shape.threads = 2 + static_cast<int>(random() % 2);
    shape.locks = static_cast<int>(random() % 2);
    shape.locations = 1 + static_cast<int>(random() % 2);
    shape.messages = 2;
    shape.access_weight = 10 + static_cast<int>(random() % 40);
    shape.forks = false;
    shape.barrier_pairs = false;
    shape.branches = false;
    Trace trace = testing::random_trace(shape, random);
    // The others come seldom.
    unsigned const seldom = 2 + static_cast<unsigned>(random() % 8);
    std::erase_if(trace.events, [&](const Event& e) {
      return is_access(e.kind) && e.thread.value() != 0 && random() % seldom != 0;
    });
    std::vector<Event> events;
    std::vector<Bytes> bytes;
    for (const Event& e : trace.events) {
      unsigned const parts = is_access(e.kind) ? 1u << random() % 3 : 1;
      for (unsigned part = 0; part < parts; ++part) {
        events.push_back(e);
        unsigned const size = 8 / parts;
        bytes.push_back({static_cast<unsigned>(e.object.index() % 4) * 8 + part * size, size});
        if (random() % 8 == 0) break;
      }
    }
    trace.events = events;
    racy += compare(trace, bytes, Places::kOneForEachPart) != 0;
  }
  EXPECT_GT(racy, enough(1000));
  EXPECT_GT(joined, enough(50));
  EXPECT_GT(replaced, enough(1000));
}

// Objects of two words, which are mostly touched as a whole.
TEST(WatchModel, RandomTracesOfPairs) {
  std::mt19937_64 random(20261117);
  long racy = 0;
  first_pairs = write_pairs = read_pairs = noted_pairs = slower_of_pairs = 0;
  for (int i = 0; i < runs(20000) && !::testing::Test::HasFailure(); ++i) {
    testing::RandomShape shape;
    shape.events = 20 + static_cast<int>(random() % 80);
    shape.threads = 2 + static_cast<int>(random() % 3);
    shape.locks = static_cast<int>(random() % 3);
    shape.locations = 1 + static_cast<int>(random() % 3);
    shape.messages = 2;
    shape.access_weight = 10 + static_cast<int>(random() % 60);
    shape.forks = random() % 2 == 0;
    shape.barrier_pairs = false;
    shape.branches = false;
    Trace trace = testing::random_trace(shape, random);
    unsigned const reads_of_eight = random() % 2 == 0 ? 0 : static_cast<unsigned>(random() % 8);
    for (Event& e : trace.events) {
      if (e.kind == EventKind::kWrite && random() % 8 < reads_of_eight) e.kind = EventKind::kRead;
    }
    std::vector<Bytes> bytes = whole_words(trace);
    for (Bytes& b : bytes) {
      if (random() % 4 == 0) continue;
      b = {b.offset < 16 ? b.offset : 16, 16};
    }
    racy += compare(trace, bytes, random() % 2 == 0 ? Places::kFew : Places::kOneForEach) != 0;
  }
  EXPECT_GT(racy, enough(1000));
  EXPECT_GT(first_pairs, enough(1000));
  EXPECT_GT(write_pairs, enough(1000));
  EXPECT_GT(read_pairs, enough(1000));
  EXPECT_GT(noted_pairs, enough(1000));
  EXPECT_GT(slower_of_pairs, enough(1000));
}

// What one thread does to parts of two granules for long, under ever new labels, until another one comes.
TEST(WatchModel, RandomTracesOfOneThreadsBytes) {
  std::mt19937_64 random(20261118);
  long racy = 0;
  made_in_bytes = 0;
  for (int i = 0; i < runs(10000) && !::testing::Test::HasFailure(); ++i) {
    testing::RandomShape shape;
    shape.events = 60 + static_cast<int>(random() % 80);
    shape.threads = 2 + static_cast<int>(random() % 2);
    shape.locks = static_cast<int>(random() % 2);
    shape.locations = 1 + static_cast<int>(random() % 2);
    shape.messages = 2;
    shape.access_weight = 20 + static_cast<int>(random() % 60);
    shape.forks = false;
    shape.barrier_pairs = false;
    shape.branches = false;
    Trace trace = testing::random_trace(shape, random);
    // The others come to the granules seldom.
    unsigned const seldom = 2 + static_cast<unsigned>(random() % 16);
    std::erase_if(trace.events, [&](const Event& e) {
      return is_access(e.kind) && e.thread.value() != 0 && random() % seldom != 0;
    });
    std::vector<Bytes> bytes = whole_words(trace);
    unsigned const widest = 1u << (random() % 3);
    for (Bytes& b : bytes) {
      if (random() % 16 == 0) continue;
      b.size = random() % 4 != 0 ? widest : 1;
      b.offset += static_cast<unsigned>(random() % 8) & ~(b.size - 1);
    }
    racy += compare(trace, bytes, random() % 2 == 0 ? Places::kFew : Places::kOneForEach) != 0;
  }
  EXPECT_GT(racy, enough(1000));
  EXPECT_GT(made_in_bytes, enough(1000));
}

// What two threads read again and again, with new labels, and write now and then: notes of shared reads.
TEST(WatchModel, RandomTracesOfSharedReads) {
  std::mt19937_64 random(20261116);
  long racy = 0;
  for (int i = 0; i < runs(10000) && !::testing::Test::HasFailure(); ++i) {
    testing::RandomShape shape;
    shape.events = 40 + static_cast<int>(random() % 60);
    shape.threads = 2 + static_cast<int>(random() % 8 == 0);
    shape.locks = 1 + static_cast<int>(random() % 2);
    shape.locations = 1 + static_cast<int>(random() % 2);
    shape.max_held = 1;
    Trace trace = testing::random_trace(shape, random);
    for (Event& e : trace.events) {
      if (e.kind == EventKind::kWrite && random() % 16 != 0) e.kind = EventKind::kRead;
    }
    racy += compare(trace, random() % 8 != 0 ? whole_words(trace) : random_bytes(trace, random)) != 0;
  }
  EXPECT_GT(racy, enough(1000));
}

TEST(WatchKnown, WhoWaitsForOneThatHasEndedCanAct) {
  Actors actors;
  actors.are(std::set<uint32_t>{0, 1, 2});
  auto const look = [] {
    with_live_threads([](const Thread* live, uint32_t, uint32_t) { note_who_can_act(live); });
    return both_acting_slots;
  };
  EXPECT_EQ(look(), 0u);
  thread_joining(actors.get(2), actors.get(1));
  EXPECT_EQ(look(), actors.get(0)->slot + actors.get(1)->slot);
  actors.get(1)->finished = true;
  EXPECT_EQ(look(), 0u);
}

// The two ways in which dropping "the same access again" goes wrong, and the case where it is right.
TEST(WatchModel, AReleaseThatIsStillPendingSeparates) {
  Trace const trace = testing::build_trace("T0|w(x) T0|acq(A) T0|rel(A) T0|w(x) T1|acq(A) T1|rel(A) T1|r(x)");
  EXPECT_EQ(compare(trace, whole_words(trace)), 8);
}
TEST(WatchModel, AnObservedReleaseSeparates) {
  Trace const trace = testing::build_trace(
      "T0|acq(A) T0|w(x) T0|rel(A) T1|acq(A) T1|rel(A) T0|acq(A) T0|w(x) T0|rel(A) T1|r(x)");
  EXPECT_EQ(compare(trace, whole_words(trace)), 8);
}
TEST(WatchModel, AReadThatIsMadeAgainBehindAWriteRacesWithItsLastLabel) {
  std::string const observed = " T0|acq(A) T0|rel(A) T1|acq(A) T1|rel(A)";
  std::string text = "T0|w(x)";
  for (int i = 0; i < 6; ++i) text += observed + " T0|r(x)";
  made_again_behind = 0;
  Trace const race = testing::build_trace(text + " T1|w(x) T2|r(y)");
  EXPECT_EQ(compare(race, whole_words(race), Places::kFew), 8);
  EXPECT_GE(made_again_behind, 3);
  Trace const none = testing::build_trace(text + observed + " T1|w(x) T2|r(y)");
  EXPECT_EQ(compare(none, whole_words(none), Places::kFew), 0);
}
TEST(WatchModel, ALockNobodyElseWantsKeepsTheLabel) {
  Trace const trace = testing::build_trace("T0|acq(A) T0|w(x) T0|rel(A) T0|acq(A) T0|w(x) T0|rel(A)");
  std::vector<Bytes> const bytes = whole_words(trace);
  Player player(trace, bytes, Places::kOneForEach);
  uint64_t const before = total_statistics().slow_accesses;
  player.play();
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(total_statistics().slow_accesses, before);
}

}  // namespace
}  // namespace deadheat::watch
