#include "detect/tree.h"

#include <gtest/gtest.h>

#include <random>

#include "detect/tree_filter.h"
#include "testing/generate.h"
#include "testing/naive.h"
#include "testing/run_detector.h"
#include "testing/trace_builder.h"

namespace deadheat::detect {
namespace {

using testing::build_trace;
using testing::run_detector;

// What the filter lets through, as a trace.
class Keep final : public Stage {
 public:
  explicit Keep(StageContext context) : Stage(std::move(context)) {}
  void on_event(EventIndex index, const Event& event) override {
    indices.push_back(index.index());
    events.push_back(event);
  }
  std::vector<std::size_t> indices;
  std::vector<Event> events;
};

struct Filtered {
  Trace trace;
  std::vector<std::size_t> dropped;
};

Filtered filter(const Trace& trace, std::uint32_t limit = TreeFilter::kMaxNodes) {
  RaceList races;
  const StageContext context{&trace.names, &races, {}, {}};
  TreeFilter tree(context, limit);
  Keep keep(context);
  tree.set_next(&keep);
  tree.on_batch(EventIndex(0), trace.events);
  Filtered result{Trace{keep.events, trace.names, {}}, {}};
  std::size_t next = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (next < keep.indices.size() && keep.indices[next] == i) {
      ++next;
    } else {
      result.dropped.push_back(i);
    }
  }
  return result;
}

testing::SitePairs races_of(const Trace& trace) {
  return testing::sites_of(trace, testing::lockset_and_message_races(trace));
}

// The serialized execution of figure 3.4b, event e(n) being number n - 1; the sites are the circled numbers.
Trace figure_3_4() {
  std::string text = "T0|snd(g1)|90 T0|snd(g2)|91 T0|snd(g3)|92 ";
  for (const char* lock : {"L1", "L2", "L3"}) {
    text += std::string("T0|acq(") + lock + ")|80 T0|w(x)|1 T0|rel(" + lock + ")|81 T0|r(x)|2 ";
  }
  for (int i = 1; i <= 3; ++i) {
    const std::string t = "T" + std::to_string(i), lock = "(L" + std::to_string(i) + ")";
    text += t + "|acq" + lock + "|82 " + t + "|w(x)|3 " + t + "|rel" + lock + "|83 " + t + "|w(x)|4 ";
  }
  return build_trace(text);
}

TEST(Tree, Figure34HasFortyFiveRacesAndSevenPairsOfPlaces) {
  // The thesis counts 27 and six; by its own definitions (locksets and message order) it is these.
  const Trace trace = figure_3_4();
  ASSERT_EQ(trace.events.size(), 24u + 3u);
  const testing::EventPairs races = testing::lockset_and_message_races(trace);
  EXPECT_EQ(races.size(), 45u);
  EXPECT_EQ(testing::sites_of(trace, races).size(), 7u);
}

TEST(Tree, Figure34DropsWhatSection35Says) {
  const Trace trace = figure_3_4();
  const Filtered filtered = filter(trace);
  // Two reads of T0 (e11, e15) and the write of the third thread (e27).
  EXPECT_EQ(filtered.dropped, (std::vector<std::size_t>{10, 14, 26}));
  EXPECT_EQ(races_of(filtered.trace), races_of(trace));
}

TEST(Tree, HoldsForLocksetsWithoutMessages) {
  std::mt19937_64 random(21);
  std::uint64_t dropped = 0;
  for (int i = 0; i < 20000; ++i) {
    testing::RandomShape shape = testing::random_shape(random);
    shape.messages = 0;
    shape.forks = false;
    shape.sites = i % 2 ? testing::Sites::kByAccess : testing::Sites::kFew;
    const Trace trace = testing::random_trace(shape, random);
    const Filtered filtered = filter(trace);
    dropped += filtered.dropped.size();
    ASSERT_EQ(races_of(filtered.trace), races_of(trace)) << testing::to_text(trace);
  }
  EXPECT_GT(dropped, 20000u);
}

TEST(Tree, HoldsForTwoThreadsWithMessages) {
  // With two threads nothing is ever dropped because two others came before.
  std::mt19937_64 random(22);
  for (int i = 0; i < 20000; ++i) {
    testing::RandomShape shape = testing::random_shape(random);
    shape.threads = 2;
    shape.messages = 2;
    shape.forks = i % 3 == 0;
    shape.sites = i % 2 ? testing::Sites::kByAccess : testing::Sites::kFew;
    const Trace trace = testing::random_trace(shape, random);
    ASSERT_EQ(races_of(filter(trace).trace), races_of(trace)) << testing::to_text(trace);
  }
}

TEST(Tree, HoldsOnAllSmallTracesWithLocksOnly) {
  std::uint64_t count = 0;
  for (int events = 2; events <= 6; ++events) {
    count += testing::for_each_small_trace(
        {.events = events, .threads = 3, .locks = 1, .locations = 1, .sites = testing::Sites::kFew},
        [](const Trace& trace) {
          ASSERT_EQ(races_of(filter(trace).trace), races_of(trace)) << testing::to_text(trace);
        });
  }
  EXPECT_GT(count, 10000u);
}

TEST(Tree, DoesNotHoldWhenTheFirstTwoThreadsAreOrderedLater) {
  // T3's write is dropped because T1's and T2's were alike; but only those two are ordered before T0's read.
  const Trace trace = build_trace(R"(
      T1|w(x)|1 T2|w(x)|1 T3|w(x)|1
      T1|snd(a)|2 T2|snd(b)|2 T0|rcv(a)|3 T0|rcv(b)|3 T0|r(x)|4)");
  const Filtered filtered = filter(trace);
  EXPECT_EQ(filtered.dropped, (std::vector<std::size_t>{2}));
  EXPECT_EQ(races_of(trace).size(), 2u);
  EXPECT_EQ(races_of(filtered.trace).size(), 1u);
}

TEST(Tree, DoesNotHoldInFrontOfDetectorsWithLockEdges) {
  const Trace trace = build_trace(R"(
      T0|acq(A)|1 T0|w(x)|2 T0|rel(A)|3 T1|acq(A)|4 T1|rel(A)|5
      T0|acq(A)|1 T0|w(x)|2 T0|rel(A)|3 T1|r(x)|6)");
  EXPECT_EQ(run_detector("hb", trace).races.size(), 1u);
  EXPECT_EQ(run_detector("tree|hb", trace).races.size(), 0u);
}

TEST(Tree, TheSameLocksInAnotherOrderAreTheSameContext) {
  const Trace trace = build_trace(R"(
      T0|acq(A)|1 T0|acq(B)|1 T0|w(x)|2 T0|rel(B)|1 T0|rel(A)|1
      T0|acq(B)|1 T0|acq(A)|1 T0|w(x)|2 T0|rel(A)|1 T0|rel(B)|1)");
  EXPECT_EQ(filter(trace).dropped, (std::vector<std::size_t>{7}));
}

TEST(Tree, ALockTakenTwiceIsHeldUntilItIsReleasedTwice) {
  const Trace trace =
      build_trace("T0|acq(A)|1 T0|w(x)|2 T0|acq(A)|1 T0|w(x)|2 T0|rel(A)|1 T0|w(x)|2 T0|rel(A)|1 T0|w(x)|2");
  EXPECT_EQ(filter(trace).dropped, (std::vector<std::size_t>{3, 5}));
}

TEST(Tree, AFullStorageDropsNothingWrongly) {
  std::mt19937_64 random(23);
  std::uint64_t with = 0, without = 0;
  for (int i = 0; i < 3000; ++i) {
    testing::RandomShape shape = testing::random_shape(random);
    shape.messages = 0;
    shape.forks = false;
    shape.sites = testing::Sites::kFew;
    const Trace trace = testing::random_trace(shape, random);
    const Filtered filtered = filter(trace, 12);
    ASSERT_EQ(races_of(filtered.trace), races_of(trace)) << testing::to_text(trace);
    with += filtered.dropped.size();
    without += filter(trace).dropped.size();
  }
  EXPECT_GT(with, 0u);
  EXPECT_LT(with, without);
}

TEST(Tree, MoreLocksThanAContextHoldsMeansNothingIsDropped) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "T0|acq(L" + std::to_string(i) + ")|1 ";
  text += "T0|w(x)|2 T0|w(x)|2 ";
  for (int i = 0; i < 40; ++i) text += "T0|rel(L" + std::to_string(i) + ")|1 ";
  text += "T0|w(x)|2 T0|w(x)|2";
  EXPECT_EQ(filter(build_trace(text)).dropped, (std::vector<std::size_t>{83}));
}

}  // namespace
}  // namespace deadheat::detect
