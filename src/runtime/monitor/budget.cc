#include "runtime/monitor/budget.h"

namespace deadheat::monitor {

namespace {
// Averages decay by 1/kMemory per window.
constexpr uint64_t kMemory = 32;
constexpr uint64_t kUnit = 16;
// Before anything is known, a program of middling intensity: as if it had been seen for a few windows.
constexpr uint64_t kAssumedUs = 4000;
// However the account stands, open no less than a fourth and no more than twice of what is right on average.
constexpr int64_t kLeast = 4;
}  // namespace

Budget::Budget(uint64_t share)
    : room_(share > kClosedShare * 3 / 2 ? share - kClosedShare : share / 3),
      cost_(kAssumedUs * kUnit * kInlineShare / kWhole),
      open_(kAssumedUs * kUnit) {}

void Budget::add(uint64_t worked_us, uint64_t open_us, uint64_t spent_us) {
  if (spent_us > open_us) spent_us = open_us;
  if (worked_us < open_us) worked_us = open_us;
  uint64_t const cost = spent_us + (open_us - spent_us) * kInlineShare / kWhole;
  cost_ = cost_ - cost_ / kMemory + cost * kUnit;
  open_ = open_ - open_ / kMemory + open_us * kUnit;
  balance_us_ += static_cast<int64_t>((worked_us - cost) * room_ / kWhole) - static_cast<int64_t>(cost);
  auto const limit = static_cast<int64_t>(kHorizonUs * room_ / kWhole);
  if (balance_us_ > limit) balance_us_ = limit;
  if (balance_us_ < -limit) balance_us_ = -limit;
}

uint64_t Budget::open_share() const {
  // Open for s of the time at intensity i costs s * i of the processor time, and the program's own is the
  // rest.
  uint64_t const allowed = room_ * kWhole / (kWhole + room_);
  uint64_t const steady = cost_ == 0 ? kWhole : allowed * open_ / cost_;
  auto const limit = static_cast<int64_t>(kHorizonUs * room_ / kWhole) + 1;
  int64_t share = static_cast<int64_t>(steady < kWhole ? steady : kWhole);
  share += share * balance_us_ / limit;
  int64_t const least = static_cast<int64_t>(steady < kWhole ? steady : kWhole) / kLeast;
  if (share < least) share = least;
  if (share < 1) share = 1;
  return share < static_cast<int64_t>(kWhole) ? static_cast<uint64_t>(share) : kWhole;
}

}  // namespace deadheat::monitor
