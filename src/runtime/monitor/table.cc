#include "runtime/monitor/table.h"

#include "runtime/monitor/report.h"
#include "runtime/platform/options.h"

namespace deadheat::monitor {
namespace {

// --- Words
// ---------------------------------------------------------------------------------------------------------------

constexpr unsigned kSetBits = 14;
constexpr unsigned kWays = 4;
constexpr unsigned kNumberShift = 9;
constexpr unsigned kGranuleShift = 20;
constexpr uint64_t kStrong = uint64_t{1} << 8;
constexpr uint64_t kBytes = 0xff;
constexpr uintptr_t kAddressEnd = uintptr_t{1} << 47;
static_assert(kNumbers == 1u << (kGranuleShift - kNumberShift));

struct alignas(32) Set {
  uint64_t words[kWays];
};
Set table[1u << kSetBits];

uint64_t granule_of(uint64_t word) { return word >> kGranuleShift; }
uint32_t number_of(uint64_t word) { return (word >> kNumberShift) & (kNumbers - 1); }

Set& set_of(uint64_t granule) { return table[(granule * 0x9E3779B97F4A7C15ull) >> (64 - kSetBits)]; }

uint64_t load(const uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

// --- Ranges
// --------------------------------------------------------------------------------------------------------------

struct Range {
  uint64_t owner;  // which activation of which thread: count << 12 | number << 1 | strong; 0: nobody's
  uintptr_t begin;
  uintptr_t end;
  uint64_t stride;  // as in Comb
  uint64_t width;
  Monitor* monitor;
};
constexpr unsigned kRanges = 64;
constexpr unsigned kRangesOfOne = 8;  // of one thread
// Points that overlap a range are looked for at both its ends: where two threads' shares of an array meet is
// where mistakes are made. In the middle, among the monitors of so many other threads.
constexpr uint64_t kLookedAtEach = 24;
constexpr unsigned kThreadsLookedAt = 8;
Range ranges[kRanges];
uint64_t ranges_active;  // one bit each; set after the range is written, cleared before it is written again
uint64_t ranges_taken;

// --- The thread's own records
// -----------------------------------------------------------------------------------------------

void capture(Stack& stack, const Thread* thread, const StartRequest& request) {
  stack.pcs[0] = request.from.pc;
  stack.count = 1;
  // Not on a signal stack.
  if (request.from.sp >= thread->stack_low && request.from.sp < thread->stack_high)
    stack.count = walk(request.from, thread->stack_high, stack.pcs, Stack::kMax);
}

void begin_writing(Monitor& monitor) {
  __atomic_store_n(&monitor.version, monitor.version + 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
}
void end_writing(Monitor& monitor) {
  __atomic_store_n(&monitor.version, monitor.version + 1, __ATOMIC_RELEASE);
}

void describe(Monitor& monitor, const Thread* thread, const StartRequest& request) {
  begin_writing(monitor);
  monitor.type = request.type;
  monitor.prompt = request.prompt;
  monitor.address = request.address;
  monitor.size = request.size;
  monitor.stride = static_cast<uint32_t>(request.stride);
  monitor.width = static_cast<uint32_t>(request.width);
  capture(monitor.stack, thread, request);
  end_writing(monitor);
}

void trace_start(const Thread* thread, const StartRequest& request) {
  if (__builtin_expect(platform::options().monitor.trace, 0))
    trace_monitor(thread, "start", request.type, request.address, request.size, request.from.pc);
}

void stop(Thread* thread, Monitor& monitor) {
  if (__builtin_expect(platform::options().monitor.trace, 0) &&
      (monitor.range != 0 || monitor.slot != nullptr))
    trace_monitor(thread, "stop", monitor.type, monitor.address, monitor.size, monitor.stack.pcs[0]);
  if (monitor.range != 0) {
    unsigned const i = monitor.range - 1u;
    __atomic_fetch_and(&ranges_active, ~(uint64_t{1} << i), __ATOMIC_RELEASE);
    __atomic_store_n(&ranges[i].owner, uint64_t{0}, __ATOMIC_RELEASE);
    __atomic_fetch_and(&ranges_taken, ~(uint64_t{1} << i), __ATOMIC_RELEASE);
    monitor.range = 0;
  } else if (monitor.slot != nullptr) {
    __atomic_store_n(monitor.slot, uint64_t{0}, __ATOMIC_RELEASE);
    __atomic_store_n(&monitor.slot, nullptr, __ATOMIC_RELEASE);
  } else {
    return;
  }
  monitor.kept = false;
  --thread->hot->active;
}

// A record for a new monitor. The oldest makes room.
Monitor& take_record(Thread* thread) {
  if (thread->count < Thread::kMonitors) return thread->monitors[thread->count++];
  Monitor& oldest = thread->monitors[thread->next];
  thread->next = (thread->next + 1) % Thread::kMonitors;
  if (oldest.slot != nullptr || oldest.range != 0) ++thread->statistics.replaced;
  stop(thread, oldest);
  return oldest;
}

Monitor* record_of(Thread* thread, const uint64_t* slot) {
  for (unsigned i = thread->count; i-- > 0;) {
    if (thread->monitors[i].slot == slot) return &thread->monitors[i];
  }
  return nullptr;
}

// --- Races
// ---------------------------------------------------------------------------------------------------------------

// Copies what another thread wrote down about a monitor that `still_there` says is active.
template <class StillThere>
bool read_other(const Monitor& monitor, MonitorCopy* copy, Comb* bytes, StillThere still_there) {
  uint32_t const version = __atomic_load_n(&monitor.version, __ATOMIC_ACQUIRE);
  if ((version & 1) != 0) return false;
  copy->type = monitor.type;
  copy->prompt = monitor.prompt;
  copy->address = __atomic_load_n(&monitor.address, __ATOMIC_RELAXED);
  copy->size = __atomic_load_n(&monitor.size, __ATOMIC_RELAXED);
  *bytes = {copy->address, copy->size, __atomic_load_n(&monitor.stride, __ATOMIC_RELAXED),
            __atomic_load_n(&monitor.width, __ATOMIC_RELAXED)};
  copy->stack = monitor.stack;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&monitor.version, __ATOMIC_RELAXED) == version && still_there() &&
         copy->stack.count <= Stack::kMax;
}

// Of a range with gaps, a report shows the access that met the other.
void race(Thread* thread, const StartRequest& request, Sighting& other_side, const Comb& others) {
  uintptr_t byte = 0;
  if (!first_common(request.bytes(), others, &byte)) {
    ++thread->statistics.lost;
    return;
  }
  Comb const met = request.bytes().tooth_at(byte);
  Comb const met_by = others.tooth_at(byte);
  MonitorCopy own{};
  own.type = request.type;
  own.prompt = request.prompt;
  own.address = met.address;
  own.size = met.size;
  other_side.access.address = met_by.address;
  other_side.access.size = met_by.size;
  capture(own.stack, thread, request);
  report_race(thread, own, other_side);
}

void race_with_point(Thread* thread, const StartRequest& request, const uint64_t& slot, uint64_t word) {
  Thread* const owner = thread_of_number(number_of(word));
  if (owner == nullptr) return;
  Sighting seen{owner, number_of(word), owner->info.id, interruptions_of(*owner), {}};
  for (const Monitor& monitor : owner->monitors) {
    if (__atomic_load_n(&monitor.slot, __ATOMIC_RELAXED) != &slot) continue;
    // First the word, then the record: if the word is a later monitor's, this record has been given up
    // before.
    Comb bytes{};
    if (read_other(monitor, &seen.access, &bytes, [&] {
          return load(slot) == word && __atomic_load_n(&monitor.slot, __ATOMIC_RELAXED) == &slot;
        }))
      race(thread, request, seen, bytes);
    else
      ++thread->statistics.lost;
    return;
  }
  ++thread->statistics.lost;
}

bool conflicts(uint64_t word, uint64_t granule, uint64_t bytes, bool strong, uint32_t self) {
  return granule_of(word) == granule && number_of(word) != self && (word & bytes) != 0 &&
         (strong || (word & kStrong) != 0);
}

void look_at_points(Thread* thread, const StartRequest& request, uint64_t granule, uint64_t bytes) {
  Set& set = set_of(granule);
  bool const strong = is_write(request.type);
  for (uint64_t& slot : set.words) {
    uint64_t const word = load(slot);
    if (__builtin_expect(conflicts(word, granule, bytes, strong, thread->number), 0))
      race_with_point(thread, request, slot, word);
  }
}

void look_at_ranges(Thread* thread, const StartRequest& request) {
  Comb const own = request.bytes();
  for (uint64_t left = load(ranges_active); left != 0; left &= left - 1) {
    Range& range = ranges[__builtin_ctzll(left)];
    uint64_t const owner = load(range.owner);
    uint32_t const number = static_cast<uint32_t>(owner >> 1) & (kNumbers - 1);
    if (number == 0 || number == thread->number) continue;
    if ((owner & 1) == 0 && !is_write(request.type)) continue;
    uintptr_t const begin = __atomic_load_n(&range.begin, __ATOMIC_RELAXED);
    uintptr_t const end = __atomic_load_n(&range.end, __ATOMIC_RELAXED);
    if (begin >= own.end() || end <= own.address) continue;
    Comb const there{begin, end - begin, __atomic_load_n(&range.stride, __ATOMIC_RELAXED),
                     __atomic_load_n(&range.width, __ATOMIC_RELAXED)};
    uintptr_t byte = 0;
    if (!first_common(own, there, &byte)) continue;
    Monitor* const monitor = __atomic_load_n(&range.monitor, __ATOMIC_RELAXED);
    Thread* const other = thread_of_number(number);
    if (other == nullptr) continue;
    Sighting seen{other, number, other->info.id, interruptions_of(*other), {}};
    Comb bytes{};
    if (monitor != nullptr &&
        read_other(*monitor, &seen.access, &bytes, [&] { return load(range.owner) == owner; }))
      race(thread, request, seen, bytes);
    else
      ++thread->statistics.lost;
  }
}

// The bytes of the granule that [address, address + size) touches.
uint64_t bytes_in(uint64_t granule, uintptr_t address, uint64_t size) {
  uintptr_t const base = granule << 3;
  uintptr_t const from = address > base ? address - base : 0;
  uintptr_t const to = address + size < base + 8 ? address + size - base : 8;
  return (kBytes >> (8 - (to - from))) << from;
}

// One granule of a point.
void start_granule(Thread* thread, const StartRequest& request, uint64_t granule, bool keep) {
  bool const strong = is_write(request.type);
  uint64_t const bytes = bytes_in(granule, request.address, request.size);
  uint64_t const own =
      granule << kGranuleShift | uint64_t{thread->number} << kNumberShift | (strong ? kStrong : 0) | bytes;
  Set& set = set_of(granule);
  uint64_t* free = nullptr;
  uint64_t* weaker = nullptr;  // some of the same bytes, monitored no more strongly
  for (uint64_t& slot : set.words) {
    uint64_t const word = load(slot);
    if (word == 0) {
      free = &slot;
    } else if (granule_of(word) == granule) {
      if (number_of(word) != thread->number) {
        if (__builtin_expect(conflicts(word, granule, bytes, strong, thread->number), 0))
          race_with_point(thread, request, slot, word);
      } else if ((word & bytes) == bytes && (!strong || (word & kStrong) != 0)) {
        if (!keep) return;  // monitored already
        if (Monitor* const record = record_of(thread, &slot)) {
          // What it stands for from here on is the access that comes.
          describe(*record, thread, request);
          record->kept = true;
          __atomic_store_n(&slot, own, __ATOMIC_RELEASE);
          record->word = own;
        }
        return;
      } else if ((word & bytes) == (word & kBytes) && (strong || (word & kStrong) == 0)) {
        weaker = &slot;
      }
    }
  }
  if (weaker != nullptr) {
    if (Monitor* const record = record_of(thread, weaker)) {
      describe(*record, thread, request);
      record->kept = keep;
      record->word = own;
      __atomic_exchange_n(weaker, own, __ATOMIC_SEQ_CST);
      look_at_points(thread, request, granule, bytes);
    }
    return;
  }
  if (free == nullptr) {
    ++thread->statistics.dropped;
    return;
  }
  Monitor& record = take_record(thread);
  describe(record, thread, request);
  record.word = own;
  record.kept = keep;
  __atomic_store_n(&record.slot, free, __ATOMIC_RELAXED);
  uint64_t expected = 0;
  if (!__atomic_compare_exchange_n(free, &expected, own, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    // Somebody was faster. The record stays empty until the next release.
    __atomic_store_n(&record.slot, nullptr, __ATOMIC_RELAXED);
    ++thread->statistics.dropped;
    return;
  }
  ++thread->hot->active;
  ++thread->statistics.points;
  trace_start(thread, request);
  // Who published since we looked?
  for (uint64_t& slot : set.words) {
    if (&slot == free) continue;
    uint64_t const word = load(slot);
    if (__builtin_expect(conflicts(word, granule, bytes, strong, thread->number), 0))
      race_with_point(thread, request, slot, word);
  }
}

void start(Thread* thread, const StartRequest& request, bool keep) {
  ++thread->statistics.starts;
  if (request.address + request.size >= kAddressEnd) return;
  uint64_t const last = (request.address + request.size - 1) >> 3;
  for (uint64_t granule = request.address >> 3; granule <= last; ++granule)
    start_granule(thread, request, granule, keep);
  if (__builtin_expect(load(ranges_active) != 0, 0)) look_at_ranges(thread, request);
}

void stop_some(Thread* thread, bool even_kept) {
  unsigned left = 0;
  for (unsigned i = 0; i < thread->count; ++i) {
    Monitor& monitor = thread->monitors[i];
    if (monitor.kept && !even_kept) {
      ++left;
      continue;
    }
    stop(thread, monitor);
  }
  // Records do not move: others look at them. Only an empty list starts from its beginning again.
  if (left == 0) thread->count = thread->next = 0;
  ++thread->statistics.releases;
}

}  // namespace

void start_point(Thread* thread, const StartRequest& request) { start(thread, request, false); }

void keep_point(Thread* thread, const StartRequest& request) {
  start(thread, request, true);
  thread->hot->kept = kDhMonitorKept | kDhMonitorAhead;
}

void end_keep(Thread* thread) {
  thread->hot->kept = 0;
  for (unsigned i = 0; i < thread->count; ++i) thread->monitors[i].kept = false;
}

namespace {

// A monitor that is active already and says as much.
bool covers(const Monitor& monitor, const StartRequest& request) {
  if (monitor.range == 0 || (is_write(request.type) && monitor.type != AccessType::kWrite)) return false;
  if (monitor.stride != 0 && (monitor.address != request.address || monitor.size != request.size ||
                              monitor.stride != request.stride || monitor.width < request.width))
    return false;
  return monitor.address <= request.address &&
         request.address + request.size <= monitor.address + monitor.size;
}

// The bytes of the granule that the request is about.
uint64_t bytes_of(const StartRequest& request, uint64_t granule) {
  if (request.stride == 0) return bytes_in(granule, request.address, request.size);
  uint64_t bytes = 0;
  for (unsigned i = 0; i < 8; ++i)
    bytes |= request.bytes().contains((granule << 3) + i) ? uint64_t{1} << i : 0;
  return bytes;
}

void look_at_granules(Thread* thread, const StartRequest& request, uintptr_t begin, uintptr_t end) {
  for (uint64_t granule = begin >> 3; granule <= (end - 1) >> 3; ++granule)
    look_at_points(thread, request, granule, bytes_of(request, granule));
}

// Between the ends there may be millions of granules, but a thread has few monitors: those are gone through,
// of other threads in turn. A record only says where to look; what counts is the word in the table.
void look_at_others(Thread* thread, const StartRequest& request) {
  Comb const own = request.bytes();
  unsigned looked_at = 0;
  for (uint32_t i = 1; i < kNumbers && looked_at < kThreadsLookedAt; ++i) {
    thread->looked_at = 1 + thread->looked_at % (kNumbers - 1);
    const Thread* const other = thread_of_number(thread->looked_at);
    if (other == nullptr || other == thread) continue;
    uint32_t const count = __atomic_load_n(&other->count, __ATOMIC_RELAXED);
    if (count == 0) continue;
    ++looked_at;
    for (uint32_t k = 0; k < count && k < Thread::kMonitors; ++k) {
      const Monitor& monitor = other->monitors[k];
      if (__atomic_load_n(&monitor.slot, __ATOMIC_RELAXED) == nullptr) continue;
      uintptr_t const address = __atomic_load_n(&monitor.address, __ATOMIC_RELAXED);
      uint64_t const size = __atomic_load_n(&monitor.size, __ATOMIC_RELAXED);
      uintptr_t byte = 0;
      if (size == 0 || size > kDhMonitorMaxPoint || !first_common(own, {address, size, 0, 0}, &byte))
        continue;
      look_at_granules(thread, request, byte & ~uintptr_t{7}, (byte | 7) + 1);
    }
  }
}

}  // namespace

bool start_range(Thread* thread, const StartRequest& request) {
  if (request.size == 0) return true;
  if (request.size <= kDhMonitorMaxPoint && request.stride == 0) {
    start_point(thread, request);
    return true;
  }
  ++thread->statistics.starts;
  uintptr_t const begin = request.address;
  uintptr_t const end = begin + request.size;
  if (end >= kAddressEnd || end < begin) return true;
  bool const strong = is_write(request.type);

  unsigned own = 0;
  for (unsigned i = 0; i < thread->count; ++i) {
    const Monitor& monitor = thread->monitors[i];
    if (monitor.range != 0) ++own;
    if (covers(monitor, request)) return true;
  }
  uint64_t taken = load(ranges_taken);
  unsigned place = kRanges;
  while (own < kRangesOfOne && taken != ~uint64_t{0}) {
    place = static_cast<unsigned>(__builtin_ctzll(~taken));
    if (__atomic_compare_exchange_n(&ranges_taken, &taken, taken | uint64_t{1} << place, false,
                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      break;
    place = kRanges;
  }
  if (place != kRanges) {
    Monitor& record = take_record(thread);
    describe(record, thread, request);
    record.kept = false;
    record.range = static_cast<uint8_t>(place + 1);
    Range& range = ranges[place];
    __atomic_store_n(&range.begin, begin, __ATOMIC_RELAXED);
    __atomic_store_n(&range.end, end, __ATOMIC_RELAXED);
    __atomic_store_n(&range.stride, request.stride, __ATOMIC_RELAXED);
    __atomic_store_n(&range.width, request.width, __ATOMIC_RELAXED);
    __atomic_store_n(&range.monitor, &record, __ATOMIC_RELAXED);
    __atomic_store_n(&range.owner,
                     ++thread->activations << 12 | uint64_t{thread->number} << 1 | (strong ? 1 : 0),
                     __ATOMIC_RELEASE);
    __atomic_fetch_or(&ranges_active, uint64_t{1} << place, __ATOMIC_SEQ_CST);
    ++thread->hot->active;
    ++thread->statistics.ranges;
    if (request.stride != 0) ++thread->statistics.strided;
    trace_start(thread, request);
  } else {
    ++thread->statistics.dropped;
  }
  look_at(thread, request);
  return place != kRanges;
}

void start_strided(Thread* thread, const StartRequest& request) {
  // So few that points do: a thread has more of those.
  constexpr uint64_t kFew = 4;
  constexpr uint64_t kEach = 8;
  Comb const all = request.bytes();
  uint64_t const count = all.teeth();
  if (all.is_stretch()) {
    start_range(thread, request);
    return;
  }
  bool const is_long = count > kFew && all.stride <= ~uint32_t{0};
  if (is_long && start_range(thread, request)) return;
  // All, or if there is no range to be had, some from either end, which stand for all.
  StartRequest tooth = request;
  tooth.stride = tooth.width = 0;
  tooth.size = request.width;
  for (uint64_t i = 0; i < count; ++i) {
    if (i == kEach && count > 2 * kEach) i = count - kEach;
    tooth.address = request.address + i * request.stride;
    start_range(thread, tooth);
  }
}

void look_at(Thread* thread, const StartRequest& request) {
  uintptr_t const end = request.address + request.size;
  if (request.size == 0 || end >= kAddressEnd || end < request.address) return;
  if (load(ranges_active) != 0) look_at_ranges(thread, request);
  if (request.size <= 2 * kLookedAtEach * 8) return look_at_granules(thread, request, request.address, end);
  look_at_granules(thread, request, request.address, request.address + kLookedAtEach * 8);
  look_at_granules(thread, request, end - kLookedAtEach * 8, end);
  look_at_others(thread, request);
}

void stop_all(Thread* thread) { stop_some(thread, false); }
void stop_all_even_kept(Thread* thread) { stop_some(thread, true); }

void stop_within(Thread* thread, uintptr_t begin, uintptr_t end) {
  for (unsigned i = 0; i < thread->count; ++i) {
    Monitor& monitor = thread->monitors[i];
    if (monitor.address < end && begin < monitor.address + monitor.size) stop(thread, monitor);
  }
}

void table_fork_child() {
  for (Set& set : table) {
    for (uint64_t& word : set.words) word = 0;
  }
  for (Range& range : ranges) range = {};
  ranges_active = ranges_taken = 0;
}

}  // namespace deadheat::monitor
