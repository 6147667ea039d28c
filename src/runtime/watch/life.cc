#include "runtime/watch/life.h"

#include "runtime/watch/access.h"
#include "runtime/watch/ended.h"
#include "runtime/watch/race_report.h"

namespace deadheat::watch {
namespace {

// Beyond this, the end of a block's life is noted only where the block was touched: a fresh part of a large
// block costs nothing to free.
constexpr size_t kFreeEveryByte = size_t{64} << 10;

constexpr uintptr_t kPage = kPageCells * 8;  // of the program: a page of shadow is about it

// As check_end_where_touched. `replaces`: it takes the place of accesses that would cover it.
void check_end_of_touched(Thread* thread, uintptr_t address, size_t size, uintptr_t pc, bool replaces) {
  constexpr uintptr_t kWholeChunk = uintptr_t{1} << kDhChunkBits;
  uintptr_t const end = address + size;
  for (uintptr_t at = address; at < end;) {
    Chunk* const chunk = existing_chunk(at);
    uintptr_t const step = chunk != nullptr ? kPage : kWholeChunk;
    uintptr_t const next = (at & ~(step - 1)) + step;
    uintptr_t const stop = next < end && next > at ? next : end;
    if (chunk != nullptr && has_past(chunk, cell_index(at) / kPageCells)) {
      check_access(thread, {at, stop - at, AccessType::kFree, pc, 0, false, replaces});
    }
    at = stop;
  }
}

void check_end_of_block(Thread* thread, const HeapBlock& block, uintptr_t pc, bool replaces) {
  // A block of no bytes still has an end, which must be seen if there is a second one; the allocator gives
  // out no two blocks of one address.
  size_t const size = block.size != 0 ? block.size : 1;
  if (size <= kFreeEveryByte)
    check_access(thread, {block.address, size, AccessType::kFree, pc, 0, false, replaces});
  else
    check_end_of_touched(thread, block.address, size, pc, replaces);
}

}  // namespace

void check_end_where_touched(Thread* thread, uintptr_t address, size_t size, uintptr_t pc) {
  check_end_of_touched(thread, address, size, pc, false);
}

void check_free(Thread* thread, const HeapBlock& block, uintptr_t pc) {
  check_end_of_block(thread, block, pc, false);
}

void check_free_and_give_back(Thread* thread, const HeapBlock& block, uintptr_t pc) {
  check_end_of_block(thread, block, pc, true);
  uintptr_t const end = (block.address + block.size) & ~(kPage - 1);
  for (uintptr_t at = (block.address + kPage - 1) & ~(kPage - 1); at < end;) {
    uintptr_t const chunk_end = ((at >> kDhChunkBits) + 1) << kDhChunkBits;
    uintptr_t const stop = end < chunk_end ? end : chunk_end;
    if (Chunk* const chunk = existing_chunk(at)) {
      size_t const first = cell_index(at) / kPageCells;
      give_back_ended(chunk, first, first + (stop - at) / kPage);
    }
    at = stop;
  }
}

void check_second_free(Thread* thread, uintptr_t address, uintptr_t pc) {
  if (thread->ignore_writes != 0) return;
  Chunk* const chunk = existing_chunk(address);
  if (chunk == nullptr) return;
  // What the first byte remembers. Nothing is recorded: the memory is not this thread's to end, and may be
  // another block at any moment.
  constexpr unsigned kMost = 16;
  Record records[kMost];
  unsigned count = 0;
  make_end_real(chunk, cell_index(address));
  DhCell* const cell = &chunk->cells[cell_index(address)];
  DhCell const seen = load_cell(cell);
  if (FatCell* const fat =
          !is_fat(seen) && has_noted(seen) ? lock_fat(chunk, cell) : lock_existing_fat(cell)) {
    for (; count < fat->count && count < kMost; ++count) records[count] = fat->records()[count];
    fat->lock.unlock();
  } else if (!is_fat(seen) && (seen.half[0] | seen.half[1]) != 0) {
    StackPair const stacks = shape_stacks(shape_of(seen));
    records[count++] = unpack_half(seen.half[0], stacks.first);
    records[count++] = unpack_half(seen.half[1], stacks.second);
  }
  for (unsigned i = 0; i < count; ++i) {
    const Record& r = records[i];
    if (((r.mask >> (address & 7)) & 1) == 0 || thread->ordered_after(r.epoch())) continue;
    report_race(thread, {address, 1, AccessType::kFree, pc}, r, address & ~uintptr_t{7});
    return;
  }
}

}  // namespace deadheat::watch
