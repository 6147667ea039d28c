// The hooks that are not hot, and the slow paths of those that are (src/runtime/abi.h).
#include "runtime/abi.h"
#include "runtime/lane.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/module_check.h"
#include "runtime/platform/options.h"
#include "runtime/platform/print.h"
#include "runtime/watch/access.h"
#include "runtime/watch/covered.h"
#include "runtime/watch/filter.h"
#include "runtime/watch/library_frames.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/thread.h"

using namespace deadheat;
using namespace deadheat::watch;

#define DH_PC reinterpret_cast<uintptr_t>(__builtin_return_address(0))

namespace {

__attribute__((noinline, preserve_most)) void slow(uintptr_t address, size_t size, AccessType type,
                                                   uintptr_t pc, uint64_t value, bool has_value) {
  Thread* const thread = current_or_adopt();
  if (thread == nullptr || thread->inside != 0) return;
  Inside const inside(thread);
  ++thread->statistics.slow_accesses;
  if (__builtin_expect(!spans_filter(), 0) && tree_filter() &&
      tree_redundant(thread, pc, kind_of(type).write, address)) {
    ++thread->statistics.covered;
    return;
  }
  if (!check_access(thread, {address, size, type, pc, value, has_value})) ++thread->statistics.covered;
}

template <bool kWrite>
__attribute__((always_inline)) inline bool quickly(uintptr_t address, uint32_t size, uintptr_t pc,
                                                   uint64_t value, uint32_t at) {
  Thread* const thread = current_thread;
  if (__builtin_expect(thread == nullptr || thread->inside != 0, 0)) return false;
  Inside const inside(thread);
  if (!quick_access<kWrite>(thread, address, size, pc, value, at)) return false;
  ++thread->statistics.slow_accesses;
  return true;
}

template <bool kWrite>
__attribute__((noinline)) bool few_bytes_quickly(uintptr_t address, uint32_t size, uintptr_t pc) {
  Thread* const thread = current_thread;
  return may_be_quick(thread) && quickest_across<kWrite>(thread, address, size, pc, 0, 0);
}

void walk_range(uintptr_t address, size_t size, AccessType type, uintptr_t pc) {
  if (size <= kMostAcross) {
    auto const few = static_cast<uint32_t>(size);
    if (type == AccessType::kWrite ? few_bytes_quickly<true>(address, few, pc)
                                   : few_bytes_quickly<false>(address, few, pc))
      return;
  }
  size_t const done =
      skipped(size, first_uncovered(address, address + size, type == AccessType::kWrite) - address);
  if (done != size) slow(address + done, size - done, type, pc, 0, false);
}

// `go` walks over what was not walked over before.
template <class Go>
void walk_once(const Walk& walk, Go go) {
  Thread* const thread = current_thread;
  WalkedRanges::Entry entry;
  if (!may_be_quick(thread) || !thread->walked.entry_of(walk, thread->hot->floor, &entry)) {
    return go();
  }
  if (thread->walked.has(entry)) return;
  go();
  thread->walked.add(entry);
}

void range(uintptr_t address, size_t size, AccessType type, uintptr_t pc) {
  if (size < WalkedRanges::kWorthRemembering) return walk_range(address, size, type, pc);
  walk_once({address, size, 0, 1, type == AccessType::kWrite}, [=] { walk_range(address, size, type, pc); });
}

// Most of a few bytes are covered, and then nothing is called.
template <bool kWrite>
__attribute__((always_inline)) inline void range(uintptr_t address, size_t size, uintptr_t pc) {
  if (size <= kMostAcross && covered_across<kWrite>(address, size)) return;
  range(address, size, kWrite ? AccessType::kWrite : AccessType::kRead, pc);
}

bool nobody_to_race_with() { return __atomic_load_n(&alone, __ATOMIC_RELAXED); }

}  // namespace

void __dh_module_init(uint32_t abi_version, const char* mode) {
  platform::check_module(abi_version, DEADHEAT_ABI_VERSION, mode, "watch");
  lane::initialise();
  note_instrumented(DH_PC);
}

