// Shadow memory: where the cells are.
//
// A directory with one pointer per 16 MiB of address space leads to chunks of cells, mapped when first
// needed. So nothing depends on where the kernel puts the program, and address space is used in proportion to
// the program's: it works under any randomisation, under `ulimit -v` and in sandboxes.
//
// Beside its cells a chunk notes what is known of their pages, and which may hold fat cells: clearing memory
// that nobody touched costs nothing, and clearing a lot gives the pages back to the kernel. The same of
// groups of cells, so that the end of such memory's life costs nothing, either (ended.h).
//
// When pages get memory is decided in shadow_pages.cc.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/abi.h"
#include "runtime/watch/byte_history.h"
#include "runtime/watch/cell.h"

namespace deadheat::watch {

inline constexpr size_t kChunkCells = size_t{1} << (kDhChunkBits - 3);
inline constexpr size_t kPageCells = 4096 / sizeof(DhCell);  // one page of shadow: 2 KiB of the program
inline constexpr size_t kChunkPages = kChunkCells / kPageCells;

enum PageState : uint8_t {
  kUntouched,  // nothing in it, perhaps no memory
  kWritten,    // since it was last cleared
  kReady,      // nothing in it, but it has memory
};

// 256 bytes of the program: a buffer of a few kilobytes that stands anywhere consists of them, nearly.
inline constexpr size_t kGroupCells = 32;
inline constexpr size_t kGroupBytes = kGroupCells * 8;
inline constexpr size_t kChunkGroups = kChunkCells / kGroupCells;
inline constexpr size_t kPageGroups = kPageCells / kGroupCells;

enum GroupState : uint8_t {
  kEmpty,     // nothing in it
  kTouched,   // since it was last cleared; so is its page
  kEnded,     // nothing in it, but all of its bytes' lives have ended (Chunk::ended)
  kChanging,  // to kEnded, or from there to kTouched: whoever needs to know waits
};

// A small block of the heap, noted where it begins (heap.cc): allocators give out no two within 32 bytes.
using SmallBlock = uint64_t;  // 0: none begins here
inline constexpr size_t kCellsPerBlock = 4;

struct Chunk {
  DhCell cells[kChunkCells];
  DhCell behind;                    // abi.h: it is for who looks one further
  uint8_t page_state[kChunkPages];  // PageState
  uint8_t may_be_fat[kChunkPages];
  uint8_t joined[kChunkPages / 512];             // into a huge page, once
  alignas(8) uint8_t group_state[kChunkGroups];  // GroupState
  DhCell* ended;       // one for every group, from the first end on: what its cells would be
  SmallBlock* blocks;  // one for every kCellsPerBlock cells, from the first block on
  uintptr_t program;   // whose cells these are
};
inline constexpr size_t kChunkBlocks = kChunkCells / kCellsPerBlock;

// Of a number in the directory (abi.h); null if it is 0.
inline Chunk* chunk_at(uintptr_t entry, uintptr_t index) {
  return entry != 0 ? reinterpret_cast<Chunk*>(dh_cell(entry, index << kDhChunkBits)) : nullptr;
}
inline uintptr_t entry_of(const Chunk* chunk, uintptr_t index) {
  return reinterpret_cast<uintptr_t>(chunk->cells) - 2 * (index << kDhChunkBits) - 1;
}
// The cell of an address; null if it has no chunk. REQUIRES: an address of user space.
__attribute__((always_inline)) inline DhCell* existing_cell(uintptr_t address) {
  uintptr_t const entry = __dh_shadow[address >> kDhChunkBits];
  return __builtin_expect(entry != 0, 1) ? dh_cell(entry, address & ~uintptr_t{7}) : nullptr;
}

inline Chunk* existing_chunk(uintptr_t address) {
  uintptr_t const index = address >> kDhChunkBits;
  if (index >= (uintptr_t{1} << kDhDirectoryBits)) return nullptr;
  return chunk_at(__atomic_load_n(&__dh_shadow[index], __ATOMIC_ACQUIRE), index);
}

__attribute__((noinline, cold)) Chunk* make_chunk_for(uintptr_t address);
// Null for addresses outside user space.
inline Chunk* chunk_for(uintptr_t address) {
  Chunk* const chunk = existing_chunk(address);
  return __builtin_expect(chunk != nullptr, 1) ? chunk : make_chunk_for(address);
}

constexpr size_t cell_index(uintptr_t address) {
  return (address & ((uintptr_t{1} << kDhChunkBits) - 1)) >> 3;
}

// The chunk of a cell that has been found, without a look at the directory.
inline Chunk* chunk_of(DhCell* cell, uintptr_t address) {
  static_assert(__builtin_offsetof(Chunk, cells) == 0);
  return reinterpret_cast<Chunk*>(cell - cell_index(address));
}

inline bool is_written(const Chunk* chunk, size_t page) {
  return __atomic_load_n(&chunk->page_state[page], __ATOMIC_RELAXED) == kWritten;
}
void touch_page(Chunk* chunk, size_t page);  // shadow_pages.cc

inline uint8_t state_of_group(const Chunk* chunk, size_t group) {
  return __atomic_load_n(&chunk->group_state[group], __ATOMIC_RELAXED);
}
__attribute__((preserve_most, noinline, cold)) void touch_group(Chunk* chunk, size_t group);
// Before a cell is changed that is 0, and before it is looked at or after: if it is not 0 afterwards, the
// life of its bytes had ended.
inline void note_touched(Chunk* chunk, size_t index) {
  size_t const group = index / kGroupCells;
  if (__builtin_expect(state_of_group(chunk, group) != kTouched, 0)) touch_group(chunk, group);
}

// Who clears the cell's page must look at it and not only overwrite it.
inline void note_may_be_long(Chunk* chunk, const DhCell* cell) {
  __atomic_store_n(&chunk->may_be_fat[static_cast<size_t>(cell - chunk->cells) / kPageCells], uint8_t{1},
                   __ATOMIC_RELAXED);
}

// A pointer that is loaded by an atomic operation is followed next, nearly always: lists and trees wait for
// what it points to and then for the cells of that, one after the other. Asked for here, both come while the
// load itself is looked at. `value` may be no pointer: what has no shadow is not asked for. (Plain reads are
// done by the program, behind their hook: a hook that reads first would fault where the race has not been
// told yet.)
__attribute__((always_inline)) inline void want_what_is_at(uint64_t value) {
  if (__builtin_expect(value >> (kDhChunkBits + kDhDirectoryBits) != 0, 0)) return;
  const DhCell* const cell = existing_cell(value);
  if (cell == nullptr) return;
  platform::want_to_read_line(reinterpret_cast<const void*>(value));
  platform::want_to_read_line(cell);
}

// The memory is new: whatever was known of these bytes is forgotten.
enum class MemoryIs { kInUse, kGone };
void clear_shadow(uintptr_t address, size_t size, MemoryIs memory = MemoryIs::kInUse);

// The cell's FatCell if it has one, locked; null otherwise.
inline FatCell* lock_existing_fat(DhCell* cell) {
  for (;;) {
    DhCell const seen = load_cell(cell);
    if (!is_fat(seen)) return nullptr;
    if (__builtin_expect(is_bytewise(seen), 0)) {
      if (FatCell* const fat = make_fat_from_bytes(cell, seen)) return fat;
      continue;
    }
    FatCell* const fat = fat_of(seen);
    fat->lock.lock();
    if (__builtin_expect(fat->owner == cell, 1)) return fat;
    fat->lock.unlock();
  }
}
__attribute__((noinline)) FatCell* make_fat(Chunk* chunk, DhCell* cell);
// The same if the cell is still what it was, and short; null otherwise.
FatCell* make_fat_from(Chunk* chunk, DhCell* cell, const DhCell& old);
// The same with one more record, the last, and the other two changed by that; it is not locked. False:
// nothing was done.
bool make_long_of_three(Chunk* chunk, DhCell* cell, const DhCell& old, const Record (&records)[3]);
// One with these records, for a cell that nobody else can change now.
FatCell* make_fat_of(DhCell* cell, const Record* records, unsigned count);
// The cell's FatCell, made if need be; locked.
inline FatCell* lock_fat(Chunk* chunk, DhCell* cell) {
  FatCell* const fat = lock_existing_fat(cell);
  return __builtin_expect(fat != nullptr, 1) ? fat : make_fat(chunk, cell);
}

// The cell has a short form again, `thin`. REQUIRES: `fat` is the cell's, locked; it is unlocked.
void thin_again(DhCell* cell, FatCell* fat, const DhCell& thin);

uint64_t fat_cells();

}  // namespace deadheat::watch
