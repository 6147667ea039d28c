// The controller of `--budget`, with simulated programs instead of clocks: each has a processor time per time
// that passes, and becomes slower in windows by what it is.
#include "runtime/monitor/budget.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace deadheat::monitor {
namespace {

constexpr uint64_t kPeriodUs = 100'000;

struct Moment {
  double load;            // processor time per time: 0 is idle, 2 are two threads
  double intensity;       // of the processor time in windows, how much is monitoring
  double slow = 0.5;      // of that, in slow paths, which are counted
  double in_windows = 1;  // of the load, how much there is in windows
  uint64_t late_us = 0;   // how much longer the window becomes than it should
};

struct Outcome {
  double overhead;  // by windows, of what the program would have worked without
  double share;     // of the time that was open
};

// Runs a program under a budget of `budget` hundredths of a percent, from `from_us` to `until_us` of its
// life.
class Simulation {
 public:
  explicit Simulation(uint64_t budget) : budget_(budget) {}

  Outcome run(double seconds, const std::function<Moment(double)>& program) {
    double cost = 0;
    double worked = 0;
    double open = 0;
    double passed = 0;
    std::uniform_real_distribution<double> around(0.5, 1.5);
    while (passed < seconds * 1e6) {
      double period = static_cast<double>(kPeriodUs) * around(random_);
      Moment const now = program(time_ / 1e6);
      double const window =
          period * static_cast<double>(budget_.open_share()) / 10000 + static_cast<double>(now.late_us);
      if (window > period) period = window;
      double const open_work = window * now.load * now.in_windows;
      double const work = period * now.load;
      double const spent = open_work * now.intensity;
      budget_.add(static_cast<uint64_t>(work), static_cast<uint64_t>(open_work),
                  static_cast<uint64_t>(spent * now.slow));
      cost += spent;
      worked += work;
      open += window;
      passed += period;
      time_ += period;
    }
    return {worked > cost ? cost / (worked - cost) : 0, open / passed};
  }
  const Budget& budget() const { return budget_; }

 private:
  Budget budget_;
  std::mt19937 random_{7};
  double time_ = 0;
};

std::function<Moment(double)> steady(double load, double intensity, double slow = 0.5) {
  return [=](double) { return Moment{load, intensity, slow}; };
}

// A budget of 5 % leaves two points for windows, and may be missed by two.
constexpr double kRoom = 0.02;
constexpr double kMost = 0.04;

TEST(BudgetOf5Percent, IsKeptFromTheFirstSecondsWhateverTheProgramIsLike) {
  for (double intensity : {0.05, 0.3, 0.65, 0.9}) {
    for (double slow : {0.0, 0.2, 1.0}) {
      Simulation program(500);
      EXPECT_LT(program.run(2, steady(2, intensity, slow)).overhead, kMost) << intensity << " " << slow;
      EXPECT_LT(program.run(60, steady(2, intensity, slow)).overhead, kMost) << intensity << " " << slow;
    }
  }
}

TEST(BudgetOf5Percent, IsUsedUpWhereCostsAreCounted) {
  Simulation program(500);
  program.run(2, steady(1, 0.5, 1.0));
  EXPECT_GT(program.run(20, steady(1, 0.5, 1.0)).overhead, kRoom / 2);
}

TEST(BudgetOf5Percent, OpensMoreForAProgramThatCostsLess) {
  Simulation heavy(500);
  Simulation light(500);
  double const much = light.run(20, steady(1, 0.1, 1.0)).share;
  double const little = heavy.run(20, steady(1, 0.95, 1.0)).share;
  EXPECT_GT(much, 1.3 * little);
  EXPECT_GT(little, 0.005);
}

TEST(BudgetOf5Percent, ConvergesWithinTwoSecondsAfterAProgramChanges) {
  Simulation program(500);
  program.run(30, steady(2, 0.05, 1.0));
  program.run(2, steady(2, 0.95, 1.0));
  EXPECT_LT(program.run(3, steady(2, 0.95, 1.0)).overhead, kMost);
}

TEST(BudgetOf5Percent, LearnsNothingFromIdleTime) {
  Simulation program(500);
  program.run(10, steady(1, 0.3));
  uint64_t const before = program.budget().open_share();
  program.run(600, steady(0, 0.3));
  EXPECT_NEAR(static_cast<double>(program.budget().open_share()), static_cast<double>(before),
              static_cast<double>(before) * 0.5);
  EXPECT_LT(program.run(2, steady(1, 0.3)).overhead, kMost);
}

TEST(BudgetOf5Percent, IsKeptOverBursts) {
  // Idle for nine seconds, then two threads at once.
  Simulation program(500);
  const auto bursts = [](double at) { return Moment{static_cast<int>(at) % 10 == 9 ? 2.0 : 0.01, 0.7, 0.3}; };
  EXPECT_LT(program.run(120, bursts).overhead, kMost);
}

TEST(BudgetOf5Percent, MakesUpForWindowsThatBecameTooLong) {
  Simulation program(500);
  const auto late = [](double) { return Moment{1, 0.5, 0.5, 4000}; };
  // Four milliseconds in a hundred more than asked for are the whole room by themselves.
  EXPECT_LT(program.run(60, late).overhead, 0.045);
}

TEST(BudgetOf5Percent, SavesWhatWasOverdrawnOnTheWindowsThatFollow) {
  // Open for eight milliseconds in a hundred more than asked for, all the time: what is asked for shrinks.
  Simulation program(500);
  EXPECT_LT(program.run(60, [](double) { return Moment{1, 0.5, 0.5, 1, 8000}; }).overhead, 0.054);
  EXPECT_LT(program.budget().open_share(), 150u);
  EXPECT_GT(program.budget().open_share(), 50u);  // but never to nothing
}

TEST(BudgetOf5Percent, ForgetsInTheEndWhatWasOverdrawn) {
  Simulation program(500);
  program.run(120, [](double) { return Moment{1, 0.5, 0.5, 1, 20000}; });
  program.run(10, steady(1, 0.5));
  EXPECT_GT(program.budget().open_share(), 200u);
}

TEST(BudgetOf5Percent, DoesNotSaveUpForALaterSpree) {
  // Works only outside windows, for ten minutes; then like others.
  Simulation program(500);
  program.run(600, [](double) { return Moment{1, 0.5, 0.5, 0}; });
  EXPECT_LT(program.run(5, steady(1, 0.5)).overhead, 0.05);
}

TEST(BudgetOf5Percent, OpensMoreSoonAfterAProgramBecameLighter) {
  Simulation program(500);
  program.run(60, steady(1, 0.95, 1.0));
  uint64_t const heavy = program.budget().open_share();
  program.run(4, steady(1, 0.05, 1.0));
  EXPECT_GT(program.budget().open_share(), heavy * 3 / 2);
}

TEST(ABudget, LeavesSomethingForWindowsHoweverSmall) {
  Simulation program(50);
  Outcome const outcome = program.run(60, steady(1, 0.5, 1.0));
  EXPECT_GT(outcome.share, 0.0005);
  EXPECT_LT(outcome.overhead, 0.005);
}

TEST(ABudget, OfAHundredPercentOpensMostOfTheTime) {
  Simulation program(10000);
  program.run(5, steady(1, 0.3));
  EXPECT_GT(program.run(10, steady(1, 0.3)).share, 0.75);
}

}  // namespace
}  // namespace deadheat::monitor