// Each way hands over to the next one having done nothing; each is a function of its own, because a longer
// one saves more registers.
namespace {
__attribute__((noinline, preserve_most)) void read_slowest(const void* address, uint32_t size, uintptr_t pc) {
  if (quickly<false>(reinterpret_cast<uintptr_t>(address), size, pc, 0, kHookSite)) return;
  slow(reinterpret_cast<uintptr_t>(address), size, AccessType::kRead, pc, 0, false);
}
__attribute__((noinline, preserve_most)) void write_slowest(void* address, uint32_t size, uintptr_t pc,
                                                            uint64_t value) {
  if (quickly<true>(reinterpret_cast<uintptr_t>(address), size, pc, value, kHookSite)) return;
  slow(reinterpret_cast<uintptr_t>(address), size, AccessType::kWrite, pc, value, size <= sizeof value);
}

// An access to a long cell, within one granule.
template <bool kWrite>
__attribute__((always_inline)) inline bool in_long_cell(Thread* thread, const void* at, uint32_t size,
                                                        uintptr_t pc, uint64_t value) {
  auto const address = reinterpret_cast<uintptr_t>(at);
  DhCell* const cell = existing_cell(address);
  uint64_t const mask = bytes_at(address, size);
  if (cell == nullptr || mask > 0xff) return false;
  DhCell const seen = load_cell(cell);
  if (!is_fat(seen)) return false;
  Record access;
  access.set_bits(thread->epoch().bits() | mask << Record::kMaskShift | (kWrite ? Record::kWrite : 0));
  ++thread->statistics.slow_accesses;
  bool const bytewise = is_bytewise(seen);
  if (!bytewise) {
    platform::want_line(fat_of(seen));
    if (is_covered_in_long(thread, seen, cell, access)) {
      ++thread->statistics.covered;
      return true;
    }
  }
  Inside const inside(thread);
  count_down_to_known(thread);
  access.stack = site_stack(thread, pc, size | kHookSite | (kWrite ? kWriteSite : 0));
  if (access.stack == 0) return false;
  if (bytewise) {
    thread->span.note_used();
    if (access_in_bytes(thread, cell, seen, access)) return true;
  }
  AccessType const type = kWrite ? AccessType::kWrite : AccessType::kRead;
  return long_access(thread, cell, access, {address, size, type, pc, value, kWrite});
}

__attribute__((noinline, preserve_most)) void read_slower(const void* address, uint32_t size, uintptr_t pc) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) && in_long_cell<false>(thread, address, size, pc, 0)) return;
  read_slowest(address, size, pc);
}
__attribute__((noinline, preserve_most)) void write_slower(void* address, uint32_t size, uintptr_t pc,
                                                           uint64_t value) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) && in_long_cell<true>(thread, address, size, pc, value)) return;
  write_slowest(address, size, pc, value);
}

// The bytes of an access are next to each other.
uint32_t size_of(uint64_t bytes) { return static_cast<uint32_t>(__builtin_popcountll(bytes)); }

__attribute__((always_inline)) inline void read_not_alone(const void* address, const DhCell* cell,
                                                          uint64_t bytes, uintptr_t pc) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) && cell != nullptr &&
      quickest_access<false>(thread, reinterpret_cast<uintptr_t>(address), const_cast<DhCell*>(cell), bytes,
                             pc, 0)) {
    return;
  }
  read_slower(address, size_of(bytes), pc);
}
__attribute__((always_inline)) inline void write_not_alone(void* address, const DhCell* cell, uint64_t bytes,
                                                           uint64_t value, uintptr_t pc) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) && cell != nullptr &&
      quickest_access<true>(thread, reinterpret_cast<uintptr_t>(address), const_cast<DhCell*>(cell), bytes,
                            pc, value)) {
    return;
  }
  write_slower(address, size_of(bytes), pc, value);
}

