// The ends of local variables whose addresses escape: __dh_end_of_life, __dh_end_of_scope.
//
// Nearly all of them were touched by their own thread only, if at all. What end_life (access.h) does is one
// compare-and-swap per granule then, and no lock. Everything else is left to end_life.
#include "runtime/abi.h"
#include "runtime/watch/access.h"
#include "runtime/watch/ended.h"
#include "runtime/watch/quick_inside.h"
#include "runtime/watch/thread.h"

using namespace deadheat::watch;

#define DH_PC reinterpret_cast<uintptr_t>(__builtin_return_address(0))

namespace {

// What is 0 in the difference of a half that shows an access of this thread and its slot.
constexpr uint64_t kSlotAndLong = ~uint64_t{0} << (64 - kDhSlotBits) | kDhLongBit;

uint64_t own_slot(const Thread* thread) { return static_cast<uint64_t>(thread->slot) << (64 - kDhSlotBits); }

// Is there nothing but accesses of the thread of `own`? Of a cell that is 0, too.
__attribute__((always_inline)) inline bool is_own(const DhCell& cell, uint64_t own) {
  auto const [h0, h1] = cell.half;
  // A half whose bytes have ended has no slot.
  if (__builtin_expect(((h0 ^ own) & kSlotAndLong) != 0, 0) && (h0 & (kDhLongBit | 0xff)) != 0) return false;
  return (h1 & 0xff) == 0 || slot_of(h1 ^ own) == 0;
}

// Nobody has touched the granule, and it is no part of a block that was freed. REQUIRES: its cell is 0.
__attribute__((always_inline)) inline bool is_untouched(uintptr_t granule) {
  return __builtin_expect(!may_have_ended(existing_chunk(granule), cell_index(granule)), 1);
}

// The bytes `mask` of `cell` end, if nobody else has touched the granule; false otherwise, and nothing was
// done.
__attribute__((always_inline)) inline bool end_privately(Thread* thread, uintptr_t granule, DhCell* cell,
                                                         uint64_t mask) {
  DhCell const seen = load_halves(cell);
  if ((seen.half[0] | seen.half[1]) == 0) return is_untouched(granule);
  if (((seen.half[0] | seen.half[1]) & mask) == 0 && !is_fat(seen)) return true;
  if (!is_own(seen, own_slot(thread))) return false;
  thread->walked.forget();
  return compare_and_swap_cell(cell, seen, without_bytes(seen, mask));
}

// Returns where that is not possible, or an address at or behind `end`.
__attribute__((always_inline)) inline uintptr_t end_private_life(Thread* thread, uintptr_t at,
                                                                 uintptr_t end) {
  do {
    uintptr_t const next = (at | 7) + 1;
    uint64_t const mask = bytes_at(at, (next < end ? next : end) - at);
    DhCell* const cell = existing_cell(at);
    if (__builtin_expect(cell != nullptr, 1) && !end_privately(thread, at, cell, mask)) return at;
    at = next;
  } while (at < end);
  return at;
}

__attribute__((noinline)) void end_shared_life(uintptr_t at, uintptr_t end, uintptr_t pc) {
  Thread* const thread = current_or_adopt();
  if (thread == nullptr || thread->inside != 0) return;
  Inside const inside(thread);
  end_life(thread, at, end - at, pc);
}

}  // namespace

// For all that __dh_end_of_life does not do itself. The program's return address is this one's, because it is
// entered by a jump.
DH_C __attribute__((noinline)) void deadheat_end_of_life(void* address, size_t size) {
  auto at = reinterpret_cast<uintptr_t>(address);
  uintptr_t const end = at + size;
  Thread* const thread = current_thread;
  if (may_be_quick(thread)) at = end_private_life(thread, at, end);
  if (__builtin_expect(at < end, 0)) end_shared_life(at, end, DH_PC);
}

