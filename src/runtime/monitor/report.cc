#include "runtime/monitor/report.h"

#include "runtime/monitor/pace.h"
#include "runtime/platform/benign_ranges.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/modules.h"
#include "runtime/platform/options.h"
#include "runtime/platform/pair_table.h"
#include "runtime/platform/print.h"
#include "runtime/platform/raw_log.h"
#include "runtime/platform/signal_mask.h"
#include "runtime/platform/spinlock.h"

namespace deadheat::monitor {
namespace {

using platform::raw_write;
using platform::Text;

platform::Spinlock report_lock;

// With all signals blocked, glibc's own for cancelling among them: a thread that is cancelled asynchronously
// while it holds the lock would need it again on its way out.
class ReportGuard {
 public:
  ReportGuard() {
    platform::block_all_signals(&mask_);
    report_lock.lock();
  }
  ~ReportGuard() {
    report_lock.unlock();
    platform::set_signal_mask(mask_);
  }
  ReportGuard(const ReportGuard&) = delete;
  ReportGuard& operator=(const ReportGuard&) = delete;

 private:
  uint64_t mask_ = 0;
};

// --- One finding per pair of places
// -------------------------------------------------------------------------------------

using Place = platform::Place<AccessType>;
platform::PairTable<AccessType> known;

// In front of the table and its lock, so that a race that is found again and again costs next to nothing.
struct Recent {
  uint64_t key;
  uint64_t index;
};
Recent recent[256];

uint64_t key_of(const Place& a, const Place& b) {
  uint64_t const one = a.pc * 4 + static_cast<uint64_t>(a.type);
  uint64_t const two = b.pc * 4 + static_cast<uint64_t>(b.type);
  return one * 0x9E3779B97F4A7C15ull ^ two * 0xC2B2AE3D27D4EB4Full;
}

// --- Races the program declared benign
// ------------------------------------------------------------------------------

platform::BenignRanges benign_ranges;
uint64_t benign_races;

// --- Lines
// -------------------------------------------------------------------------------------------------------------

void append_stack(Text& text, const Stack& stack) {
  text.append_char('[');
  for (unsigned i = 0; i < stack.count; ++i) {
    // Code that was not built by the wrappers may use the frame pointer for something else: then the walk
    // ends where it stops making sense.
    if (i > 1 && platform::module_at(stack.pcs[i]) == nullptr) break;
    text.append("%s\"0x%lx\"", i != 0 ? "," : "", stack.pcs[i]);
  }
  text.append_char(']');
}

// Whose lines were written. A number that takes another's place makes that one's line be written again,
// should it be needed again.
constexpr unsigned kWritten = 1024;
uint32_t written[kWritten];  // id + 1

void write_thread(const ThreadInfo& info) {
  uint32_t& last = written[info.id % kWritten];
  if (last == info.id + 1) return;
  last = info.id + 1;
  Text line;
  line.append("{\"t\":\"thread\",\"id\":%u,\"name\":", info.id);
  line.append_json_string(info.name);
  line.append(",\"os\":%d", info.os_id);
  if (info.id != 0) line.append(",\"parent\":%u", info.parent);
  line.append(",\"stack\":");
  append_stack(line, info.created);
  line.append("}\n");
  raw_write(line);
}

const char* name_of(AccessType type) {
  switch (type) {
    case AccessType::kRead:
      return "read";
    case AccessType::kWrite:
      return "write";
    case AccessType::kFree:
      return "free";
  }
  return "";
}

void append_access(Text& line, uint32_t thread, const MonitorCopy& access) {
  line.append("{\"thread\":%u,\"op\":\"%s\",\"size\":%zu,\"addr\":\"0x%lx\",\"stack\":", thread,
              name_of(access.type), access.size, access.address);
  append_stack(line, access.stack);
  line.append(",\"locks\":[]}");
}

void append_variable(Text& line, uintptr_t address) {
  if (platform::module_at(address) != nullptr) {
    line.append("\"var\":{\"kind\":\"global\"}");
    return;
  }
  int64_t const owner = stack_owner(address);
  if (owner >= 0)
    line.append("\"var\":{\"kind\":\"stack\",\"thread\":%u}", static_cast<unsigned>(owner));
  else
    line.append("\"var\":{\"kind\":\"unknown\"}");
}

}  // namespace

namespace {

// --- Races that wait for their accesses
// ------------------------------------------------------------------------------

struct Side {
  Thread* thread;  // only to be touched while `waits` and its id says that it is still the same
  ThreadInfo info;
  uint32_t interruptions;
  bool waits;
  MonitorCopy access;
};
struct Waiting {
  bool used;
  uint64_t key;
  uintptr_t address;
  Side sides[2];
};
// Beyond so many, the oldest is forgotten.
constexpr unsigned kWaiting = 32;
Waiting waiting[kWaiting];
unsigned next_waiting;

void set_side(Side& side, Thread* thread, uint32_t interruptions, const MonitorCopy& access) {
  side.thread = thread;
  side.info = thread->info;
  side.interruptions = interruptions;
  side.access = access;
  side.waits = true;
  __atomic_fetch_add(&thread->waiting, 1, __ATOMIC_RELAXED);
}

void unset_side(Side& side) {
  if (!side.waits) return;
  side.waits = false;
  // A thread that has ended took its own sides back before.
  __atomic_fetch_sub(&side.thread->waiting, 1, __ATOMIC_RELAXED);
}

void forget(Waiting& race) {
  for (Side& side : race.sides) unset_side(side);
  race.used = false;
}

Place place_of(const MonitorCopy& access) { return {access.stack.pcs[0], access.type}; }

void tell(Waiting& race) {
  bool fresh = false;
  Side& own = race.sides[0];
  Side& other = race.sides[1];
  size_t const index = known.note(place_of(own.access), place_of(other.access), &fresh);
  if (!fresh) return;
  platform::raw_write_modules();
  write_thread(other.info);
  write_thread(own.info);
  Text line;
  line.append("{\"t\":\"race\",\"id\":%zu,\"detector\":\"monitor\",\"addr\":\"0x%lx\",", index, race.address);
  append_variable(line, race.address);
  line.append(",\"accesses\":[");
  append_access(line, own.info.id, own.access);
  line.append_char(',');
  append_access(line, other.info.id, other.access);
  line.append("],\"why\":");
  Text why;
  why.append(
      "thread %u and thread %u were in interference-free regions of these accesses at the same moment: "
      "neither "
      "released or acquired anything that could order them",
      own.info.id, other.info.id);
  line.append_json_string(why.c_str());
  line.append("}\n");
  raw_write(line);
}

// `is_made(side)` of the thread's sides; told if that was the last one.
template <class IsMade>
void settle(Thread* thread, IsMade is_made) {
  ReportGuard const guard;
  for (Waiting& race : waiting) {
    if (!race.used) continue;
    for (Side& side : race.sides) {
      if (!side.waits || side.thread != thread) continue;
      if (side.interruptions != thread->interruptions) {
        forget(race);
        break;
      }
      if (is_made(side)) unset_side(side);
    }
    if (!race.used || race.sides[0].waits || race.sides[1].waits) continue;
    tell(race);
    race.used = false;
  }
  if (thread->waiting == 0)
    thread->hot->active &= ~kDhMonitorWaits;
  else
    thread->hot->active |= kDhMonitorWaits;
}

}  // namespace

void made_all(Thread* thread) {
  settle(thread, [](const Side&) { return true; });
}

void made_prompt(Thread* thread, uintptr_t pc) {
  settle(thread, [&](const Side& side) { return side.access.prompt && side.access.stack.pcs[0] == pc; });
}

namespace {
// REQUIRES: report_lock.
void give_up(Thread* thread) {
  __atomic_store_n(&thread->interruptions, thread->interruptions + 1, __ATOMIC_RELEASE);
  if (thread->waiting == 0) return;
  for (Waiting& race : waiting)
    if (race.used)
      for (Side& side : race.sides)
        if (side.waits && side.thread == thread) {
          forget(race);
          break;
        }
  thread->waiting = 0;
  thread->hot->active &= ~kDhMonitorWaits;
}
}  // namespace

void made_nothing(Thread* thread) {
  ReportGuard const guard;
  give_up(thread);
}

void ends_without(Thread* thread) {
  ReportGuard const guard;
  give_up(thread);
  thread_gives_up_number(thread);
}

void report_race(Thread* thread, const MonitorCopy& own, const Sighting& other) {
  Place first = place_of(own);
  Place second = place_of(other.access);
  if (second < first) {
    Place const swap = first;
    first = second;
    second = swap;
  }
  uint64_t const key = key_of(first, second);
  Recent& seen = recent[key % 256];
  if (__atomic_load_n(&seen.key, __ATOMIC_RELAXED) == key) return;

  uintptr_t const address = own.address > other.access.address ? own.address : other.access.address;
  ReportGuard const guard;
  if (benign_ranges.contains(address)) {
    ++benign_races;
    return;
  }
  if (known.contains(first, second)) {
    bool fresh = false;
    size_t const index = known.note(first, second, &fresh);
    // Often enough to be counted roughly, seldom enough to cost nothing.
    if (known[index].instances >= 100) __atomic_store_n(&seen.key, key, __ATOMIC_RELAXED);
    return;
  }
  // It ends under this lock: as long as it is held, a thread that has its number is alive.
  if (thread_of_number(other.number) != other.thread || other.thread->info.id != other.id) return;
  for (const Waiting& race : waiting)
    if (race.used && race.key == key) return;
  Waiting& race = waiting[next_waiting];
  next_waiting = (next_waiting + 1) % kWaiting;
  forget(race);
  race.used = true;
  race.key = key;
  race.address = address;
  set_side(race.sides[0], thread, thread->interruptions, own);
  set_side(race.sides[1], other.thread, other.interruptions, other.access);
  thread->hot->active |= kDhMonitorWaits;
}

void trace_monitor(const Thread* thread, const char* what, AccessType type, uintptr_t address, uint64_t size,
                   uintptr_t pc) {
  ReportGuard const guard;
  platform::raw_write_modules();
  Text line;
  line.append("{\"t\":\"monitor\",\"what\":\"%s\",\"thread\":%u,\"op\":\"%s\",", what, thread->info.id,
              name_of(type));
  line.append("\"addr\":\"0x%lx\",\"size\":%lu,\"pc\":\"0x%lx\",\"by\":\"0x%lx\"}\n", address, size, pc,
              thread->stopped_at);
  raw_write(line);
}

uint64_t races_reported() { return known.size(); }

void write_end(int status) {
  ReportGuard const guard;
  if (platform::options().log == nullptr && known.size() == 0) return;
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].instances == 1) continue;
    Text line;
    line.append("{\"t\":\"instances\",\"race\":%zu,\"count\":%lu}\n", i, known[i].instances);
    raw_write(line);
  }
  Statistics const s = total_statistics();
  Pace const pace = current_pace();
  Text line;
  line.append("{\"t\":\"end\",\"exit\":%d,\"statistics\":{\"threads\":%u,\"unmonitored_threads\":%u,", status,
              threads_created(), threads_unmonitored());
  line.append("\"monitor_starts\":%lu,\"points\":%lu,", s.starts, s.points);
  line.append(
      "\"ranges\":%lu,\"strided\":%lu,\"dropped\":%lu,\"replaced\":%lu,\"lost\":%lu,\"stops\":%lu,"
      "\"invisible\":%lu,",
      s.ranges, s.strided, s.dropped, s.replaced, s.lost, s.releases, s.invisible);
  line.append(
      "\"benign\":%lu,\"windows\":%lu,\"open_us\":%lu,\"cycles\":%lu,\"runtime_bytes_mapped\":%lu}}\n",
      benign_races, pace.windows, pace.open_us, s.cycles, platform::mapped_bytes());
  raw_write(line);
}

void expect_benign(uintptr_t address, size_t size) {
  ReportGuard const guard;
  benign_ranges.add(address, size);
}

void report_fork_preparing() { report_lock.lock(); }
void report_fork_parent() { report_lock.unlock(); }
void report_fork_child() {
  platform::raw_log_fork_child();
  known.clear();
  for (Recent& r : recent) r = {};
  for (uint32_t& id : written) id = 0;
  for (Waiting& race : waiting) race.used = false;
  if (current_thread != nullptr) {
    current_thread->waiting = 0;
    current_thread->hot->active &= ~kDhMonitorWaits;
  }
  report_lock.unlock();
}

}  // namespace deadheat::monitor
