// Memory that nobody can write, against the definition, with a page for a location: reads of any part of it
// in any of the ways, and its end.
#include "runtime/watch/unwritable.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "runtime/watch/life.h"
#include "runtime/watch/pair.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/sync.h"
#include "runtime/watch/tests/actors.h"
#include "runtime/watch/tests/definition.h"

namespace deadheat::watch {
namespace {

constexpr unsigned kActors = 3;
constexpr unsigned kPages = 4;
alignas(4096) char arena[kPages * kPageBytes];
alignas(64) char messages[2][64];

uintptr_t at(size_t byte) { return reinterpret_cast<uintptr_t>(arena) + byte; }
size_t page_of(uintptr_t address) { return (address - at(0)) / kPageBytes; }

void map(size_t page, size_t count) {
  forget_unwritable(at(page * kPageBytes), count * kPageBytes);
  clear_shadow(at(page * kPageBytes), count * kPageBytes);
  note_unwritable(at(page * kPageBytes), count * kPageBytes);
}

// As the hooks do it, which are not linked here.
void read(Thread* t, size_t byte, size_t size, unsigned way, uintptr_t pc) {
  uintptr_t const address = at(byte);
  t->until_known = 100;
  DhCell* const cell = &chunk_for(address)->cells[cell_index(address)];
  auto const few = static_cast<uint32_t>(size);
  bool const in_granule = (address & 7) + size <= 8;
  remember_site(t, pc, current_frames(t), (in_granule && way == 0 ? kHookSite : 0) | few);
  if (way == 0 && in_granule) {
    if (is_unwritable(cell)) {
      if (is_covered(cell_of_page(cell), t->hot->floor, 0xff)) return;
      if (read_of_page_quickly(t, address, cell_of_page(cell), bytes_at(address, size), pc)) return;
    } else {
      if (is_covered(cell, t->hot->floor, bytes_at(address, size))) return;
      if (quickest_access<false>(t, address, cell, bytes_at(address, size), pc, 0)) return;
    }
  }
  if (way == 1 && size <= kMostAcross && quickest_across<false>(t, address, few, pc, 0, 0)) return;
  if (way <= 2 && size <= 16 && quick_access<false>(t, address, few, pc, 0, 0)) return;
  check_access(t, {address, size, AccessType::kRead, pc, 0, false});
}

TEST(WatchUnwritable, RandomReadsAndEnds) {
  std::mt19937_64 random(20261119);
  long races = 0;
  long unmarked = 0;
  long reads = 0;
  for (int run = 0; run < runs(600) && !::testing::Test::HasFailure(); ++run) {
    Actors actors;
    actors.are(std::set<uint32_t>{0, 1, 2});
    clear_shadow(reinterpret_cast<uintptr_t>(messages), sizeof messages);
    map(0, kPages);
    Definition definition(kActors, at(0), kPages);
    for (event_now = 0; event_now < 300; ++event_now) {
      auto const who = static_cast<unsigned>(random() % kActors);
      Thread* const t = actors.enter(who);
      Definition const before = definition;
      std::set<unsigned> expected;
      bool ends = false;
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
        case 2: {
          ends = true;
          auto const first = static_cast<unsigned>(random() % kPages);
          Range const pages = {first, 1 + static_cast<unsigned>(random() % (kPages - first))};
          check_end_where_touched(t, at(first * kPageBytes), pages.size * kPageBytes, 0x9000);
          expected = definition.access(who, pages, true, 0x9000);
          definition.forget(pages);
          map(first, pages.size);
          races += expected.empty() ? 0 : 1;
          break;
        }
        default: {
          constexpr size_t kLongest = 300;
          size_t const sizes[] = {1, 2, 4, 8, 12, 40, kLongest};
          size_t const size = sizes[random() % std::size(sizes)];
          size_t const byte = random() % (sizeof arena - size);
          uintptr_t const pc = 0x1000 + random() % 4;
          read(t, byte, size, static_cast<unsigned>(random() % 4), pc);
          size_t const last = page_of(at(byte + size - 1));
          for (size_t page = page_of(at(byte)); page <= last; ++page)
            definition.access(who, {static_cast<unsigned>(page), 1}, false, pc);
          ++reads;
          unmarked += is_unwritable(&chunk_for(at(byte))->cells[cell_index(at(byte))]) ? 0 : 1;
          break;
        }
      }
      for (Told race : told) {
        race.byte = at(page_of(race.byte));
        EXPECT_TRUE(ends && before.is_race(who, true, race))
            << "run " << run << " event " << event_now << ": page " << race.byte - at(0)
            << " has no such race";
        expected.erase(static_cast<unsigned>(race.byte - at(0)));
      }
      EXPECT_TRUE(expected.empty()) << "run " << run << " event " << event_now << ": page "
                                    << *expected.begin() << " has a race that was not told";
    }
  }
  EXPECT_GT(races, enough(5000));
  EXPECT_GT(reads, enough(50000));
  EXPECT_LT(unmarked, reads / 10) << "reads find the mark where it is";
}

// Of what a mapping was, what is not replaced stays so; what comes to stand there is as any memory.
TEST(WatchUnwritable, WhatIsReplacedIsWatchedByteByByte) {
  Actors actors;
  actors.are(std::set<uint32_t>{0, 1});
  map(0, kPages);
  forget_unwritable(at(kPageBytes), kPageBytes);
  clear_shadow(at(kPageBytes), kPageBytes);
  for (size_t page = 0; page < kPages; ++page) {
    told.clear();
    read(actors.enter(0), page * kPageBytes + 64, 4, 0, 0x1000);
    check_access(actors.enter(1), {at(page * kPageBytes + 68), 4, AccessType::kWrite, 0x2000});
    EXPECT_TRUE(told.empty()) << page;
    const DhCell* const beside = &chunk_for(at(0))->cells[cell_index(at(page * kPageBytes + 72))];
    EXPECT_EQ(is_unwritable(beside), page != 1) << page;
  }
  check_access(actors.enter(1), {at(kPageBytes + 64), 4, AccessType::kWrite, 0x2000});
  EXPECT_EQ(told.size(), 4u);
  forget_unwritable(at(0), sizeof arena);
  clear_shadow(at(0), sizeof arena);
}

// More mappings than are noted are watched like other memory, and places become free again.
TEST(WatchUnwritable, ManyMappings) {
  constexpr uintptr_t kFar = uintptr_t{0x33} << 40;
  constexpr size_t kMappings = 3000;
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < kMappings; ++i) note_unwritable(kFar + i * 8192, 4096);
    for (size_t i = 0; i < kMappings; ++i) {
      uintptr_t const address = kFar + i * 8192;
      note_touched(chunk_for(address), cell_index(address));
      note_touched(chunk_for(address + 4096), cell_index(address + 4096));
      EXPECT_FALSE(is_unwritable(existing_cell(address + 4096 + 8))) << i;
      if (i < 100) EXPECT_TRUE(is_unwritable(existing_cell(address + 8))) << i;
    }
    forget_unwritable(kFar, kMappings * 8192);
    clear_shadow(kFar, kMappings * 8192);
    note_touched(chunk_for(kFar), cell_index(kFar));
    EXPECT_FALSE(is_unwritable(existing_cell(kFar + 8)));
    clear_shadow(kFar, kMappings * 8192);
  }
}

}  // namespace
}  // namespace deadheat::watch
