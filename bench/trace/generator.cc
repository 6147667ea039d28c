#include "generator.h"

#include <algorithm>
#include <string>

namespace deadheat::bench {

Generator::Generator(const Shape& shape)
    : shape_(shape),
      random_(shape.seed),
      threads_(static_cast<std::size_t>(shape.threads)),
      owner_(static_cast<std::size_t>(shape.locks), -1) {
  for (int i = 0; i < shape.threads; ++i) names_.threads.append("T" + std::to_string(i));
  for (int i = 0; i < shape.locks; ++i) names_.locks.append("l" + std::to_string(i));
  auto locations = [&](std::uint64_t count, const char* prefix) {
    const std::uint64_t start = names_.locations.size();
    for (std::uint64_t i = 0; i < count; ++i) names_.locations.append(prefix + std::to_string(i));
    return start;
  };
  hot_start_ = locations(
      static_cast<std::uint64_t>(shape.locks) * static_cast<std::uint64_t>(shape.hot_per_lock), "hot");
  cold_start_ = locations(
      static_cast<std::uint64_t>(shape.threads) * static_cast<std::uint64_t>(shape.cold_per_thread), "cold");
  read_only_start_ = locations(static_cast<std::uint64_t>(shape.read_only), "config");
  racy_start_ = locations(static_cast<std::uint64_t>(shape.races), "racy");
  locations(static_cast<std::uint64_t>(shape.chaos), "any");  // there is nothing else then
  for (int i = 0; i < shape.sites + 4 * shape.races; ++i)
    names_.sites.append("f.cc:" + std::to_string(i + 1));
  race_gap_ = shape.races == 0
                  ? ~std::uint64_t{0}
                  : std::max<std::uint64_t>(1, shape.events / static_cast<std::uint64_t>(shape.races));
  next_race_ = race_gap_ / 2;
}

Event Generator::access(int thread, EventKind kind, std::uint64_t location, std::uint32_t site) {
  Event event;
  event.kind = kind;
  event.thread = ThreadId(static_cast<std::uint32_t>(thread));
  event.object = ObjectId(location);
  event.site = SiteId(site);
  return event;
}

// The worst case: no rule at all. One event in ten takes a lock, one in ten gives one back.
Event Generator::next_chaos() {
  const std::uint32_t site = static_cast<std::uint32_t>(below(shape_.sites));
  while (true) {
    const int thread = below(shape_.threads), what = below(10);
    std::vector<int>& held = threads_[static_cast<std::size_t>(thread)].held;
    if (what == 0) {
      const int lock = below(shape_.locks);
      int& owner = owner_[static_cast<std::size_t>(lock)];
      if (owner != -1) continue;
      owner = thread;
      held.push_back(lock);
      return access(thread, EventKind::kAcquire, static_cast<std::uint64_t>(lock), site);
    }
    if (what == 1 && !held.empty()) {
      const int lock = held.back();
      held.pop_back();
      owner_[static_cast<std::size_t>(lock)] = -1;
      return access(thread, EventKind::kRelease, static_cast<std::uint64_t>(lock), site);
    }
    const EventKind kind = below(3) == 0 ? EventKind::kWrite : EventKind::kRead;
    return access(thread, kind, static_cast<std::uint64_t>(below(shape_.chaos)), site);
  }
}

Event Generator::next_event() {
  if (shape_.chaos > 0) return next_chaos();
  const std::uint32_t sites = static_cast<std::uint32_t>(shape_.sites);
  if (initialised_ < static_cast<std::uint64_t>(shape_.read_only)) {
    const std::uint64_t location = read_only_start_ + initialised_++;
    return access(0, EventKind::kWrite, location, static_cast<std::uint32_t>(location) % sites);
  }
  if (forked_ < shape_.threads) {
    Event event = access(0, EventKind::kFork, static_cast<std::uint64_t>(forked_++), 0);
    return event;
  }
  if (second_half_ != 0 && position_ >= second_half_) {
    second_half_ = 0;
    const int other = (first_thread_ + 1 + below(std::max(1, shape_.threads - 1))) % shape_.threads;
    const int pair = racing_++;
    return access(other, EventKind::kWrite, racy_start_ + static_cast<std::uint64_t>(pair),
                  sites + static_cast<std::uint32_t>(2 * pair + 1));
  }
  if (second_half_ == 0 && position_ >= next_race_ && racing_ < shape_.races) {
    next_race_ += race_gap_;
    second_half_ = position_ + shape_.race_distance;
    first_thread_ = current_;
    return access(current_, EventKind::kWrite, racy_start_ + static_cast<std::uint64_t>(racing_),
                  sites + static_cast<std::uint32_t>(2 * racing_));
  }

  if (threads_[static_cast<std::size_t>(current_)].burst-- <= 0) {
    current_ = below(shape_.threads);
    threads_[static_cast<std::size_t>(current_)].burst = 5 + below(60);
  }
  Thread& thread = threads_[static_cast<std::size_t>(current_)];
  if (below(100) < shape_.sync_percent) {
    const bool room = static_cast<int>(thread.held.size()) < shape_.nesting;
    // Take a lock as often as give one back; locks are taken in the order of their numbers, so nothing can
    // deadlock.
    if (thread.held.empty() || (room && below(4) == 0)) {
      const int lowest = thread.held.empty() ? 0 : thread.held.back() + 1;
      for (int tries = 0; tries < 4 && lowest < shape_.locks; ++tries) {
        const int lock = lowest + below(shape_.locks - lowest);
        if (owner_[static_cast<std::size_t>(lock)] != -1) continue;
        owner_[static_cast<std::size_t>(lock)] = current_;
        thread.held.push_back(lock);
        return access(current_, EventKind::kAcquire, static_cast<std::uint64_t>(lock),
                      static_cast<std::uint32_t>(lock) % sites);
      }
    }
    if (!thread.held.empty()) {
      const int lock = thread.held.back();
      thread.held.pop_back();
      owner_[static_cast<std::size_t>(lock)] = -1;
      return access(current_, EventKind::kRelease, static_cast<std::uint64_t>(lock),
                    static_cast<std::uint32_t>(lock) % sites);
    }
  }
  const EventKind kind = below(3) == 0 ? EventKind::kWrite : EventKind::kRead;
  const int what = below(100);
  if (!thread.held.empty() && what < 55) {
    const int lock = thread.held[static_cast<std::size_t>(below(static_cast<int>(thread.held.size())))];
    const std::uint64_t location =
        hot_start_ + static_cast<std::uint64_t>(lock * shape_.hot_per_lock + below(shape_.hot_per_lock));
    return access(current_, kind, location,
                  static_cast<std::uint32_t>(location * 3 + static_cast<std::uint64_t>(below(3))) % sites);
  }
  if (what < 85 || shape_.read_only == 0) {
    // Mostly the thread's recent data, sometimes any of it.
    const int range = below(10) < 8 ? std::min(500, shape_.cold_per_thread) : shape_.cold_per_thread;
    const std::uint64_t location =
        cold_start_ + static_cast<std::uint64_t>(current_ * shape_.cold_per_thread + below(range));
    return access(current_, kind, location, static_cast<std::uint32_t>(location) % sites);
  }
  const std::uint64_t location = read_only_start_ + static_cast<std::uint64_t>(below(shape_.read_only));
  return access(current_, EventKind::kRead, location, static_cast<std::uint32_t>(location * 7) % sites);
}

Result<std::size_t> Generator::read(std::span<Event> out) {
  std::size_t count = 0;
  while (count < out.size() && position_ < shape_.events) {
    out[count++] = next_event();
    ++position_;
  }
  return count;
}

}  // namespace deadheat::bench
