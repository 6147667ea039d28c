// Strong integers: a thread, a clock and a site are all numbers, and must never be mistaken for one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace deadheat {

template <class Tag, class Rep>
class StrongId {
 public:
  using rep = Rep;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }
  // For indexing dense tables, the one place where an id is just a number.
  constexpr std::size_t index() const { return static_cast<std::size_t>(value_); }

  friend constexpr auto operator<=>(StrongId, StrongId) = default;

 private:
  Rep value_ = 0;
};

// Threads, in order of creation; 0 is the main thread.
using ThreadId = StrongId<struct ThreadIdTag, std::uint32_t>;
// A place in the program's code.
using SiteId = StrongId<struct SiteIdTag, std::uint32_t>;
// A thread's logical time.
using Clock = StrongId<struct ClockTag, std::uint32_t>;
// A location, lock, message or function of a trace: an address of the recorded program or an interned name.
// Never dereferenced.
using ObjectId = StrongId<struct ObjectIdTag, std::uint64_t>;
// The position of an event in its trace, from 0.
using EventIndex = StrongId<struct EventIndexTag, std::uint64_t>;

}  // namespace deadheat

template <class Tag, class Rep>
struct std::hash<deadheat::StrongId<Tag, Rep>> {
  std::size_t operator()(deadheat::StrongId<Tag, Rep> id) const noexcept {
    // Fibonacci hashing: dense ids and aligned addresses both spread over the high bits.
    return static_cast<std::size_t>(static_cast<std::uint64_t>(id.value()) * 0x9E3779B97F4A7C15ull >> 7);
  }
};
