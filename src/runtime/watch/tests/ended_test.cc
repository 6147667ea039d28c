// Blocks that are given out, touched here and there or not at all, freed, and used afterwards, against the
// definition: a free is a write of all bytes, and memory that is given out has no past (ended.h).
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "runtime/abi.h"
#include "runtime/watch/atomic_access.h"
#include "runtime/watch/covered.h"
#include "runtime/watch/ended.h"
#include "runtime/watch/life.h"
#include "runtime/watch/pair.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/sync.h"
#include "runtime/watch/tests/actors.h"
#include "runtime/watch/tests/definition.h"

namespace deadheat::watch {
namespace {

constexpr unsigned kActors = 3;
constexpr unsigned kArena = 12288;
alignas(4096) char arena[kArena];
alignas(64) char messages[Definition::kMessages][64];

uintptr_t at(unsigned byte) { return reinterpret_cast<uintptr_t>(arena) + byte; }
Chunk* chunk() { return chunk_for(at(0)); }
bool has_ended(unsigned byte) { return may_have_ended(chunk(), cell_index(at(byte))); }

struct Block {
  Range range;
  bool live;
};
// Places of blocks, each less than one behind the other.
constexpr unsigned kPlaces[] = {16, 2048, 4112, 9000 / 16 * 16};
constexpr unsigned kMost[] = {2000, 2048, 4800, 1500};

// Whose shadow has no memory any more, and had some.
long pages_given_back(const Range& range) {
  long count = 0;
  for (unsigned page = (range.offset + 2047) / 2048; (page + 1) * 2048 <= range.offset + range.size; ++page)
    count += chunk()->page_state[cell_index(at(page * 2048)) / kPageCells] == kUntouched;
  return count;
}

long given_back;
long ended_groups;
long made_real;

enum class Way { kPart, kFirstWrite, kPair, kRange, kAtomic, kEndOfLife, kCount };

// An access of some of the bytes of `all`, as hooks make it. What it was, is told.
struct Made {
  Range range;
  bool write;
  uintptr_t pc;
};
Made touch(Thread* t, const Range& all, std::mt19937_64& random) {
  auto const way = static_cast<Way>(random() % static_cast<unsigned>(Way::kCount));
  bool const write = random() % 2 == 0;
  unsigned const granule = (all.offset + static_cast<unsigned>(random() % all.size)) & ~7u;
  made_real += has_ended(granule);
  uintptr_t const pc = 0x1000 + static_cast<unsigned>(way) * 2 + (write ? 1 : 0);
  DhCell* const cell = &chunk()->cells[cell_index(at(granule))];
  t->until_known = 100;
  auto const remember = [&](uint32_t size, bool as_write) {
    remember_site(t, pc, current_frames(t), size | kHookSite | (as_write ? kWriteSite : 0));
  };
  auto const one = [&](unsigned offset, unsigned size, bool as_write) {
    uint64_t const bytes = bytes_at(at(offset), size);
    if (is_covered(cell, t->hot->floor, bytes | (as_write ? uint64_t{kDhWriteBit} : 0))) return;
    if (as_write ? quickest_access<true>(t, at(offset), cell, bytes, pc, 0)
                 : quickest_access<false>(t, at(offset), cell, bytes, pc, 0))
      return;
    if (as_write)
      quick_access<true>(t, at(offset), size, pc, 0, kHookSite);
    else
      quick_access<false>(t, at(offset), size, pc, 0, kHookSite);
  };
  switch (way) {
    case Way::kFirstWrite:
      remember(8, true);
      if (cell->half[0] != 0 || !quickest_first_write(t, at(granule), cell, 0xff, pc)) one(granule, 8, true);
      return {{granule, 8}, true, pc};
    case Way::kPair: {
      remember(8, true);
      DhCell* const second = cell + 1;
      if ((cell->half[0] | second->half[0]) != 0 || !quickest_first_pair(t, at(granule), cell, pc)) {
        quickest_apart<true>(t, at(granule), cell, pc, [&](unsigned i) {
          if (!quick_access<true>(t, at(granule + 8 * i), 8, pc, 0, kHookSite))
            check_access(t, {at(granule + 8 * i), 8, AccessType::kWrite, pc});
        });
      }
      return {{granule, 16}, true, pc};
    }
    case Way::kRange: {
      unsigned const size = 1 + static_cast<unsigned>(random() % (random() % 4 == 0 ? 4000 : 700));
      Range const range{granule, std::min(size, kArena - granule)};
      check_access(t, {at(granule), range.size, write ? AccessType::kWrite : AccessType::kRead, pc});
      return {range, write, pc};
    }
    case Way::kAtomic:
      // The FatCell of something that carries an order, and no access by itself.
      lock_fat(chunk(), cell)->lock.unlock();
      one(granule, 8, write);
      return {{granule, 8}, write, pc};
    case Way::kEndOfLife:
      // The engine knows of no place of it but the program's, and nobody asks: its bytes have no past then.
      __dh_end_of_life(arena + granule, random() % 2 == 0 ? 8 : 4);
      return {{granule, 0}, true, pc};
    default: {
      unsigned const size = 1u << random() % 4;
      unsigned const offset = granule + (static_cast<unsigned>(random() % 8) & ~(size - 1));
      if (random() % 2 == 0) remember(size, write);
      one(offset, size, write);
      return {{offset, size}, write, pc};
    }
  }
}

TEST(WatchEnded, RandomLivesOfBlocks) {
  std::mt19937_64 random(20261121);
  long races_with_ends = 0;
  for (int run = 0; run < runs(2000) && !::testing::Test::HasFailure(); ++run) {
    Actors actors;
    actors.are(std::set<uint32_t>{0, 1, 2});
    clear_shadow(at(0), kArena);
    clear_shadow(reinterpret_cast<uintptr_t>(messages), sizeof messages);
    Definition definition(kActors, at(0), kArena);
    Block blocks[std::size(kPlaces)] = {};
    for (event_now = 0; event_now < 60; ++event_now) {
      auto const who = static_cast<unsigned>(random() % kActors);
      Thread* const t = actors.enter(who);
      auto const which = random() % std::size(kPlaces);
      Block& block = blocks[which];
      told.clear();
      std::set<unsigned> expected;
      bool write = true;
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
        case 4:
          if (!block.live) {
            unsigned const size =
                random() % 2 == 0 ? kMost[which] : 1 + static_cast<unsigned>(random() % kMost[which]);
            block = {{kPlaces[which], size}, true};
            clear_shadow(at(block.range.offset), block.range.size);
            definition.forget({block.range.offset, (block.range.size + 7) & ~7u});
            break;
          }
          // Some blocks go back to the kernel.
          if (HeapBlock const freed{at(block.range.offset), block.range.size, 0, who}; random() % 2 == 0)
            check_free_and_give_back(t, freed, 0x2000);
          else
            check_free(t, freed, 0x2000);
          expected = definition.access(who, block.range, true, 0x2000);
          block.live = false;
          given_back += pages_given_back(block.range);
          for (unsigned i = 0; i < block.range.size; i += kGroupBytes)
            ended_groups += has_ended(block.range.offset + i);
          break;
        case 5:
          if (block.live || block.range.size == 0) break;
          check_second_free(t, at(block.range.offset), 0x2001);
          break;
        default: {
          if (block.range.size == 0) break;
          Definition const before = definition;
          Made const made = touch(t, block.range, random);
          write = made.write;
          if (made.range.size == 0) {
            // Of an end of life only that what is told is a race is compared; the rest of the run is another
            // one's.
            for (const Told& race : told) EXPECT_TRUE(before.is_race(who, true, race));
            event_now = 1000;
            told.clear();
            break;
          }
          expected = definition.access(who, made.range, made.write, made.pc);
          break;
        }
      }
      for (const Told& race : told) {
        EXPECT_TRUE(definition.is_race(who, write, race))
            << "run " << run << " event " << event_now << ": byte " << race.byte - at(0)
            << " has no such race";
        races_with_ends += race.earlier_pc == 0x2000;
        expected.erase(static_cast<unsigned>(race.byte - at(0)));
      }
      EXPECT_TRUE(expected.empty()) << "run " << run << " event " << event_now << ": byte "
                                    << *expected.begin() << " has a race that was not told";
    }
  }
  EXPECT_GT(races_with_ends, enough(1000));
  EXPECT_GT(ended_groups, enough(1000));
  EXPECT_GT(made_real, enough(1000));
  EXPECT_GT(given_back, enough(200));
}

TEST(WatchEnded, ShadowOfWhatIsUnmappedGoesBack) {
  Actors actors;
  actors.are(std::set<uint32_t>{0, 1});
  clear_shadow(at(0), kArena);
  Thread* const t = actors.enter(0);
  auto const page_state = [](unsigned byte) {
    return chunk()->page_state[cell_index(at(byte)) / kPageCells];
  };
  check_access(t, {at(0), kArena, AccessType::kWrite, 0x1000});
  check_access(t, {at(3000), 2, AccessType::kRead, 0x1001});
  HeapBlock const block{at(16), 8192, 0, 0};
  check_free_and_give_back(t, block, 0x2000);
  EXPECT_EQ(page_state(0), kWritten) << "a part of it is something else";
  EXPECT_EQ(page_state(2048), kUntouched);
  EXPECT_EQ(page_state(6144), kUntouched);
  EXPECT_EQ(page_state(8192), kWritten);
  EXPECT_TRUE(has_ended(2048));
  told.clear();
  // Another one touches a byte that was freed: the race with the free is told.
  check_access(actors.enter(1), {at(4000), 4, AccessType::kRead, 0x1001});
  EXPECT_EQ(told.size(), 4u);
  // The next block there has no past.
  clear_shadow(block.address, block.size);
  told.clear();
  check_access(actors.enter(1), {block.address, block.size, AccessType::kWrite, 0x1002});
  EXPECT_TRUE(told.empty());
}

TEST(WatchEnded, ShadowThatKnowsMoreThanTheEndStays) {
  Actors actors;
  actors.are(std::set<uint32_t>{0, 1});
  clear_shadow(at(0), kArena);
  Thread* const t = actors.enter(0);
  HeapBlock const block{at(0), 8192, 0, 0};
  check_access(t, {at(0), 8192, AccessType::kWrite, 0x1000});
  sync_release(t, messages[0], false);
  check_free(t, block, 0x2000);
  // Somebody uses it afterwards.
  told.clear();
  check_access(actors.enter(1), {at(2056), 8, AccessType::kWrite, 0x1001});
  EXPECT_EQ(told.size(), 8u);
  actors.enter(0);
  Chunk* const there = chunk();
  size_t const first = cell_index(at(0)) / kPageCells;
  give_back_ended(there, first, first + 4);
  EXPECT_EQ(there->page_state[first], kUntouched);
  EXPECT_EQ(there->page_state[first + 1], kWritten);
  told.clear();
  check_access(actors.enter(0), {at(2056), 8, AccessType::kWrite, 0x1003});
  EXPECT_EQ(told.size(), 8u);
}

// A block that nobody touches costs the shadow nothing but the note of its end; each way to touch it finds
// that.
class FreedBlock : public ::testing::Test {
 protected:
  FreedBlock() {
    actors.are(std::set<uint32_t>{0, 1});
    clear_shadow(at(0), kArena);
    check_free(actors.enter(0), {at(0), 4096, 0, 0}, 0x2000);
    EXPECT_TRUE(has_ended(0));
    EXPECT_TRUE(has_ended(4095));
    EXPECT_FALSE(has_ended(4096));
    told.clear();
  }
  static std::size_t told_of_the_free() {
    return static_cast<std::size_t>(
        std::count_if(told.begin(), told.end(), [](const Told& t) { return t.earlier_pc == 0x2000; }));
  }
  Actors actors;
};

TEST_F(FreedBlock, IsFreedTwice) {
  check_second_free(actors.enter(1), at(0), 0x2001);
  EXPECT_EQ(told_of_the_free(), 1u);
}
TEST_F(FreedBlock, IsFreedByTwoAtOnce) {
  check_free(actors.enter(1), {at(0), 4096, 0, 0}, 0x2001);
  EXPECT_EQ(told_of_the_free(), 4096u);
}
TEST_F(FreedBlock, IsUnmapped) {
  check_end_where_touched(actors.enter(1), at(0), kArena, 0x2001);
  EXPECT_EQ(told_of_the_free(), 4096u);
}
TEST_F(FreedBlock, WasAStackOnWhichAVariableEnds) {
  actors.enter(1);
  __dh_end_of_life(arena + 256, 8);
  EXPECT_EQ(told_of_the_free(), 8u);
  __dh_end_of_life(arena + 1024, 2);
  EXPECT_EQ(told_of_the_free(), 10u);
  __dh_end_of_life(arena + 2044, 12);
  EXPECT_EQ(told_of_the_free(), 22u);
}
TEST_F(FreedBlock, IsGivenOutAgainInParts) {
  // The group at 1024 is cut: what is left of it is still freed.
  clear_shadow(at(0), 1040);
  check_access(actors.enter(1), {at(0), 1040, AccessType::kWrite, 0x3000});
  EXPECT_EQ(told_of_the_free(), 0u);
  check_access(actors.enter(1), {at(1040), 8, AccessType::kWrite, 0x3001});
  EXPECT_EQ(told_of_the_free(), 8u);
}
TEST_F(FreedBlock, HasANeighbourInItsLastGroup) {
  clear_shadow(at(0), 4096);
  check_access(actors.enter(0), {at(0), 4096, AccessType::kWrite, 0x3000});
  // The first half of a group is new, the other one has a past, and is not forgotten until all of it is new.
  clear_shadow(at(1024), 128);
  clear_shadow(at(1024), 256);
  check_access(actors.enter(1), {at(1024), 256, AccessType::kWrite, 0x3001});
  EXPECT_TRUE(told.empty());
}
TEST_F(FreedBlock, IsGivenOutAgain) {
  clear_shadow(at(0), 4096);
  EXPECT_FALSE(has_ended(0));
  check_access(actors.enter(1), {at(0), 4096, AccessType::kWrite, 0x3000});
  EXPECT_TRUE(told.empty());
  // And is known to be touched: what follows is cleared again.
  clear_shadow(at(0), 4096);
  check_access(actors.enter(0), {at(0), 4096, AccessType::kWrite, 0x3000});
  EXPECT_TRUE(told.empty());
}

// One frees, another one touches, at the same time: one of them sees the other, whoever comes first.
TEST(WatchEnded, AtTheSameTime) {
  Actors actors;
  actors.are(std::set<uint32_t>{0, 1});
  constexpr int kRounds = 4000;
  std::atomic<int> round = -1;
  std::atomic<int> ready = 0;
  std::atomic<int> after_it = 0;
  std::mt19937_64 random(20261122);
  Thread* const user = actors.get(1);
  unsigned byte = 0;
  unsigned delay = 0;
  auto const wait = [](unsigned turns) {
    for (unsigned i = 0; i < turns; ++i) __builtin_ia32_pause();
  };
  std::thread other([&] {
    current_thread = user;
    for (int i = 0; i < kRounds; ++i) {
      while (round.load() != i) __builtin_ia32_pause();
      wait(delay);
      after_it += may_have_ended(chunk(), cell_index(at(byte)));
      user->until_known = 100;
      if (!quick_access<true>(user, at(byte), 8, 0x1001, 0, kHookSite))
        check_access(user, {at(byte), 8, AccessType::kWrite, 0x1001});
      ready.store(i + 1);
    }
    current_thread = nullptr;
  });
  int not_told = 0;
  for (int i = 0; i < kRounds; ++i) {
    clear_shadow(at(0), kArena);
    told.clear();
    byte = static_cast<unsigned>(random() % 4096) & ~7u;
    delay = static_cast<unsigned>(random() % 8);
    unsigned const own_delay = static_cast<unsigned>(random() % 8);
    round.store(i);
    wait(own_delay);
    check_free(actors.enter(0), {at(0), 4096, 0, 0}, 0x2000);
    while (ready.load() != i + 1) __builtin_ia32_pause();
    not_told += told.size() != 8;
  }
  other.join();
  EXPECT_EQ(not_told, 0);
  EXPECT_GT(after_it.load(), 0);
  EXPECT_LT(after_it.load(), kRounds);
}

}  // namespace
}  // namespace deadheat::watch
