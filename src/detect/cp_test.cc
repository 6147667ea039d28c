#include "detect/cp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "testing/small_traces.h"
#include "testing/trace_builder.h"

namespace deadheat::detect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Pairs = std::set<std::pair<std::uint64_t, std::uint64_t>>;

Pairs run(const Trace& trace) {
  RaceList list;
  CausallyPrecedes cp(StageContext{&trace.names, &list, Options{}, "cp"});
  for (std::uint64_t i = 0; i < trace.events.size(); ++i) cp.on_event(EventIndex(i), trace.events[i]);
  cp.finish();
  Pairs result;
  for (const Race& race : list.races) result.insert({race.first.index.value(), race.second.index.value()});
  return result;
}
Pairs run(const char* text) { return run(testing::build_trace(text)); }
constexpr auto kPair = [](int a, int b) { return std::pair<std::uint64_t, std::uint64_t>(a, b); };

// The definition, literally: relations as matrices, rules applied until nothing changes.
class Literal {
 public:
  explicit Literal(const Trace& trace) : trace_(trace), n_(trace.events.size()) {
    hard_ = matrix();
    before_ = matrix();
    cp_ = matrix();
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t k = i + 1; k < n_; ++k) {
        const Event& a = trace.events[i];
        const Event& b = trace.events[k];
        bool hard = a.thread == b.thread ||
                    (a.kind == EventKind::kFork && a.object.value() == b.thread.value()) ||
                    (a.kind == EventKind::kFork && b.kind == EventKind::kJoin && a.object == b.object) ||
                    (b.kind == EventKind::kJoin && b.object.value() == a.thread.value()) ||
                    (a.kind == EventKind::kSend && b.kind == EventKind::kReceive && a.object == b.object);
        hard_[i][k] = hard;
        before_[i][k] =
            hard || (a.kind == EventKind::kRelease && b.kind == EventKind::kAcquire && a.object == b.object);
      }
    }
    close(hard_);
    close(before_);
    while (step()) {
    }
  }
  Pairs races() const {
    Pairs result;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t k = i + 1; k < n_; ++k) {
        if (conflict(i, k) && !hard_[i][k] && !cp_[i][k]) result.insert({i, k});
      }
    }
    return result;
  }

 private:
  using Matrix = std::vector<std::vector<char>>;
  Matrix matrix() const { return Matrix(n_, std::vector<char>(n_, 0)); }
  void close(Matrix& m) const {
    for (std::size_t j = 0; j < n_; ++j) {
      for (std::size_t i = 0; i < n_; ++i) {
        for (std::size_t k = 0; k < n_; ++k) m[i][k] = m[i][k] || (m[i][j] && m[j][k]);
      }
    }
  }
  bool conflict(std::size_t i, std::size_t k) const {
    const Event& a = trace_.events[i];
    const Event& b = trace_.events[k];
    return is_access(a.kind) && is_access(b.kind) && a.object == b.object && a.thread != b.thread &&
           (a.kind == EventKind::kWrite || b.kind == EventKind::kWrite);
  }
  // Is `e` inside the section that starts at `acquire`, both ends included? And where does it end?
  bool inside(std::size_t acquire, std::size_t e, std::size_t* release = nullptr) const {
    const Event& start = trace_.events[acquire];
    int depth = 0;
    bool found = false;
    for (std::size_t i = acquire; i < n_; ++i) {
      const Event& event = trace_.events[i];
      if (event.thread != start.thread) continue;
      found |= i == e;
      if (event.object != start.object) continue;
      if (event.kind == EventKind::kAcquire) ++depth;
      if (event.kind == EventKind::kRelease && --depth == 0) {
        if (release != nullptr) *release = i;
        return found;
      }
    }
    return found;
  }
  bool is_outermost(std::size_t acquire) const {
    int depth = 0;
    for (std::size_t i = 0; i < acquire; ++i) {
      const Event& event = trace_.events[i];
      if (event.thread != trace_.events[acquire].thread || event.object != trace_.events[acquire].object)
        continue;
      if (event.kind == EventKind::kAcquire) ++depth;
      if (event.kind == EventKind::kRelease) --depth;
    }
    return depth == 0;
  }
  bool step() {
    Matrix old = cp_;
    for (std::size_t a1 = 0; a1 < n_; ++a1) {
      for (std::size_t a2 = a1 + 1; a2 < n_; ++a2) {
        const Event& one = trace_.events[a1];
        const Event& two = trace_.events[a2];
        if (one.kind != EventKind::kAcquire || two.kind != EventKind::kAcquire || one.object != two.object)
          continue;
        if (one.thread == two.thread || !is_outermost(a1) || !is_outermost(a2)) continue;
        std::size_t release = n_;
        inside(a1, n_, &release);
        for (std::size_t e1 = 0; e1 < n_; ++e1) {
          for (std::size_t e2 = 0; e2 < n_; ++e2) {
            if ((conflict(e1, e2) || cp_[e1][e2]) && inside(a1, e1) && inside(a2, e2)) cp_[release][a2] = 1;
          }
        }
      }
    }
    Matrix next = cp_;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        for (std::size_t k = 0; k < n_; ++k) {
          if ((before_[i][j] && cp_[j][k]) || (cp_[i][j] && before_[j][k])) next[i][k] = 1;
        }
      }
    }
    cp_ = next;
    return cp_ != old;
  }

  const Trace& trace_;
  const std::size_t n_;
  Matrix hard_, before_, cp_;
};

