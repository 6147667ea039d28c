// Atomic accesses race with plain ones only: hb and fasttrack against the definition, on random events.
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "detect/pipeline.h"
#include "gtest/gtest.h"
#include "trace/names.h"

namespace deadheat::detect {
namespace {

struct Trace {
  std::vector<Event> events;
};

Trace random_run(std::mt19937& random) {
  Trace run;
  const auto below = [&](unsigned n) { return static_cast<std::uint32_t>(random() % n); };
  const unsigned length = 4 + below(12);
  for (unsigned i = 0; i < length; ++i) {
    Event event;
    event.thread = ThreadId(below(3));
    event.site = SiteId(i + 1);
    switch (below(6)) {
      case 0:
        event.kind = EventKind::kSend;
        event.object = ObjectId(below(2) + 1);
        break;
      case 1:
        event.kind = EventKind::kReceive;
        event.object = ObjectId(below(2) + 1);
        break;
      default:
        event.kind = below(2) == 0 ? EventKind::kRead : EventKind::kWrite;
        event.object = ObjectId(below(2) + 1);
        event.is_atomic = below(2) == 0;
    }
    run.events.push_back(event);
  }
  return run;
}

// Happens-before by its definition: program order, and every send before each later receive of the same
// message.
std::vector<std::vector<bool>> order_of(const std::vector<Event>& events) {
  const std::size_t n = events.size();
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n));
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < j; ++i)
      before[i][j] = events[i].thread == events[j].thread ||
                     (events[i].kind == EventKind::kSend && events[j].kind == EventKind::kReceive &&
                      events[i].object == events[j].object);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (before[i][k] && before[k][j]) before[i][j] = true;
  return before;
}

using Pair = std::pair<std::uint64_t, std::uint64_t>;

std::set<Pair> races_by_definition(const std::vector<Event>& events) {
  const auto before = order_of(events);
  std::set<Pair> races;
  for (std::size_t j = 0; j < events.size(); ++j)
    for (std::size_t i = 0; i < j; ++i) {
      const Event& a = events[i];
      const Event& b = events[j];
      if (!is_access(a.kind) || !is_access(b.kind) || a.object != b.object || a.thread == b.thread) continue;
      if (a.kind != EventKind::kWrite && b.kind != EventKind::kWrite) continue;
      if (a.is_atomic && b.is_atomic) continue;
      if (!before[i][j]) races.emplace(i, j);
    }
  return races;
}

std::vector<Race> races_of(const char* detector, const std::vector<Event>& events) {
  Names names;
  RaceList list;
  StageContext context;
  context.names = &names;
  context.sink = &list;
  auto pipeline = make_pipeline(detector, context);
  EXPECT_TRUE(pipeline.ok());
  for (std::size_t i = 0; i < events.size(); ++i) pipeline->on_event(EventIndex(i), events[i]);
  pipeline->finish();
  return list.races;
}

TEST(AtomicAccesses, HbFindsExactlyThePairsOfTheDefinition) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const Trace run = random_run(random);
    std::set<Pair> found;
    for (const Race& race : races_of("hb", run.events)) {
      // Sites are as unique as events here.
      found.emplace(race.first.index.value(), race.second.index.value());
      EXPECT_EQ(race.first.event.is_atomic, run.events[race.first.index.index()].is_atomic);
    }
    ASSERT_EQ(found, races_by_definition(run.events)) << "round " << round;
  }
}

TEST(AtomicAccesses, FasttrackFindsTheFirstRaceOfEachLocation) {
  std::mt19937 random(2);
  for (int round = 0; round < 20000; ++round) {
    const Trace run = random_run(random);
    const std::set<Pair> all = races_by_definition(run.events);
    std::map<std::uint64_t, std::uint64_t> first;  // location: the event that completes its first race
    for (const auto& [earlier, later] : all) {
      const std::uint64_t location = run.events[later].object.value();
      const auto [known, is_new] = first.emplace(location, later);
      if (!is_new) known->second = std::min(known->second, later);
    }
    std::map<std::uint64_t, std::uint64_t> found;
    for (const Race& race : races_of("fasttrack", run.events)) {
      EXPECT_TRUE(all.contains({race.first.index.value(), race.second.index.value()})) << "round " << round;
      found.emplace(race.object().value(), race.second.index.value());
    }
    ASSERT_EQ(found, first) << "round " << round;
  }
}

TEST(AtomicAccesses, DetectorsThatDoNotKnowThemAreNotShownAny) {
  Event one;
  one.kind = EventKind::kWrite;
  one.thread = ThreadId(0);
  one.object = ObjectId(1);
  one.is_atomic = true;
  Event other = one;
  other.thread = ThreadId(1);
  other.is_atomic = false;
  EXPECT_TRUE(races_of("lockset", {one, other}).empty());
  EXPECT_EQ(races_of("hb", {one, other}).size(), 1u);
}

}  // namespace
}  // namespace deadheat::detect
