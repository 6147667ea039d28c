// Reader-writer locks against the definition of a race.
//
// Random schedules of a few threads that read and write words under rwlocks, or under none, are played into
// the real engine. In the reference an exclusive holder comes after every earlier release of its lock, a
// shared holder after every earlier exclusive one. Every racy word must be told at its first race, and
// nothing else.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/abi.h"
#include "runtime/platform/options.h"
#include "runtime/watch/access.h"
#include "runtime/watch/covered.h"
#include "runtime/watch/known_to_all.h"
#include "runtime/watch/locks.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/sync.h"
#include "runtime/watch/tests/actors.h"
#include "testing/naive.h"

namespace deadheat::watch {
namespace {

enum class Do { kRead, kWrite, kAtomicLoad, kAtomicAdd, kLock, kLockShared, kUnlock };

struct Step {
  uint32_t thread;
  Do what;
  unsigned object;  // a word or a lock
  unsigned offset = 0;
  unsigned size = 8;
};

constexpr unsigned kLocks = 3;
constexpr uintptr_t kPcBase = 0x1000;
alignas(64) char locks[kLocks][64];

struct Shape {
  unsigned threads;
  unsigned words;
  unsigned length;
  unsigned writes;  // one access in so many
  bool atomics;
  bool parts;
  unsigned part;  // of a word: its size
};

std::vector<Step> random_steps(std::mt19937_64& random, const Shape& shape) {
  std::vector<Step> steps;
  std::vector<int> writer(kLocks, -1);
  std::vector<std::set<uint32_t>> readers(kLocks);
  std::vector<std::vector<unsigned>> held(shape.threads);
  for (unsigned i = 0; i < shape.length; ++i) {
    auto const thread = static_cast<uint32_t>(random() % shape.threads);
    auto const choice = random() % 8;
    auto const lock = static_cast<unsigned>(random() % kLocks);
    if (choice == 0 && !held[thread].empty()) {
      unsigned const l = held[thread].back();
      held[thread].pop_back();
      if (writer[l] == static_cast<int>(thread)) writer[l] = -1;
      readers[l].erase(thread);
      steps.push_back({thread, Do::kUnlock, l});
    } else if (choice <= 2 && writer[lock] < 0 && !readers[lock].contains(thread)) {
      bool const shared = random() % 3 != 0;
      if (!shared && !readers[lock].empty()) continue;
      if (shared)
        readers[lock].insert(thread);
      else
        writer[lock] = static_cast<int>(thread);
      held[thread].push_back(lock);
      steps.push_back({thread, shared ? Do::kLockShared : Do::kLock, lock});
    } else {
      Step s{thread, random() % shape.writes == 0 ? Do::kWrite : Do::kRead,
             static_cast<unsigned>(random() % shape.words)};
      if (shape.atomics && random() % 2 == 0) s.what = random() % 2 == 0 ? Do::kAtomicLoad : Do::kAtomicAdd;
      bool const atomic = s.what == Do::kAtomicLoad || s.what == Do::kAtomicAdd;
      if (shape.parts && (random() % 2 == 0 || (atomic && shape.part == 1))) {
        s.size = shape.part;
        s.offset = static_cast<unsigned>(random() % (8 / shape.part)) * shape.part;
      }
      if (atomic && s.size == 8) s.size = 4;
      steps.push_back(s);
    }
  }
  return steps;
}

bool is_atomic(const Step& s) { return s.what == Do::kAtomicLoad || s.what == Do::kAtomicAdd; }
bool is_access(const Step& s) { return s.what == Do::kRead || s.what == Do::kWrite || is_atomic(s); }
bool writes(const Step& s) { return s.what == Do::kWrite || s.what == Do::kAtomicAdd; }

template <class T>
void play_atomic(const Step& s, uint64_t* word, T (*load)(const volatile T*, int),
                 T (*add)(volatile T*, T, int)) {
  auto* const at = reinterpret_cast<T*>(reinterpret_cast<char*>(word) + s.offset);
  if (s.what == Do::kAtomicLoad)
    load(at, 0);
  else
    add(at, 1, 0);
}

void play(const std::vector<Step>& steps, const std::vector<uint64_t*>& words) {
  for (uint64_t* w : words) clear_shadow(reinterpret_cast<uintptr_t>(w), 8);
  clear_shadow(reinterpret_cast<uintptr_t>(locks), sizeof locks);
  Actors actors;
  std::set<uint32_t> there;
  for (const Step& s : steps) there.insert(s.thread);
  actors.are(there);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i % 3 != 0) advance_known_to_all();
    event_now = i;
    const Step& s = steps[i];
    Thread* const t = actors.enter(s.thread);
    switch (s.what) {
      case Do::kLock:
      case Do::kLockShared:
        lock_acquired(t, locks[s.object], s.what == Do::kLockShared, true,
                      i % 4 != 0 ? kPcInProgram : kPcInLibrary);
        continue;
      case Do::kUnlock:
        lock_releasing(t, locks[s.object]);
        continue;
      case Do::kAtomicLoad:
      case Do::kAtomicAdd:
        if (s.size == 1)
          play_atomic<uint8_t>(s, words[s.object], __dh_atomic_load8, __dh_atomic_fetch_add8);
        else
          play_atomic<uint32_t>(s, words[s.object], __dh_atomic_load32, __dh_atomic_fetch_add32);
        continue;
      default:
        break;
    }
    // As the hooks do it.
    uintptr_t const address = reinterpret_cast<uintptr_t>(words[s.object]) + s.offset;
    bool const write = s.what == Do::kWrite;
    uintptr_t const pc = kPcBase + i;
    uint64_t const need = bytes_at(address, s.size) | (write ? uint64_t{kDhWriteBit} : 0);
    Chunk* const chunk = existing_chunk(address);
    DhCell* const cell = chunk != nullptr ? &chunk->cells[cell_index(address)] : nullptr;
    if (cell != nullptr && is_covered(cell, t->hot->floor, need)) continue;
    if (i % 2 == 0) remember_site(t, pc, current_frames(t), s.size | kHookSite | (write ? kWriteSite : 0));
    t->until_known = 100;  // who brings up to date what all know is the player
    if (t->may_be_quick() && cell != nullptr &&
        (write ? quickest_access<true>(t, address, cell, bytes_at(address, s.size), pc, 0)
               : quickest_access<false>(t, address, cell, bytes_at(address, s.size), pc, 0)))
      continue;
    if (write ? quick_access<true>(t, address, s.size, pc, 0, kHookSite)
              : quick_access<false>(t, address, s.size, pc, 0, kHookSite))
      continue;
    check_access(t, {address, s.size, write ? AccessType::kWrite : AccessType::kRead, pc, 0, false});
  }
}

