#include "runtime/watch/race_report.h"

#include <sys/auxv.h>
#include <sys/uio.h>

#include "runtime/platform/benign_ranges.h"
#include "runtime/platform/c_strings.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/modules.h"
#include "runtime/platform/options.h"
#include "runtime/platform/own_stack.h"
#include "runtime/platform/pair_table.h"
#include "runtime/platform/print.h"
#include "runtime/platform/raw_log.h"
#include "runtime/platform/spinlock.h"
#include "runtime/platform/syscalls.h"
#include "runtime/watch/heap.h"
#include "runtime/watch/library_frames.h"
#include "runtime/watch/shadow.h"

namespace deadheat::watch {
namespace {

using platform::raw_write;
using platform::SpinGuard;
using platform::Text;

constexpr unsigned kMaxFrames = 256;

platform::Spinlock report_lock;

// --- One finding per pair of places
// -------------------------------------------------------------------------------------

using Place = platform::Place<AccessType>;
platform::PairTable<AccessType> known;

// Where a person looks: of an access that a library made, the call of the library.
Place place_of(uintptr_t pc, StackId frames, AccessType type) {
  constexpr unsigned kMost = 16;
  uintptr_t pcs[kMost];
  if (is_instrumented(pc)) return {pc, type};
  unsigned const count = frames_of(frames, pcs, kMost);
  for (unsigned i = 0; i < count; ++i) {
    if (is_instrumented(pcs[i])) return {pcs[i], type};
  }
  return {pc, type};
}

// Two places may be those of many variables: a function is handed one or the other. And a place may be in a
// function of a library's header that is not inlined, as all of std::vector's are at -O0. Then it is the
// callers that tell one race from another, and which of them are the program's own only its debug information
// says, which is not looked at here. So the same two places are told again where they race on other bytes,
// or are reached by other ways, and whoever reads the log makes one finding of what is one to a person, with
// all its variables. So many of them: what happens to everything, or is called from everywhere, is understood
// by then.
constexpr uint64_t kMostBytes = 64;      // by one way
constexpr uint64_t kMostTold = 1024;     // of one pair of places
platform::PairTable<AccessType> ways;    // on how many bytes each was told
platform::PairTable<AccessType> places;  // how often each pair was told

Place by_way(const Place& place, StackId frames) {
  constexpr unsigned kNear = 8;
  uintptr_t callers[kNear];
  unsigned const count = frames_of(frames, callers, kNear);
  Place way = place;
  for (unsigned i = 0; i < count; ++i) way.pc = way.pc * 0x9E3779B97F4A7C15ull + callers[i];
  return way;
}
Place on_byte(const Place& way, uintptr_t address) {
  return {way.pc * 0x9E3779B97F4A7C15ull + address, way.type};
}
// Has the pair been told so often? It is about to be told once more.
bool is_told_enough(platform::PairTable<AccessType>& pairs, const Place& a, const Place& b, uint64_t most) {
  bool is_new;
  return pairs[pairs.note(a, b, &is_new)].instances > most;
}

// Its number, and whether it is to be told.
size_t note_race(uintptr_t address, const Place& here, StackId here_frames, const Place& there,
                 StackId there_frames, bool* fresh) {
  Place const way = by_way(here, here_frames);
  Place const other_way = by_way(there, there_frames);
  Place const on_it = on_byte(way, address);
  Place const other_on_it = on_byte(other_way, address);
  if (known.contains(on_it, other_on_it)) return known.note(on_it, other_on_it, fresh);
  if (is_told_enough(ways, way, other_way, kMostBytes)) return known.note(way, other_way, fresh);
  if (is_told_enough(places, here, there, kMostTold)) return known.note(here, there, fresh);
  return known.note(on_it, other_on_it, fresh);
}

// --- Races the program declared benign
// ------------------------------------------------------------------------------

platform::BenignRanges benign_ranges;
uint64_t benign_races;

// --- Lines
// -------------------------------------------------------------------------------------------------------------

void need_module(uintptr_t pc) {
  if (platform::module_at(pc) == nullptr || !platform::raw_has_modules()) platform::raw_write_modules();
}

void append_frames(Text& text, uintptr_t pc, StackId frames) {
  uintptr_t pcs[kMaxFrames];
  unsigned const count = frames_of(frames, pcs, kMaxFrames);
  text.append_char('[');
  if (pc != 0) text.append("\"0x%lx\"", pc);
  for (unsigned i = 0; i < count; ++i) {
    need_module(pcs[i]);
    text.append("%s\"0x%lx\"", i != 0 || pc != 0 ? "," : "", pcs[i]);
  }
  text.append_char(']');
}

void append_stack(Text& text, StackId stack) {
  AccessInfo const info = access_of(stack, 0);
  need_module(info.pc);
  append_frames(text, info.pc, info.frames);
}

void write_thread(ThreadInfo* info) {
  for (; info != nullptr && !info->reported; info = info->id != 0 ? thread_info(info->parent) : nullptr) {
    info->reported = true;
    Text line;
    line.append("{\"t\":\"thread\",\"id\":%u,\"name\":", info->id);
    line.append_json_string(info->name);
    line.append(",\"os\":%d", info->os_id);
    if (info->id != 0) line.append(",\"parent\":%u", info->parent);
    line.append(",\"stack\":");
    if (info->created != 0)
      append_stack(line, info->created);
    else
      line.append("[]");
    line.append("}\n");
    raw_write(line);
  }
}

const char* name_of(AccessType type) {
  switch (type) {
    case AccessType::kRead:
      return "read";
    case AccessType::kWrite:
      return "write";
    case AccessType::kAtomicRead:
      return "atomic-read";
    case AccessType::kAtomicWrite:
      return "atomic-write";
    case AccessType::kFree:
      return "free";
  }
  return "read";
}

// The bytes of memory that an access is about, without trusting the address.
bool peek(uintptr_t address, size_t size, uint64_t* value) {
  if (size == 0 || size > 8) return false;
  *value = 0;
  iovec local{value, size};
  iovec remote{reinterpret_cast<void*>(address), size};
  long const n = platform::syscall6(SYS_process_vm_readv, platform::sys_getpid(),
                                    reinterpret_cast<long>(&local), 1, reinterpret_cast<long>(&remote), 1, 0);
  return n == static_cast<long>(size);
}

void append_lock(Text& text, bool first, uintptr_t lock, bool shared, StackId acquired) {
  text.append("%s{\"addr\":\"0x%lx\",\"shared\":%s,\"stack\":", first ? "" : ",", lock,
              shared ? "true" : "false");
  append_stack(text, acquired);
  text.append_char('}');
}

void append_locks(Text& text, LocksetId set) {
  text.append(",\"locks\":[");
  for (bool first = true; set != 0; first = false) {
    LocksetEntry const entry = lockset_of(set);
    append_lock(text, first, entry.lock, entry.shared, entry.acquired);
    set = entry.rest;
  }
  text.append_char(']');
}

// Of the thread that is here, every lock is known by address.
void append_locks_held(Text& text, const Thread* thread) {
  text.append(",\"locks\":[");
  for (unsigned i = thread->held_count; i-- > 0;) {
    const HeldLock& h = thread->held[i];
    append_lock(text, i + 1 == thread->held_count, h.lock, h.shared, h.acquired);
  }
  text.append_char(']');
}

// --- What the address is
// -----------------------------------------------------------------------------------------------

struct StackSearch {
  uintptr_t address;
  const Thread* owner;
  const DhFrameInfo* frame;
  const DhVariableInfo* variable;
  uintptr_t variable_address;
  bool is_alive;   // the variable found: nothing else can be meant then
  bool is_unsure;  // its life has ended, and others have had its place
};

void search_frame(const DhFrame& frame, const Thread* thread, StackSearch* s) {
  const DhFrameInfo* const info = frame.info;
  for (unsigned i = 0; i < info->count && !s->is_alive; ++i) {
    uint64_t at = 0;
    if (!peek(reinterpret_cast<uintptr_t>(&frame.variables[i]), sizeof at, &at)) return;
    bool const is_alive = (at & kDhEnded) == 0;
    at &= ~uint64_t{kDhEnded};
    const DhVariableInfo& variable = info->variables[i];
    if (s->address < at || s->address - at >= variable.size) continue;
    // The same one again is a scope that the compiler has made two of.
    if (!is_alive && s->frame != nullptr) {
      s->is_unsure |=
          s->variable->line != variable.line || !platform::is_same(s->variable->name, variable.name);
      continue;
    }
    s->owner = thread;
    s->frame = info;
    s->variable = &variable;
    s->variable_address = at;
    s->is_alive = is_alive;
    if (is_alive) s->is_unsure = false;
  }
}

void search_stack(const Thread* thread, StackSearch* s) {
  bool const is_owner = s->address >= thread->stack_low && s->address < thread->stack_high;
  // A fiber's stack is wherever the program has put it: only its frames know.
  if (s->is_alive || (!is_owner && !thread->fiber)) return;
  if (is_owner) s->owner = thread;
  if (thread->frames == nullptr) return;
  // The owner may be running: its frames are read as they are, and believed only if they make sense.
  const DhHot* const hot = thread->hot;
  const DhFrame* const end = hot != nullptr ? hot->next_frame : thread->suspended_at;
  if (end < thread->frames || end > thread->frames_end) return;
  for (const DhFrame* f = end; f-- > thread->frames && !s->is_alive;) {
    if (f->has_variables != 0 && f->info != nullptr) search_frame(*f, thread, s);
  }
}

struct ThreadLocalSearch {
  uintptr_t address;
  const Thread* owner;
  uintptr_t begin;
};

void search_thread_locals(const Thread* thread, ThreadLocalSearch* s) {
  if (!thread->handle_known || s->owner != nullptr) return;
  auto const locals = platform::executables_thread_locals(static_cast<uintptr_t>(thread->handle));
  if (s->address - locals.begin >= locals.size) return;
  s->owner = thread;
  s->begin = locals.begin;
}

// `freed`: the earlier access was its end.
void append_variable(Text& text, uintptr_t address, bool freed) {
  text.append("\"var\":{");
  StackSearch search{address, nullptr, nullptr, nullptr, 0, false, false};
  ThreadLocalSearch locals{address, nullptr, 0};
  with_live_threads([&](const Thread* first, uint32_t, uint32_t) {
    for (const Thread* t = first; t != nullptr; t = t->next_live) {
      search_stack(t, &search);
      search_thread_locals(t, &locals);
    }
  });
  if (locals.owner != nullptr) {
    uintptr_t const executable = getauxval(AT_PHDR);
    need_module(executable);
    text.append("\"kind\":\"thread-local\",\"thread\":%u,\"addr\":\"0x%lx\",\"module\":\"0x%lx\"}",
                locals.owner->info->id, locals.begin, executable);
    return;
  }
  HeapBlock block{};
  if (search.frame == nullptr &&
      (heap_find(address, &block) || (freed && heap_find_freed(address, &block)))) {
    text.append("\"kind\":\"heap\",\"addr\":\"0x%lx\",\"size\":%zu,\"thread\":%u,\"stack\":", block.address,
                block.size, block.thread);
    append_stack(text, block.stack);
    text.append_char('}');
    return;
  }
  if (search.owner != nullptr) {
    text.append("\"kind\":\"stack\",\"thread\":%u", search.owner->info->id);
    if (search.is_unsure) {
      text.append(",\"function\":");
      text.append_json_string(search.frame->function);
    } else if (search.frame != nullptr) {
      const DhVariableInfo& v = *search.variable;
      text.append(",\"addr\":\"0x%lx\",\"size\":%u,\"name\":", search.variable_address, v.size);
      text.append_json_string(v.name);
      text.append(",\"function\":");
      text.append_json_string(search.frame->function);
      text.append(",\"file\":");
      text.append_json_string(v.file);
      text.append(",\"line\":%u", v.line);
    }
    text.append_char('}');
    return;
  }
  need_module(address);
  text.append("\"kind\":\"%s\"}", platform::module_at(address) != nullptr ? "global" : "unknown");
}

// --- Why nothing orders them
// --------------------------------------------------------------------------------------------

bool holds(LocksetId set, uintptr_t lock) {
  for (; set != 0; set = lockset_of(set).rest) {
    if (lockset_of(set).lock == lock) return true;
  }
  return false;
}

bool common_lock(const Thread* thread, LocksetId other) {
  for (unsigned i = 0; i < thread->held_count; ++i) {
    if (holds(other, thread->held[i].lock)) return true;
  }
  return false;
}

void append_why(Text& text, const Thread* thread, const AccessInfo& other, Epoch epoch,
                uint32_t other_thread) {
  Text why;
  if (thread->held_count == 0 && other.locks == 0) {
    why.append("neither thread held a lock");
  } else if (thread->held_count == 0) {
    why.append("thread %u held a lock, thread %u held none", other_thread, thread->info->id);
  } else if (other.locks == 0) {
    why.append("thread %u held a lock, thread %u held none", thread->info->id, other_thread);
  } else if (!common_lock(thread, other.locks)) {
    why.append("the threads held different locks");
  } else {
    why.append("a common lock was held for reading only");
  }
  if (thread->clock.get(epoch.slot()) == 0) {
    why.append(", and nothing thread %u did is ordered before this access of thread %u", other_thread,
               thread->info->id);
  } else {
    why.append(", and thread %u last learnt from thread %u before that access was made", thread->info->id,
               other_thread);
  }
  text.append(",\"why\":");
  text.append_json_string(why.c_str());
}

}  // namespace

namespace {

// REQUIRES: report_lock.
void write_race(Thread* thread, const AccessRequest& request, const Record& other, uintptr_t granule,
                unsigned byte, const AccessInfo& older, size_t number) {
  uintptr_t const address = granule + byte;
  ThreadInfo* const other_info = thread_info_at(other.epoch());
  platform::raw_write_modules();
  write_thread(other_info);
  write_thread(thread->info);

  Text line;
  line.append("{\"t\":\"race\",\"id\":%zu,\"detector\":\"fasttrack\",\"addr\":\"0x%lx\",", number, address);
  append_variable(line, address, older.type == AccessType::kFree);
  line.append(",\"accesses\":[{\"thread\":%u,\"op\":\"%s\",\"size\":%zu,\"addr\":\"0x%lx\",\"stack\":",
              thread->info->id, name_of(request.type), request.size, request.address);
  append_frames(line, request.pc, current_frames(thread));
  append_locks_held(line, thread);
  uint64_t value = 0;
  if (peek(request.address, request.size, &value)) {
    line.append(",\"%s\":\"0x%lx\"", kind_of(request.type).write ? "before" : "value", value);
  }
  if (request.has_value && request.size <= 8) {
    uint64_t const bits =
        request.size == 8 ? request.value : request.value & ((uint64_t{1} << (request.size * 8)) - 1);
    line.append(",\"value\":\"0x%lx\"", bits);
  }
  unsigned first_byte = byte;
  while (first_byte > 0 && ((other.mask >> (first_byte - 1)) & 1) != 0) --first_byte;
  unsigned older_size = older.size;
  if (older_size == 0) {
    while (first_byte + older_size < 8 && ((other.mask >> (first_byte + older_size)) & 1) != 0) ++older_size;
  } else if (older_size <= 8) {
    // Neighbouring accesses of one epoch share a record; the access itself is aligned to its size.
    first_byte = byte & ~(older_size - 1);
  }
  line.append("},{\"thread\":%u,\"op\":\"%s\",\"size\":%u,\"addr\":\"0x%lx\",\"stack\":", other_info->id,
              name_of(older.type), older_size, granule + first_byte);
  append_frames(line, older.pc, older.frames);
  append_locks(line, older.locks);
  line.append("}]");
  append_why(line, thread, older, other.epoch(), other_info->id);
  line.append("}\n");
  raw_write(line);
}

void report_at(Thread* thread, const AccessRequest& request, const Record& other, uintptr_t granule,
               unsigned byte, const AccessInfo& older) {
  SpinGuard const guard(report_lock);
  if (benign_ranges.contains(granule + byte)) {
    ++benign_races;
    return;
  }
  bool fresh = false;
  StackId const frames = current_frames(thread);
  size_t const number = note_race(granule + byte, place_of(request.pc, frames, request.type), frames,
                                  place_of(older.pc, older.frames, older.type), older.frames, &fresh);
  if (!fresh) return;
  platform::on_own_stack([&] { write_race(thread, request, other, granule, byte, older, number); });
}

}  // namespace

void report_race(Thread* thread, const AccessRequest& request, const Record& other, uintptr_t granule) {
  // The bytes both touched: those of one record may have been touched at different places.
  uintptr_t const from = request.address > granule ? request.address : granule;
  uintptr_t const end =
      request.address + request.size < granule + 8 ? request.address + request.size : granule + 8;
  auto const is_touched = [&](unsigned byte) { return ((other.mask >> byte) & 1) != 0; };
  auto const first = static_cast<unsigned>(from - granule);
  for (unsigned byte = first; byte < end - granule; ++byte) {
    if (!is_touched(byte)) continue;
    AccessInfo const older = access_of(other.stack, byte);
    // Asked again instead of remembered: there may be little stack.
    bool is_told = false;
    for (unsigned before = first; before < byte && !is_told; ++before)
      is_told = is_touched(before) && access_of(other.stack, before) == older;
    if (!is_told) report_at(thread, request, other, granule, byte, older);
  }
}

uint64_t races_reported() { return known.size(); }

namespace {
void write_end_line(int status) {
  SpinGuard const guard(report_lock);
  bool const wanted = platform::options().log != nullptr || known.size() != 0;
  if (!wanted) return;
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].instances == 1) continue;
    Text line;
    line.append("{\"t\":\"instances\",\"race\":%zu,\"count\":%lu}\n", i, known[i].instances);
    raw_write(line);
  }
  Statistics const s = total_statistics();
  Text line;
  line.append("{\"t\":\"end\",\"exit\":%d,\"statistics\":{", status);
  // Accesses that the inlined hooks drop are not counted, unless all are (count=1), which sends every access
  // here.
  line.append("\"threads\":%u,\"slow_path\":%lu,\"slow_path_covered\":%lu,\"ranges\":%lu,\"atomics\":%lu,",
              threads_created(), s.slow_accesses, s.covered, s.ranges, s.atomics);
  if (platform::options().count) {
    line.append("\"accesses\":%lu,\"accesses_dropped\":%lu,", s.slow_accesses + s.ranges, s.covered);
  }
  line.append("\"sync_operations\":%lu,\"labels\":%lu,\"stacks\":%lu,\"stack_pairs\":%lu,\"fat_cells\":%lu,",
              s.sync_operations, s.labels, interned_stacks(), interned_shapes(), fat_cells());
  line.append("\"byte_histories\":%lu,", histories_in_use());
  line.append("\"benign\":%lu,\"runtime_bytes_mapped\":%lu}}\n", benign_races, platform::mapped_bytes());
  raw_write(line);
}
}  // namespace

void write_end(int status) {
  platform::on_own_stack([=] { write_end_line(status); });
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
  ways.clear();
  places.clear();
  for (uint32_t id = 0; id < threads_created(); ++id) thread_info(id)->reported = false;
  report_lock.unlock();
}

}  // namespace deadheat::watch
