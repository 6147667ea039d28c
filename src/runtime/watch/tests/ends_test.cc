// The ends of local variables against the definition: an end is a write of all bytes, and then they have no
// past. Random accesses and ends of variables that share granules, played into the real hooks by one thread
// that takes the part of three. Each variable is read and written at places of its own, so that what is told
// shows which bytes were joined with which.
#include <gtest/gtest.h>

#include <random>

#include "runtime/watch/access.h"
#include "runtime/watch/again.h"
#include "runtime/watch/covered.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/sync.h"
#include "runtime/watch/tests/actors.h"
#include "runtime/watch/tests/definition.h"

namespace deadheat::watch {
namespace {

constexpr unsigned kActors = 3;
constexpr unsigned kArena = 32;
alignas(64) char arena[kArena];
alignas(64) char messages[2][64];

uintptr_t at(unsigned byte) { return reinterpret_cast<uintptr_t>(arena) + byte; }

// Whole granules, parts that share one, and parts of two.
constexpr Range kVariables[] = {{0, 4}, {4, 4}, {8, 8}, {16, 1}, {17, 1}, {18, 2}, {20, 8}, {28, 4}};

long joined;

template <bool kWrite>
void touch(Thread* t, const Range& v, uintptr_t pc) {
  if ((v.offset & 7) + v.size > 8) {
    check_access(t, {at(v.offset), v.size, kWrite ? AccessType::kWrite : AccessType::kRead, pc, 0, false});
    return;
  }
  DhCell* const cell = &chunk_for(at(0))->cells[cell_index(at(v.offset))];
  uint64_t const bytes = bytes_at(at(v.offset), v.size);
  if (is_covered(cell, t->hot->floor, bytes | (kWrite ? uint64_t{kDhWriteBit} : 0))) return;
  t->until_known = 100;
  remember_site(t, pc, current_frames(t), v.size | kHookSite | (kWrite ? kWriteSite : 0));
  if (kWrite && cell->half[0] == 0 && quickest_first_write(t, at(v.offset), cell, bytes, pc)) return;
  if (access_again<kWrite, kSameAccess>(t, cell, bytes, pc) == Again::kDone) return;
  Again more = access_again<kWrite, kSameLabel>(t, cell, bytes, pc);
  if (!kWrite && more == Again::kElsewhere && read_that_joins(t, cell, bytes, pc)) more = Again::kJoined;
  joined += more == Again::kJoined;
  if (more == Again::kDone || more == Again::kJoined) return;
  learn_again(t, cell, bytes, pc, kHookSite | (kWrite ? kWriteSite : 0));
  if (quickest_access<kWrite>(t, at(v.offset), cell, bytes, pc, 0)) return;
  quick_access<kWrite>(t, at(v.offset), v.size, pc, 0, kHookSite);
}

TEST(WatchEnds, RandomLivesOfVariablesThatShareGranules) {
  std::mt19937_64 random(20261119);
  long races_of_ends = 0;
  long private_parts = 0;
  for (int run = 0; run < runs(1500) && !::testing::Test::HasFailure(); ++run) {
    Actors actors;
    actors.are(std::set<uint32_t>{0, 1, 2});
    clear_shadow(at(0), kArena);
    clear_shadow(reinterpret_cast<uintptr_t>(messages), sizeof messages);
    Definition definition(kActors, at(0), kArena);
    unsigned const others_come = 2 + static_cast<unsigned>(random() % 40);
    for (event_now = 0; event_now < 800; ++event_now) {
      unsigned const who = random() % others_come == 0 ? 1 + static_cast<unsigned>(random() % 2) : 0;
      Thread* const t = actors.enter(who);
      const Range& v = kVariables[random() % std::size(kVariables)];
      Definition const before = definition;
      std::set<unsigned> expected;
      bool write = true;
      told.clear();
      switch (random() % 8) {
        case 0:
          sync_release(t, messages[who % 2], false);
          definition.send(who, who % 2);
          break;
        case 1:
          sync_acquire(t, messages[0]);
          sync_acquire(t, messages[1]);
          definition.receive(who, 0);
          definition.receive(who, 1);
          break;
        case 2:
        case 3:
          private_parts += who == 0 && v.size < 8;
          __dh_end_of_life(arena + v.offset, v.size);
          expected = definition.access(who, v, true, 0);
          definition.forget(v);
          races_of_ends += !expected.empty();
          break;
        case 4:
          write = false;
          touch<false>(t, v, 0x1000 + v.offset);
          expected = definition.access(who, v, false, 0x1000 + v.offset);
          break;
        default:
          touch<true>(t, v, 0x2000 + v.offset);
          expected = definition.access(who, v, true, 0x2000 + v.offset);
          break;
      }
      for (const Told& race : told) {
        EXPECT_TRUE(before.is_race(who, write, race)) << "run " << run << " event " << event_now << ": byte "
                                                      << race.byte - at(0) << " has no such race";
        expected.erase(static_cast<unsigned>(race.byte - at(0)));
      }
      EXPECT_TRUE(expected.empty()) << "run " << run << " event " << event_now << ": byte "
                                    << *expected.begin() << " has a race that was not told";
    }
  }
  EXPECT_GT(races_of_ends, enough(1000));
  EXPECT_GT(private_parts, enough(1000));
  EXPECT_GT(joined, enough(500));
}

// The same two places, and other bytes at the first: what was learnt of some must not be taken for the
// others.
TEST(WatchEnds, BytesThatJoinAreKnownByWhichTheyAre) {
  Actors actors;
  actors.are(std::set<uint32_t>{0, 1});
  constexpr uintptr_t kFirst = 0x3001;
  constexpr uintptr_t kSecond = 0x3002;
  joined = 0;
  for (unsigned byte : {5u, 6u}) {
    for (int round = 0; round < 4; ++round) {
      clear_shadow(at(0), kArena);
      Thread* const t = actors.enter(0);
      touch<true>(t, {byte, 1}, kFirst);
      touch<true>(t, {0, 4}, kSecond);
      told.clear();
      touch<true>(actors.enter(1), {0, 8}, 0x3003);
      std::set<uintptr_t> places;
      for (const Told& race : told) places.insert(race.byte - at(0) < 4 ? 0 : race.earlier_pc);
      EXPECT_EQ(told.size(), 5u);
      EXPECT_TRUE(places.contains(kFirst));
    }
  }
  EXPECT_GE(joined, 2);
}

}  // namespace
}  // namespace deadheat::watch