testing::Relation happens_before(const std::vector<Step>& steps) {
  testing::Relation order(steps.size());
  std::vector<std::vector<std::pair<std::size_t, bool>>> releases(kLocks);
  std::vector<std::vector<bool>> shared(kLocks, std::vector<bool>(8));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& s = steps[i];
    for (std::size_t j = 0; j < i; ++j) {
      if (steps[j].thread == s.thread) order.add(j, i);
    }
    if (s.what == Do::kLock || s.what == Do::kLockShared) {
      bool const is_shared = s.what == Do::kLockShared;
      shared[s.object][s.thread] = is_shared;
      for (auto [release, was_shared] : releases[s.object]) {
        if (!is_shared || !was_shared) order.add(release, i);
      }
    }
    if (s.what == Do::kUnlock) releases[s.object].push_back({i, shared[s.object][s.thread]});
  }
  order.close();
  return order;
}

std::string to_text(const std::vector<Step>& steps) {
  static const char* const kNames[] = {"read", "write",       "atomic load", "atomic add",
                                       "lock", "lock shared", "unlock"};
  std::string text;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& s = steps[i];
    text += std::to_string(i) + ": T" + std::to_string(s.thread) + " " + kNames[static_cast<int>(s.what)] +
            " " + std::to_string(s.object) + "+" + std::to_string(s.offset) + ", " + std::to_string(s.size) +
            "\n";
  }
  return text;
}

int compare(const std::vector<Step>& steps, const std::vector<uint64_t*>& words) {
  play(steps, words);
  testing::Relation const order = happens_before(steps);
  auto const race = [&](std::size_t a, std::size_t b, unsigned byte) {
    const Step& x = steps[a];
    const Step& y = steps[b];
    auto const touches = [&](const Step& s) { return byte >= s.offset && byte < s.offset + s.size; };
    return is_access(x) && is_access(y) && x.object == y.object && x.thread != y.thread && touches(x) &&
           touches(y) && (writes(x) || writes(y)) && !(is_atomic(x) && is_atomic(y)) && !order.has(a, b);
  };
  int racy = 0;
  for (unsigned w = 0; w < words.size(); ++w) {
    for (unsigned byte = 0; byte < 8; ++byte) {
      std::size_t first = steps.size();
      std::set<std::size_t> all;
      for (std::size_t b = 0; b < steps.size(); ++b) {
        for (std::size_t a = 0; a < b; ++a) {
          if (!is_access(steps[b]) || steps[b].object != w || !race(a, b, byte)) continue;
          first = std::min(first, b);
          all.insert(b);
        }
      }
      bool found = false;
      for (const Told& t : told) {
        if (t.byte != reinterpret_cast<uintptr_t>(words[w]) + byte) continue;
        found |= t.later == first;
        EXPECT_TRUE(all.contains(t.later))
            << "word " << w << " byte " << byte << ": event " << t.later << " was told, and is no race\n"
            << to_text(steps);
      }
      if (first == steps.size()) continue;
      ++racy;
      EXPECT_TRUE(found) << "word " << w << " byte " << byte << ": first race at event " << first
                         << " was not told\n"
                         << to_text(steps);
    }
  }
  return racy;
}

void many(const std::vector<uint64_t*>& words, unsigned seed, bool atomics) {
  std::mt19937_64 random(seed);
  long racy = 0;
  for (int i = 0; i < runs(15000) && !::testing::Test::HasFailure(); ++i) {
    Shape shape{};
    shape.threads = 2 + static_cast<unsigned>(random() % 4);
    shape.words = 1 + static_cast<unsigned>(random() % words.size());
    shape.length = 10 + static_cast<unsigned>(random() % 90);
    shape.writes = 2 + static_cast<unsigned>(random() % 30);
    shape.atomics = atomics && random() % 2 == 0;
    shape.parts = random() % 2 == 0;
    shape.part = random() % 2 == 0 ? 4 : 1;
    racy += compare(random_steps(random, shape), words) != 0;
  }
  EXPECT_GT(racy, enough(1000));
}

TEST(WatchRwlocks, RandomSchedules) {
  alignas(64) static uint64_t arena[4];
  many({&arena[0], &arena[1], &arena[2]}, 1, false);
}
TEST(WatchRwlocks, RandomSchedulesWithAtomics) {
  alignas(64) static uint64_t arena[4];
  many({&arena[0], &arena[1], &arena[2]}, 2, true);
}
}  // namespace
}  // namespace deadheat::watch
