// Threads that take over the slots of others: every detector with clocks must find what it would find if each
// thread had its own.
#include "detect/thread_slots.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "detect/causal_model.h"
#include "detect/pipeline.h"
#include "testing/generate.h"
#include "testing/naive.h"
#include "testing/naive_predict.h"
#include "testing/run_detector.h"
#include "testing/trace_builder.h"

namespace deadheat::detect {
namespace {

using testing::build_trace;
using testing::run_detector;

TEST(ThreadSlots, AChildTakesASlotOnlyOfAThreadThatItsParentKnowsToBeOver) {
  ThreadSlots slots;
  const Slot first = slots.add(ThreadId(0));
  const Slot second = slots.add(ThreadId(1));
  EXPECT_NE(first, second);
  slots.end(ThreadId(1), Clock(7));
  EXPECT_EQ(slots.of(ThreadId(1)), ThreadSlots::kNone);
  // Clock 6 is all that this parent knows of it.
  const Slot third = slots.add_child(ThreadId(2), [&](Slot, Clock last) { return last <= Clock(6); });
  EXPECT_NE(third, second);
  const Slot fourth = slots.add_child(ThreadId(3), [&](Slot, Clock last) { return last <= Clock(7); });
  EXPECT_EQ(fourth, second);
  EXPECT_EQ(slots.first_clock(second), Clock(8));
  EXPECT_EQ(slots.tenant(second, Clock(7)), ThreadId(1));
  EXPECT_EQ(slots.tenant(second, Clock(8)), ThreadId(3));
  EXPECT_EQ(slots.size(), 3u);
}

TEST(ThreadSlots, AClockThatIsHalfUsedUpIsNotGivenAway) {
  ThreadSlots slots;
  const Slot first = slots.add(ThreadId(0));
  slots.end(ThreadId(0), Clock(0x80000001u));
  EXPECT_NE(slots.add_child(ThreadId(1), [](Slot, Clock) { return true; }), first);
}

// Many short-lived threads, few at a time.
Trace churn(std::mt19937_64& random, int events, int threads, int locks) {
  testing::RandomShape shape;
  shape.events = events;
  shape.threads = threads;
  shape.locks = locks;
  shape.locations = 2;
  shape.forks = true;
  shape.messages = random() % 2 ? 1 : 0;
  shape.access_weight = 35;
  return testing::random_trace(shape, random);
}

void compare(const char* name, const Trace& trace, const testing::EventPairs& expected, int& reused) {
  const testing::Outcome outcome = run_detector(name, trace);
  ASSERT_EQ(outcome.site_pairs(), testing::sites_of(trace, expected)) << name << "\n"
                                                                      << testing::to_text(trace);
  for (const auto& pair : outcome.event_pairs()) ASSERT_TRUE(expected.contains(pair)) << name;
  // The generator names all threads, but only some of them run.
  std::set<ThreadId> seen;
  for (const Event& event : trace.events) seen.insert(event.thread);
  reused += outcome.counter(name, "slots") < seen.size();
}

TEST(ThreadSlots, ChangeNothingForHappensBeforeAndItsKin) {
  std::mt19937_64 random(51);
  int hb = 0, shb = 0, wcp = 0, fasttrack = 0;
  for (int i = 0; i < 6000; ++i) {
    const Trace trace = churn(random, 30 + i % 50, 4 + i % 8, 1 + i % 3);
    const testing::EventPairs expected = testing::unordered_conflicts(trace, testing::happens_before(trace));
    compare("hb", trace, expected, hb);
    compare("shb", trace, testing::shb_races(trace), shb);
    compare("wcp", trace, testing::wcp_races(trace), wcp);
    const testing::Outcome fast = run_detector("fasttrack", trace);
    ASSERT_EQ(fast.first_per_location(), run_detector("spans|fasttrack", trace).first_per_location());
    for (const auto& pair : fast.event_pairs()) ASSERT_TRUE(expected.contains(pair));
    std::set<std::uint64_t> racy;
    for (const auto& [first, second] : expected) racy.insert(trace.events[first].object.value());
    ASSERT_EQ(fast.races.size(), racy.size()) << testing::to_text(trace);
    fasttrack += fast.counter("fasttrack", "slots") < trace.names.threads.size();
    if (HasFatalFailure()) return;
  }
  for (int reused : {hb, shb, wcp, fasttrack}) EXPECT_GT(reused, 1000);
}

TEST(ThreadSlots, ChangeNothingForSyncp) {
  std::mt19937_64 random(52);
  int reused = 0;
  for (int i = 0; i < 20000; ++i) {
    const Trace trace = churn(random, 12 + i % 6, 5, 1);
    compare("syncp", trace, testing::syncp_races(trace), reused);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(reused, 200);
}

TEST(ThreadSlots, RacesOfAnEarlierTenantNameIt) {
  // b has a's slot; c races with a's write only, and then with b's.
  const char* text = R"(
      main|fork(c)|1 main|fork(a)|2 a|w(x)|3 main|join(a)|4 main|fork(b)|5 b|w(y)|6
      c|w(x)|7 c|w(y)|8)";
  const Trace trace = build_trace(text);
  for (const char* name : {"hb", "shb", "wcp", "syncp", "fasttrack"}) {
    const testing::Outcome outcome = run_detector(name, trace);
    EXPECT_EQ(outcome.counter(name, "slots"), 3u) << name;
    ASSERT_EQ(outcome.races.size(), 2u) << name;
    EXPECT_EQ(trace.names.thread(outcome.races[0].first.event.thread), "a") << name;
    EXPECT_EQ(trace.names.thread(outcome.races[1].first.event.thread), "b") << name;
  }
}

TEST(ThreadSlots, AThreadMayBeJoinedTwice) {
  // d joins a after b has taken over a's slot, and learns of a but not of b.
  const Trace trace = build_trace(R"(
      main|fork(d)|1 main|fork(a)|2 a|w(x)|3 main|join(a)|4 main|fork(b)|5 b|w(y)|6
      d|join(a)|7 d|w(x)|8 d|w(y)|9)");
  for (const char* name : {"hb", "shb", "wcp", "syncp", "fasttrack"}) {
    const testing::Outcome outcome = run_detector(name, trace);
    ASSERT_EQ(outcome.races.size(), 1u) << name;
    EXPECT_EQ(outcome.races[0].second.index, EventIndex(8)) << name;
  }
}

// A trace of so many threads, two at a time.
Trace relay(int threads) {
  std::string text;
  for (int i = 0; i < threads; ++i) {
    const std::string name = "T" + std::to_string(i);
    text += "main|fork(" + name + ")|1\n" + name + "|acq(l)|2\n" + name + "|w(x)|3\n" + name + "|rel(l)|4\n" +
            "main|join(" + name + ")|5\n";
  }
  return build_trace(text.c_str());
}

TEST(ThreadSlots, MemoryFollowsTheThreadsThatAreAlive) {
  const Trace trace = relay(20000);
  for (const char* name : {"fasttrack", "hb", "shb", "wcp", "syncp", "hybrid"}) {
    RaceList list;
    StageContext context{&trace.names, &list, {}, find_detector(name)->name};
    std::unique_ptr<Stage> stage = find_detector(name)->make(context, DropRule::kNothing);
    stage->on_batch(EventIndex(0), trace.events);
    stage->finish();
    EXPECT_TRUE(list.races.empty()) << name;
    // With a place for every thread in every clock it would be 20,000 * 20,000 * 4 bytes.
    EXPECT_LT(stage->memory_bytes(), 20000u * 400u) << name;
  }
}

// 1,000 workers that live on, and so many threads one after another, forked and joined by main.
std::string workers_and_relay(int threads) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "W" + std::to_string(i);
    text += "main|fork(" + name + ")|1\n" + name + "|snd(m)|2\n";
  }
  text += "main|rcv(m)|3\n";
  for (int i = 0; i < threads; ++i) {
    const std::string name = "R" + std::to_string(i);
    text += "main|fork(" + name + ")|4\n" + name + "|w(x)|5\nmain|join(" + name + ")|6\n";
  }
  return text;
}

