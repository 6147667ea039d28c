// Atomics against the text of the standard.
//
// Random interleavings of plain accesses, atomic operations of every order and fences are played into the
// real hooks. The reference builds "synchronizes with" from [atomics.order] and [atomics.fences] of C++20,
// event by event: which write a read reads from, which release sequences that write belongs to, which fences
// stand before and after. Every racy byte must be told at its first race, and nothing else.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/abi.h"
#include "runtime/watch/known_to_all.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/tests/actors.h"
#include "testing/naive.h"

namespace deadheat::watch {
namespace {

constexpr int kRelaxed = 0, kAcquire = 2, kRelease = 3, kAcqRel = 4, kSeqCst = 5;

enum class Do { kPlainRead, kPlainWrite, kLoad, kStore, kAdd, kExchange, kCompare, kFence };

struct Step {
  uint32_t thread;
  Do what;
  unsigned variable;  // of kVariables 4-byte words
  int order;
  bool succeeded = false;  // compare-exchange: filled in by playing it
};

constexpr unsigned kVariables = 4;
alignas(64) uint32_t words[kVariables];
// The same variables as objects of three granules, which are atomic as a whole and plain at their end.
struct Big {
  uint32_t head[5];
  uint32_t tail;
};
static_assert(sizeof(Big) == 24);
alignas(64) Big bigs[kVariables];
enum class Objects { kWords, kBig };

uint32_t* plain_part(Objects objects, unsigned variable) {
  return objects == Objects::kWords ? &words[variable] : &bigs[variable].tail;
}

bool acquires(int order) { return order == kAcquire || order == kAcqRel || order == kSeqCst; }
bool releases(int order) { return order == kRelease || order == kAcqRel || order == kSeqCst; }

bool atomic(const Step& s) {
  return s.what != Do::kPlainRead && s.what != Do::kPlainWrite && s.what != Do::kFence;
}
bool modifies(const Step& s) {
  return s.what == Do::kAdd || s.what == Do::kExchange || (s.what == Do::kCompare && s.succeeded);
}
bool writes(const Step& s) { return s.what == Do::kPlainWrite || s.what == Do::kStore || modifies(s); }
bool reads_atomically(const Step& s) { return s.what == Do::kLoad || s.what == Do::kCompare || modifies(s); }
// A failed compare-exchange is a load with the failure order, which the player makes relaxed or acquire.
int order_of(const Step& s) {
  if (s.what == Do::kCompare && !s.succeeded) return acquires(s.order) ? kAcquire : kRelaxed;
  return s.order;
}

std::vector<Step> random_steps(std::mt19937_64& random) {
  std::vector<Step> steps;
  unsigned const threads = 2 + random() % 3;
  unsigned const length = 6 + random() % 30;
  constexpr int kOrders[] = {kRelaxed, kAcquire, kRelease, kAcqRel, kSeqCst};
  for (unsigned i = 0; i < length; ++i) {
    Step s{};
    s.thread = static_cast<uint32_t>(random() % threads);
    s.what = static_cast<Do>(random() % 8);
    if (random() % 3 == 0) s.what = random() % 2 == 0 ? Do::kPlainRead : Do::kPlainWrite;
    // Mostly plain words and atomic words of their own; sometimes mixed.
    bool const plain = s.what == Do::kPlainRead || s.what == Do::kPlainWrite;
    s.variable = static_cast<unsigned>(random() % 2) + (plain ? 0 : 2);
    if (random() % 16 == 0) s.variable = static_cast<unsigned>(random() % kVariables);
    s.order = kOrders[random() % 5];
    if (s.what == Do::kLoad) s.order = random() % 2 == 0 ? kRelaxed : kAcquire;
    if (s.what == Do::kStore) s.order = random() % 2 == 0 ? kRelaxed : kRelease;
    if (s.what == Do::kFence && s.order == kRelaxed) s.order = kSeqCst;
    steps.push_back(s);
  }
  return steps;
}

// Long enough for everything to happen again at the same places, which is when it goes the short ways: mostly
// releases by stores and loads that acquire, of two words of one granule.
std::vector<Step> random_messages(std::mt19937_64& random) {
  std::vector<Step> steps;
  unsigned const threads = 2 + random() % 2;
  unsigned const length = 60 + random() % 100;
  unsigned const others = 4 + random() % 30;  // one in so many is something else
  unsigned const words_used = 1 + random() % 2;
  for (unsigned i = 0; i < length; ++i) {
    Step s{};
    s.thread = static_cast<uint32_t>(random() % threads);
    s.variable = 2 + static_cast<unsigned>(random() % words_used);
    switch (random() % 4) {
      case 0:
        s.what = Do::kStore;
        s.order = random() % 8 == 0 ? kRelaxed : kRelease;
        break;
      case 1:
        s.what = random() % 24 == 0 ? Do::kPlainWrite : Do::kPlainRead;
        s.variable = 0;
        break;
      default:
        s.what = Do::kLoad;
        s.order = random() % 4 == 0 ? kRelaxed : kAcquire;
        break;
    }
    if (random() % others == 0) {
      constexpr Do kOthers[] = {Do::kAdd, Do::kExchange, Do::kCompare, Do::kFence};
      constexpr int kOrders[] = {kRelaxed, kAcquire, kRelease, kAcqRel};
      s.what = kOthers[random() % 4];
      s.order = kOrders[random() % 4];
      s.variable = 2 + static_cast<unsigned>(random() % words_used);
      if (s.what == Do::kFence && s.order == kRelaxed) s.order = kSeqCst;
    }
    steps.push_back(s);
  }
  return steps;
}

void play_big(Step& s, std::size_t index) {
  Big* const at = &bigs[s.variable];
  auto const begin = [&](DhHeldOperation what) { __dh_atomic_begin(at, sizeof *at, what, s.order); };
  auto const end = [&](DhHeldOperation what) { __dh_atomic_end(at, sizeof *at, what, order_of(s)); };
  switch (s.what) {
    case Do::kLoad:
      begin(kDhHeldLoad);
      return end(kDhHeldLoad);
    case Do::kStore:
      begin(kDhHeldStore);
      return end(kDhHeldStore);
    case Do::kCompare:
      begin(kDhHeldUpdate);
      s.succeeded = index % 2 == 0;
      return end(s.succeeded ? kDhHeldUpdate : kDhHeldLoad);
    default:
      begin(kDhHeldUpdate);
      return end(kDhHeldUpdate);
  }
}

void play(std::vector<Step>& steps, Objects objects) {
  clear_shadow(reinterpret_cast<uintptr_t>(words), sizeof words);
  clear_shadow(reinterpret_cast<uintptr_t>(bigs), sizeof bigs);
  for (uint32_t& w : words) w = 0;
  Actors actors;
  std::set<uint32_t> there;
  for (const Step& s : steps) there.insert(s.thread);
  actors.are(there);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i % 3 != 0) advance_known_to_all();
    event_now = i;
    Step& s = steps[i];
    Thread* const t = actors.enter(s.thread);
    uint32_t* const at = &words[s.variable];
    auto const address = reinterpret_cast<uintptr_t>(plain_part(objects, s.variable));
    if (objects == Objects::kBig && atomic(s)) {
      play_big(s, i);
      continue;
    }
    switch (s.what) {
      case Do::kPlainRead:
        check_access(t, {address, 4, AccessType::kRead, 1, 0, false});
        break;
      case Do::kPlainWrite:
        check_access(t, {address, 4, AccessType::kWrite, 1, 0, false});
        break;
      case Do::kLoad:
        __dh_atomic_load32(at, s.order);
        break;
      case Do::kStore:
        __dh_atomic_store32(at, static_cast<uint32_t>(i), s.order);
        break;
      case Do::kAdd:
        __dh_atomic_fetch_add32(at, 1, s.order);
        break;
      case Do::kExchange:
        __dh_atomic_exchange32(at, static_cast<uint32_t>(i), s.order);
        break;
      case Do::kCompare: {
        uint32_t const expected = i % 2 == 0 ? *at : *at + 1;
        int const failure = acquires(s.order) ? kAcquire : kRelaxed;
        s.succeeded = __dh_atomic_compare_exchange32(at, expected, static_cast<uint32_t>(i), s.order,
                                                     failure) == expected;
        break;
      }
      case Do::kFence:
        __dh_atomic_fence(s.order);
        break;
    }
  }
}