// A variable that is a part of a granule. Often another one has the rest.
// REQUIRES: there is a chunk; all of it lies within one granule.
DH_C __attribute__((noinline)) void deadheat_end_of_part(void* address, size_t size) {
  auto const at = reinterpret_cast<uintptr_t>(address);
  Thread* const thread = current_thread;
  if (may_be_quick(thread) && end_privately(thread, at, existing_cell(at), bytes_at(at, size))) return;
  __attribute__((musttail)) return deadheat_end_of_life(address, size);
}

// What is left of a variable some of whose granules have never been touched: are they parts of a block that
// was freed? REQUIRES: there is a chunk, of all of it.
DH_C __attribute__((noinline)) void deadheat_end_of_untouched(void* address, size_t size) {
  auto const at = reinterpret_cast<uintptr_t>(address);
  const Chunk* const chunk = existing_chunk(at);
  for (size_t index = cell_index(at); index < cell_index(at) + size / 8; index += kGroupCells) {
    if (__builtin_expect(may_have_ended(chunk, index), 0)) __attribute__
      ((musttail)) return deadheat_end_of_life(address, size);
  }
  if (__builtin_expect(may_have_ended(chunk, cell_index(at + size - 8)), 0)) __attribute__
    ((musttail)) return deadheat_end_of_life(address, size);
}

// Most variables are whole granules of one chunk. What is asked of a cell is then one comparison. Granules
// that were ended before one that must be left to the other function are 0 there.
// REQUIRES: there is a chunk; `address` and `size` are multiples of 8.
DH_C __attribute__((noinline)) void deadheat_end_of_granules(void* address, size_t size) {
  auto const at = reinterpret_cast<uintptr_t>(address);
  Thread* const thread = current_thread;
  DhCell* cell = existing_cell(at);
  if (!may_be_quick(thread)) __attribute__
    ((musttail)) return deadheat_end_of_life(address, size);
  DhCell* const last = cell + size / 8;
  uint64_t const own = own_slot(thread);
  bool is_touched = true;
  for (; cell < last; ++cell) {
    DhCell const seen = load_halves(cell);
    if ((seen.half[0] | seen.half[1]) == 0) {
      is_touched = false;
      continue;
    }
    // Behind the chunk's last cell stands a long one.
    if (__builtin_expect(!is_own(seen, own), 0)) break;
    thread->walked.forget();
    if (!compare_and_swap_cell(cell, seen, {})) break;
  }
  if (__builtin_expect(cell < last, 0)) __attribute__
    ((musttail)) return deadheat_end_of_life(address, size);
  if (!is_touched) __attribute__
    ((musttail)) return deadheat_end_of_untouched(address, size);
}

// Which way is decided before any register is saved: many a variable was never touched.
void __dh_end_of_life(void* address, size_t size) {
  if (is_set(&alone)) return;
  auto const at = reinterpret_cast<uintptr_t>(address);
  const DhCell* const cell = existing_cell(at);
  if (__builtin_expect(cell != nullptr, 1)) {
    if (((at | size) & 7) == 0) __attribute__
      ((musttail)) return deadheat_end_of_granules(address, size);
    if ((at & 7) + size <= 8) {
      if ((cell->half[0] | cell->half[1]) == 0 && is_untouched(at)) return;
      __attribute__((musttail)) return deadheat_end_of_part(address, size);
    }
  }
  __attribute__((musttail)) return deadheat_end_of_life(address, size);
}

// What must be told at the end of the scope is told here; who comes later finds the records, and so does the
// write that begins the next round. Nothing is changed, so that it does not matter when exactly others do so.
void __dh_end_of_scope(void* address, size_t size) {
  if (is_set(&alone)) return;
  auto const at = reinterpret_cast<uintptr_t>(address);
  const Thread* const thread = current_thread;
  const DhCell* cell = existing_cell(at);
  if (__builtin_expect(thread == nullptr || cell == nullptr, 0)) return;
  const DhCell* const last = cell + size / 8;
  uint64_t const own = own_slot(thread);
#pragma clang loop unroll(disable) vectorize(disable)
  for (; cell != last; ++cell) {
    // Behind the chunk's last cell stands a long one.
    if (__builtin_expect(!is_own(load_halves(cell), own), 0)) __attribute__
      ((musttail)) return deadheat_end_of_life(address, size);
  }
}