TEST(ThreadSlots, WhatAThreadKnewAtItsEndIsNotKeptForEver) {
  const Trace few = build_trace(workers_and_relay(5000).c_str());
  const Trace many = build_trace(workers_and_relay(20000).c_str());
  for (const char* name : {"fasttrack", "hb", "shb", "wcp", "hybrid"}) {
    std::uint64_t bytes[2];
    for (const Trace* trace : {&few, &many}) {
      RaceList list;
      StageContext context{&trace->names, &list, {}, find_detector(name)->name};
      std::unique_ptr<Stage> stage = find_detector(name)->make(context, DropRule::kNothing);
      stage->on_batch(EventIndex(0), trace->events);
      EXPECT_FALSE(stage->failure().has_value()) << name;
      EXPECT_TRUE(list.races.empty()) << name;
      bytes[trace == &many] = stage->memory_bytes();
    }
    // 15,000 rows of 1,000 clocks would be 60 MB more.
    EXPECT_LT(bytes[1], bytes[0] + (1u << 20)) << name;
  }
}

TEST(ThreadSlots, AJoinThatNobodyCanAnswerAnyMoreEndsTheDetector) {
  // main knows of R0's end, W0 does not.
  const std::string relay = workers_and_relay(8000);
  const Trace known = build_trace((relay + "main|join(R0)|7 main|w(x)|8").c_str());
  const Trace recent = build_trace((relay + "W0|join(R7999)|7 W0|w(x)|8").c_str());
  const Trace forgotten = build_trace((relay + "W0|join(R0)|7 W0|w(x)|8").c_str());
  for (const char* name : {"fasttrack", "hb", "shb", "wcp", "syncp", "hybrid"}) {
    for (const Trace* trace : {&known, &recent, &forgotten}) {
      RaceList list;
      StageContext context{&trace->names, &list, {}, find_detector(name)->name};
      std::unique_ptr<Stage> stage = find_detector(name)->make(context, DropRule::kNothing);
      stage->on_batch(EventIndex(0), trace->events);
      EXPECT_TRUE(list.races.empty()) << name;
      if (trace != &forgotten) {
        EXPECT_FALSE(stage->failure().has_value()) << name;
        continue;
      }
      ASSERT_TRUE(stage->failure().has_value()) << name;
      EXPECT_EQ(stage->failure()->message.substr(0, std::string(name).size() + 37),
                std::string(name) + ": thread 'R0': expected its second jo");
    }
  }
}