testing::Relation happens_before(const std::vector<Step>& steps) {
  std::size_t const n = steps.size();
  testing::Relation order(n);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      if (steps[a].thread == steps[b].thread) order.add(a, b);
    }
  }
  auto const write_before = [&](std::size_t i) {
    for (std::size_t w = i; w-- > 0;) {
      // A plain write between two atomics is a race already; it also ends what the location carried, as far
      // as values go, but the standard defines nothing here, and neither do we.
      if (steps[w].variable == steps[i].variable && atomic(steps[w]) && writes(steps[w])) return w;
    }
    return n;
  };
  for (std::size_t r = 0; r < n; ++r) {
    if (!atomic(steps[r]) || !reads_atomically(steps[r])) continue;
    // Where the edge ends: at an acquire, or at the acquire fences after it.
    std::vector<std::size_t> targets;
    if (acquires(order_of(steps[r]))) targets.push_back(r);
    for (std::size_t f = r + 1; f < n; ++f) {
      if (steps[f].thread == steps[r].thread && steps[f].what == Do::kFence && acquires(steps[f].order))
        targets.push_back(f);
    }
    // Every write in whose release sequence the value read lies.
    for (std::size_t w = write_before(r); w != n; w = modifies(steps[w]) ? write_before(w) : n) {
      std::vector<std::size_t> sources;
      if (releases(order_of(steps[w]))) sources.push_back(w);
      for (std::size_t f = 0; f < w; ++f) {
        if (steps[f].thread == steps[w].thread && steps[f].what == Do::kFence && releases(steps[f].order))
          sources.push_back(f);
      }
      for (std::size_t s : sources) {
        for (std::size_t t : targets) {
          if (s != t) order.add(s, t);
        }
      }
    }
  }
  order.close();
  return order;
}

