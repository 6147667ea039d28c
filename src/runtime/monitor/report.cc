#include "runtime/monitor/report.h"

#include "runtime/monitor/pace.h"
#include "runtime/platform/benign_ranges.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/modules.h"
#include "runtime/platform/options.h"
#include "runtime/platform/pair_table.h"
#include "runtime/platform/print.h"
#include "runtime/platform/raw_log.h"
#include "runtime/platform/spinlock.h"

namespace deadheat::monitor {
namespace {

using platform::raw_write;
using platform::SpinGuard;
using platform::Text;

platform::Spinlock report_lock;

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

void write_thread(ThreadInfo& info) {
  if (info.reported) return;
  info.reported = true;
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

void report_race(Thread* thread, const MonitorCopy& own, uint32_t number, const MonitorCopy& other) {
  Place first{own.stack.pcs[0], own.type};
  Place second{other.stack.pcs[0], other.type};
  if (second.pc < first.pc || (second.pc == first.pc && second.type < first.type)) {
    Place const swap = first;
    first = second;
    second = swap;
  }
  uint64_t const key = key_of(first, second);
  Recent& seen = recent[key % 256];
  if (__atomic_load_n(&seen.key, __ATOMIC_RELAXED) == key) return;

  uintptr_t const address = own.address > other.address ? own.address : other.address;
  SpinGuard const guard(report_lock);
  if (benign_ranges.contains(address)) {
    ++benign_races;
    return;
  }
  Thread* const other_thread = thread_of_number(number);
  if (other_thread == nullptr) return;
  bool fresh = false;
  size_t const index = known.note(first, second, &fresh);
  if (!fresh) {
    // Often enough to be counted roughly, seldom enough to cost nothing.
    if (known[index].instances >= 100) __atomic_store_n(&seen.key, key, __ATOMIC_RELAXED);
    return;
  }
  platform::raw_write_modules();
  write_thread(other_thread->info);
  write_thread(thread->info);
  Text line;
  line.append("{\"t\":\"race\",\"id\":%zu,\"detector\":\"monitor\",\"addr\":\"0x%lx\",", index, address);
  append_variable(line, address);
  line.append(",\"accesses\":[");
  append_access(line, thread->info.id, own);
  line.append_char(',');
  append_access(line, other_thread->info.id, other);
  line.append("],\"why\":");
  Text why;
  why.append(
      "thread %u and thread %u were in interference-free regions of these accesses at the same moment: "
      "neither "
      "released or acquired anything that could order them",
      thread->info.id, other_thread->info.id);
  line.append_json_string(why.c_str());
  line.append("}\n");
  raw_write(line);
}

void trace_monitor(const Thread* thread, const char* what, AccessType type, uintptr_t address, uint64_t size,
                   uintptr_t pc) {
  SpinGuard const guard(report_lock);
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
  SpinGuard const guard(report_lock);
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
  line.append(
      "{\"t\":\"end\",\"exit\":%d,\"statistics\":{\"threads\":%u,\"monitor_starts\":%lu,\"points\":%lu,",
      status, threads_created(), s.starts, s.points);
  line.append("\"ranges\":%lu,\"dropped\":%lu,\"replaced\":%lu,\"lost\":%lu,\"stops\":%lu,\"invisible\":%lu,",
              s.ranges, s.dropped, s.replaced, s.lost, s.releases, s.invisible);
  line.append(
      "\"benign\":%lu,\"windows\":%lu,\"open_us\":%lu,\"cycles\":%lu,\"runtime_bytes_mapped\":%lu}}\n",
      benign_races, pace.windows, pace.open_us, s.cycles, platform::mapped_bytes());
  raw_write(line);
}

void expect_benign(uintptr_t address, size_t size) {
  SpinGuard const guard(report_lock);
  benign_ranges.add(address, size);
}

void report_fork_preparing() { report_lock.lock(); }
void report_fork_parent() { report_lock.unlock(); }
void report_fork_child() {
  platform::raw_log_fork_child();
  known.clear();
  for (Recent& r : recent) r = {};
  if (current_thread != nullptr) current_thread->info.reported = false;
  report_lock.unlock();
}

}  // namespace deadheat::monitor