__attribute__((noinline, preserve_most)) void read_uncovered_across(const void* address, uint32_t size,
                                                                    uintptr_t pc) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) &&
      quickest_across<false>(thread, reinterpret_cast<uintptr_t>(address), size, pc, 0, kHookSite)) {
    return;
  }
  read_slowest(address, size, pc);
}
__attribute__((noinline, preserve_most)) void write_uncovered_across(void* address, uint32_t size,
                                                                     uint64_t value, uintptr_t pc) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) &&
      quickest_across<true>(thread, reinterpret_cast<uintptr_t>(address), size, pc, value, kHookSite)) {
    return;
  }
  write_slowest(address, size, pc, value);
}
__attribute__((always_inline)) inline void read_across(const void* address, uint32_t size, uintptr_t pc) {
  auto const at = reinterpret_cast<uintptr_t>(address);
  if (!covered_across<false>(at, size)) read_uncovered_across(address, size, pc);
}
__attribute__((always_inline)) inline void write_across(void* address, uint32_t size, uint64_t value,
                                                        uintptr_t pc) {
  auto const at = reinterpret_cast<uintptr_t>(address);
  if (!covered_across<true>(at, size)) write_uncovered_across(address, size, value, pc);
}
// What the hook says of an access whose address is not what its type promises, and that is not within one
// granule: as in slow_entry.cc.
bool is_beyond_granule(const void* address, uint64_t bytes) {
  return (reinterpret_cast<uintptr_t>(address) & 7) != 0 && bytes >= 0xff;
}
}  // namespace

// Behind __dh_read_slow and __dh_write_slow (slow_entry.cc).
DH_C DH_SLOW void deadheat_read_slow(const void* address, const DhCell* cell, uint64_t bytes) {
  read_not_alone(address, cell, bytes, DH_PC);
}
DH_C DH_SLOW void deadheat_write_slow(void* address, const DhCell* cell, uint64_t bytes, uint64_t value) {
  write_not_alone(address, cell, bytes, value, DH_PC);
}
// Of an address that its type forbids.
DH_C DH_SLOW void deadheat_read_beyond(const void* address, const DhCell*, uint64_t bytes) {
  read_across(address, size_of(bytes), DH_PC);
}
DH_C DH_SLOW void deadheat_write_beyond(void* address, const DhCell*, uint64_t bytes, uint64_t value) {
  write_across(address, size_of(bytes), value, DH_PC);
}
DH_C DH_SLOW void deadheat_read_across(const void* address, uint32_t size) {
  read_across(address, size, DH_PC);
}
DH_C DH_SLOW void deadheat_write_across(void* address, uint32_t size, uint64_t value) {
  write_across(address, size, value, DH_PC);
}
__attribute__((naked)) void __dh_read_across(const void*, uint32_t) {
  __asm__("cmpb $0, deadheat_alone(%rip)\n\tje deadheat_read_across\n\tret");
}
__attribute__((naked)) void __dh_write_across(void*, uint32_t, uint64_t) {
  __asm__("cmpb $0, deadheat_alone(%rip)\n\tje deadheat_write_across\n\tret");
}

// For hooks that were not inlined (inline_hooks.cc).
DH_C DH_SLOW void deadheat_read_slow_at(const void* address, const DhCell* cell, uint64_t bytes,
                                        const void* caller) {
  if (nobody_to_race_with()) return;
  if (is_beyond_granule(address, bytes))
    return read_across(address, size_of(bytes), reinterpret_cast<uintptr_t>(caller));
  if (cell != nullptr && is_unwritable(cell) && is_page_covered(cell)) return;
  read_not_alone(address, cell, bytes, reinterpret_cast<uintptr_t>(caller));
}
DH_C DH_SLOW void deadheat_write_slow_at(void* address, const DhCell* cell, uint64_t bytes, uint64_t value,
                                         const void* caller) {
  if (nobody_to_race_with()) return;
  if (is_beyond_granule(address, bytes))
    return write_across(address, size_of(bytes), value, reinterpret_cast<uintptr_t>(caller));
  write_not_alone(address, cell, bytes, value, reinterpret_cast<uintptr_t>(caller));
}
DH_C DH_SLOW void deadheat_read_across_at(const void* address, uint32_t size, const void* caller) {
  if (nobody_to_race_with()) return;
  read_across(address, size, reinterpret_cast<uintptr_t>(caller));
}
DH_C DH_SLOW void deadheat_write_across_at(void* address, uint32_t size, uint64_t value, const void* caller) {
  if (nobody_to_race_with()) return;
  write_across(address, size, value, reinterpret_cast<uintptr_t>(caller));
}

void __dh_read_range(const void* address, size_t size) {
  if (nobody_to_race_with() || size == 0) return;
  range<false>(reinterpret_cast<uintptr_t>(address), size, DH_PC);
}

void __dh_write_range(void* address, size_t size) {
  if (nobody_to_race_with() || size == 0) return;
  range<true>(reinterpret_cast<uintptr_t>(address), size, DH_PC);
}