std::string to_text(const std::vector<Step>& steps) {
  static const char* const kNames[] = {"read", "write",    "load",    "store",
                                       "add",  "exchange", "compare", "fence"};
  std::string text;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& s = steps[i];
    text += std::to_string(i) + ": T" + std::to_string(s.thread) + " " + kNames[static_cast<int>(s.what)] +
            "(" + std::to_string(s.variable) + ") order " + std::to_string(order_of(s)) +
            (s.succeeded ? " succeeded" : "") + "\n";
  }
  return text;
}

// Returns how many words had a race.
int compare(std::vector<Step> steps, Objects objects = Objects::kWords) {
  play(steps, objects);
  testing::Relation const order = happens_before(steps);
  auto const race = [&](std::size_t a, std::size_t b) {
    const Step& x = steps[a];
    const Step& y = steps[b];
    return x.what != Do::kFence && y.what != Do::kFence && x.variable == y.variable && x.thread != y.thread &&
           (writes(x) || writes(y)) && !(atomic(x) && atomic(y)) && !order.has(a, b);
  };
  int racy = 0;
  for (unsigned v = 0; v < kVariables; ++v) {
    std::size_t first = steps.size();
    std::set<std::size_t> all;
    for (std::size_t b = 0; b < steps.size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        if (steps[b].variable != v || !race(a, b)) continue;
        first = std::min(first, b);
        all.insert(b);
      }
    }
    bool found = false;
    for (const Told& t : told) {
      if (t.byte != reinterpret_cast<uintptr_t>(plain_part(objects, v))) continue;
      found |= t.later == first;
      EXPECT_TRUE(all.contains(t.later))
          << "word " << v << ": event " << t.later << " was told, and is no race\n"
          << to_text(steps);
    }
    if (first == steps.size()) continue;
    ++racy;
    EXPECT_TRUE(found) << "word " << v << ": first race at event " << first << " was not told\n"
                       << to_text(steps);
  }
  return racy;
}

TEST(WatchAtomics, RandomOrdersAndFences) {
  std::mt19937_64 random(11);
  long racy = 0;
  long clean = 0;
  for (int i = 0; i < runs(60000) && !::testing::Test::HasFailure(); ++i)
    ++(compare(random_steps(random)) != 0 ? racy : clean);
  EXPECT_GT(racy, enough(1000));
  EXPECT_GT(clean, enough(1000));
}

TEST(WatchAtomics, RandomOrdersOfBigObjects) {
  std::mt19937_64 random(24);
  long racy = 0;
  long clean = 0;
  for (int i = 0; i < runs(30000) && !::testing::Test::HasFailure(); ++i)
    ++(compare(random_steps(random), Objects::kBig) != 0 ? racy : clean);
  EXPECT_GT(racy, enough(500));
  EXPECT_GT(clean, enough(500));
}

TEST(WatchAtomics, RandomMessages) {
  std::mt19937_64 random(20261117);
  long racy = 0;
  long clean = 0;
  for (int i = 0; i < runs(12000) && !::testing::Test::HasFailure(); ++i)
    ++(compare(random_messages(random)) != 0 ? racy : clean);
  EXPECT_GT(racy, enough(500));
  EXPECT_GT(clean, enough(500));
}

TEST(WatchAtomics, AReleaseSequenceGoesOnThroughRelaxedModifications) {
  EXPECT_EQ(compare({{0, Do::kPlainWrite, 0, 0},
                     {0, Do::kStore, 2, kRelease},
                     {1, Do::kAdd, 2, kRelaxed},
                     {2, Do::kLoad, 2, kAcquire},
                     {2, Do::kPlainRead, 0, 0}}),
            0);
}
TEST(WatchAtomics, ARelaxedStoreEndsAReleaseSequence) {
  EXPECT_EQ(compare({{0, Do::kPlainWrite, 0, 0},
                     {0, Do::kStore, 2, kRelease},
                     {1, Do::kStore, 2, kRelaxed},
                     {2, Do::kLoad, 2, kAcquire},
                     {2, Do::kPlainRead, 0, 0}}),
            1);
}
TEST(WatchAtomics, FencesOnBothSidesOrderThroughRelaxedAtomics) {
  EXPECT_EQ(compare({{0, Do::kPlainWrite, 0, 0},
                     {0, Do::kFence, 0, kRelease},
                     {0, Do::kStore, 2, kRelaxed},
                     {1, Do::kLoad, 2, kRelaxed},
                     {1, Do::kFence, 0, kAcquire},
                     {1, Do::kPlainRead, 0, 0}}),
            0);
}
TEST(WatchAtomics, WithoutTheAcquireFenceItIsARace) {
  EXPECT_EQ(compare({{0, Do::kPlainWrite, 0, 0},
                     {0, Do::kFence, 0, kRelease},
                     {0, Do::kStore, 2, kRelaxed},
                     {1, Do::kLoad, 2, kRelaxed},
                     {1, Do::kPlainRead, 0, 0}}),
            1);
}

}  // namespace
}  // namespace deadheat::watch