TEST(CausallyPrecedes, IsTheDefinitionOnRandomTraces) {
  std::uint64_t races = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Trace trace = testing::small_trace(seed, {.min_events = 8,
                                              .max_events = 24,
                                              .max_threads = seed % 3 == 0 ? 6 : 4,
                                              .max_locks = 3,
                                              .max_locations = 4,
                                              .sections = seed % 2 == 0,
                                              .joins = seed % 3 == 0,
                                              .churn = seed % 3 == 0});
    Pairs expected = Literal(trace).races();
    EXPECT_EQ(run(trace), expected) << testing::to_text(trace);
    races += expected.size();
  }
  EXPECT_GT(races, 500u);
}

// The paper's first example: sections that do not conflict need not stay in order.
TEST(CausallyPrecedes, SectionsWithoutConflictDoNotOrder) {
  EXPECT_THAT(run("T1|w(y) T1|acq(l) T1|w(x) T1|rel(l) T2|acq(l) T2|w(z) T2|rel(l) T2|w(y)"),
              ElementsAre(kPair(0, 7)));
  EXPECT_THAT(run("T1|w(y) T1|acq(l) T1|w(x) T1|rel(l) T2|acq(l) T2|r(x) T2|rel(l) T2|w(y)"), IsEmpty());
}

TEST(CausallyPrecedes, ForkJoinAndMessagesOrder) {
  EXPECT_THAT(run("T0|w(x) T0|fork(T1) T1|w(x) T0|join(T1) T0|w(x)"), IsEmpty());
  EXPECT_THAT(run("T0|w(x) T0|snd(m) T1|rcv(m) T1|w(x)"), IsEmpty());
  // T2 does nothing, but cannot be joined before it is forked.
  EXPECT_THAT(run("T0|fork(T1) T0|w(x) T0|fork(T2) T1|join(T2) T1|w(x)"), IsEmpty());
}

TEST(CausallyPrecedes, ManyMessagesOfOneNameOrderAsFew) {
  std::string text = "T0|w(x) ";
  for (int i = 0; i < 50; ++i) text += "T0|snd(m) T2|snd(m) T1|rcv(m) ";
  EXPECT_THAT(run((text + "T1|w(x)").c_str()), IsEmpty());
  EXPECT_THAT(run((text + "T2|w(x)").c_str()), ElementsAre(kPair(0, 151)));
}

TEST(CausallyPrecedes, ReportsNothingWhenTheTimeIsOver) {
  const Trace trace = testing::build_trace("T0|w(x) T0|acq(l) T0|rel(l) T1|acq(l) T1|rel(l) T1|w(x)");
  const std::atomic<bool> cancelled = true;
  Options options;
  options.cancelled = &cancelled;
  RaceList list;
  CausallyPrecedes cp(StageContext{&trace.names, &list, options, "cp"});
  for (std::uint64_t i = 0; i < trace.events.size(); ++i) cp.on_event(EventIndex(i), trace.events[i]);
  cp.finish();
  EXPECT_TRUE(list.races.empty());
  EXPECT_NE(cp.incomplete(), "");
}

TEST(CausallyPrecedes, RefusesLongTraces) {
  Names names;
  RaceList list;
  CausallyPrecedes cp(StageContext{&names, &list, Options{}, "cp"});
  for (std::uint64_t i = 0; i <= CausallyPrecedes::kMaxEvents; ++i) cp.on_event(EventIndex(i), Event{});
  ASSERT_TRUE(cp.failure().has_value());
  EXPECT_EQ(cp.failure()->message.substr(0, 45), "cp: event 10000: expected at most 10000 event");
}

}  // namespace
}  // namespace deadheat::detect