namespace {
template <bool kWrite>
void walk_strided(uintptr_t address, size_t size, int64_t stride, uint64_t count, uintptr_t pc) {
  constexpr AccessType kType = kWrite ? AccessType::kWrite : AccessType::kRead;
  constexpr size_t kMostQuick = 16;
  Thread* const thread = current_thread;
  // Each element is an access by itself, as if the loop had not been joined, in one of the same ways.
  auto const is_done_quickly = [thread, &address, size, pc] {
    auto const few = static_cast<uint32_t>(size);
    return (may_be_quick(thread) && quickest_across<kWrite>(thread, address, few, pc, 0, 0)) ||
           quickly<kWrite>(address, few, pc, 0, 0);
  };
  for (uint64_t i = 0; i < count; ++i, address += static_cast<uint64_t>(stride)) {
    if (is_covered_in_granule(address, size, kWrite ? uint64_t{kDhWriteBit} : 0)) continue;
    if (size > kMostQuick || !is_done_quickly()) walk_range(address, size, kType, pc);
  }
}

template <bool kWrite>
void strided(uintptr_t address, size_t size, int64_t stride, uint64_t count, uintptr_t pc) {
  constexpr AccessType kType = kWrite ? AccessType::kWrite : AccessType::kRead;
  if (nobody_to_race_with() || count == 0 || size == 0) return;
  // Gapless, forwards or backwards: one range.
  if (stride == static_cast<int64_t>(size)) return range(address, size * count, kType, pc);
  if (stride == -static_cast<int64_t>(size)) {
    return range(address - size * (count - 1), size * count, kType, pc);
  }
  if (count * size < WalkedRanges::kWorthRemembering)
    return walk_strided<kWrite>(address, size, stride, count, pc);
  walk_once({address, size, stride, count, kWrite},
            [=] { walk_strided<kWrite>(address, size, stride, count, pc); });
}
}  // namespace

void __dh_read_strided(const void* address, size_t size, int64_t stride, uint64_t count) {
  strided<false>(reinterpret_cast<uintptr_t>(address), size, stride, count, DH_PC);
}
void __dh_write_strided(void* address, size_t size, int64_t stride, uint64_t count) {
  strided<true>(reinterpret_cast<uintptr_t>(address), size, stride, count, DH_PC);
}

// An object's pointer to its virtual functions. Constructors and destructors often write what is there
// already, which others may well read at the same time.
void __dh_write_vptr(void* const* address, void* value) {
  if (nobody_to_race_with()) return;
  auto const at = reinterpret_cast<uintptr_t>(address);
  bool const changes = *address != value;
  const DhCell* const cell = (at & 7) == 0 ? existing_cell(at) : nullptr;
  if (cell == nullptr) {
    slow(at, 8, changes ? AccessType::kWrite : AccessType::kRead, DH_PC, reinterpret_cast<uint64_t>(value),
         changes);
  } else if (is_covered(cell, __dh_hot.floor, 0xff | (changes ? uint64_t{kDhWriteBit} : 0))) {
    return;
  } else if (changes) {
    write_not_alone(const_cast<void**>(address), cell, 0xff, reinterpret_cast<uint64_t>(value), DH_PC);
  } else {
    read_not_alone(address, cell, 0xff, DH_PC);
  }
}

void* __dh_memcpy(void* to, const void* from, size_t size) {
  if (!nobody_to_race_with() && size != 0) {
    range<false>(reinterpret_cast<uintptr_t>(from), size, DH_PC);
    range<true>(reinterpret_cast<uintptr_t>(to), size, DH_PC);
  }
  return __builtin___memcpy_chk(to, from, size, ~size_t{0});
}
void* __dh_memmove(void* to, const void* from, size_t size) {
  if (!nobody_to_race_with() && size != 0) {
    range<false>(reinterpret_cast<uintptr_t>(from), size, DH_PC);
    range<true>(reinterpret_cast<uintptr_t>(to), size, DH_PC);
  }
  return __builtin___memmove_chk(to, from, size, ~size_t{0});
}
void* __dh_memset(void* to, int byte, size_t size) {
  if (!nobody_to_race_with() && size != 0) {
    range<true>(reinterpret_cast<uintptr_t>(to), size, DH_PC);
  }
  return __builtin___memset_chk(to, byte, size, ~size_t{0});
}