TEST(ThreadSlots, ThreadsThatAreNeverJoinedHaveShortClocks) {
  std::string text;
  for (int i = 0; i < 20000; ++i) {
    const std::string name = "T" + std::to_string(i);
    text += "main|fork(" + name + ")|1\n" + name + "|w(" + name + ")|3\n";
  }
  const Trace trace = build_trace(text.c_str());
  for (const char* name : {"fasttrack", "hb", "shb", "wcp", "syncp", "hybrid"}) {
    RaceList list;
    StageContext context{&trace.names, &list, {}, find_detector(name)->name};
    std::unique_ptr<Stage> stage = find_detector(name)->make(context, DropRule::kNothing);
    stage->on_batch(EventIndex(0), trace.events);
    EXPECT_LT(stage->memory_bytes(), 20000u * 1000u) << name;
  }
}

TEST(ThreadSlots, PredictionFollowsThemToo) {
  EXPECT_EQ(find_chains(relay(500).events, relay(500).names, false).count, 2u);
  // Not for a thread whose end is not known to the one who starts the next.
  const Trace trace =
      build_trace("main|fork(a)|1 main|fork(b)|2 b|join(a)|3 main|fork(c)|4 b|fork(d)|5 c|w(x)|6 d|w(x)|7");
  const Chains chains = find_chains(trace.events, trace.names, false);
  const auto of = [&](const char* name) { return chains.of_thread[*trace.names.threads.find(name)]; };
  EXPECT_EQ(of("d"), of("a"));
  EXPECT_NE(of("c"), of("a"));
  EXPECT_EQ(chains.count, 4u);
}

}  // namespace
}  // namespace deadheat::detect
