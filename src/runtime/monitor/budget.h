// How much of the time may be monitored so that the program becomes no slower than it is allowed to.
//
// What monitoring costs has three parts:
//
// - The slow paths in windows, whose cycles are counted.
// - The inlined code in windows (looks at the gate, comparisons with a place's counter), which nobody counts.
// It is
//   taken for kInlineShare of the processor time that is left in windows: with everything monitored all the
//   time, the small benchmarks run between 1.05 and 2.9 times as long, 1.5 times on average, and almost all
//   of that is inlined code (docs/monitor.md); a half is above the average and below the worst.
// - Looks at a closed gate and interposed calls, all the time. Nothing can take them back: kClosedShare is
// set
//   aside for them, the average of the same benchmarks.
//
// The first two, per processor time in windows, are the *intensity* of the program, averaged over the last
// few dozen windows. The share of the time that is open is what costs as much as there is room for, at this
// intensity. On top of that an account is kept of what was really spent: load comes in bursts, windows become
// longer than they should when the machine is busy, and a program changes; what was overdrawn is saved on the
// windows that follow, and what was left over may be spent, within kHorizonUs of work.
//
// Time is an argument everywhere: no clock is read here. Tested by tests/budget_test.cc with simulated
// programs.
#pragma once

#include <stdint.h>

namespace deadheat::monitor {

class Budget {
 public:
  // Shares are in hundredths of a percent.
  static constexpr uint64_t kWhole = 10000;
  static constexpr uint64_t kClosedShare = 300;
  static constexpr uint64_t kInlineShare = 5000;
  static constexpr uint64_t kHorizonUs = 3'000'000;

  // The program may become slower by this share.
  explicit Budget(uint64_t share);

  // One window is over. `worked_us`: processor time of the whole process since the last window ended, this
  // one included; `open_us`: of that, in the window; `spent_us`: of that, in slow paths.
  void add(uint64_t worked_us, uint64_t open_us, uint64_t spent_us);

  // The share of the time that is to be open from here on, at least 1.
  uint64_t open_share() const;

 private:
  uint64_t room_;  // for windows
  // Averages over windows, in 1/16 us.
  uint64_t cost_;
  uint64_t open_;
  int64_t balance_us_ = 0;  // what may still be spent; negative: overdrawn
};

}  // namespace deadheat::monitor
