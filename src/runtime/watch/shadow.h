// Shadow memory: where the cells are.
//
// A directory with one pointer per 16 MiB of address space leads to chunks of cells, mapped when first
// needed. So nothing depends on where the kernel puts the program, and address space is used in proportion to
// the program's: it works under any randomisation, under `ulimit -v` and in sandboxes.
//
// Beside its cells a chunk notes which of their pages were ever written, and which may hold fat cells:
// clearing memory that nobody touched costs nothing, and clearing a lot gives the pages back to the kernel.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/abi.h"
#include "runtime/watch/cell.h"

namespace deadheat::watch {

inline constexpr size_t kChunkCells = size_t{1} << (kDhChunkBits - 3);
inline constexpr size_t kPageCells = 4096 / sizeof(DhCell);  // one page of shadow: 2 KiB of the program
inline constexpr size_t kChunkPages = kChunkCells / kPageCells;

struct Chunk {
  DhCell cells[kChunkCells];
  uint8_t touched[kChunkPages];  // the page was written since it was last cleared
  uint8_t may_be_fat[kChunkPages];
};

inline Chunk* existing_chunk(uintptr_t address) {
  uintptr_t const index = address >> kDhChunkBits;
  if (index >= (uintptr_t{1} << kDhDirectoryBits)) return nullptr;
  return reinterpret_cast<Chunk*>(__atomic_load_n(&__dh_shadow[index], __ATOMIC_ACQUIRE));
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

inline void note_touched(Chunk* chunk, size_t index) {
  uint8_t* const touched = &chunk->touched[index / kPageCells];
  if (__atomic_load_n(touched, __ATOMIC_RELAXED) == 0) __atomic_store_n(touched, 1, __ATOMIC_RELAXED);
}

// The memory is new: whatever was known of these bytes is forgotten.
void clear_shadow(uintptr_t address, size_t size);

// The cell's FatCell if it has one, locked; null otherwise.
inline FatCell* lock_existing_fat(DhCell* cell) {
  for (;;) {
    DhCell const seen = load_cell(cell);
    if (!is_fat(seen)) return nullptr;
    FatCell* const fat = fat_of(seen);
    fat->lock.lock();
    if (__builtin_expect(fat->owner == cell, 1)) return fat;
    fat->lock.unlock();
  }
}
__attribute__((noinline)) FatCell* make_fat(Chunk* chunk, DhCell* cell);
// The cell's FatCell, made if need be; locked.
inline FatCell* lock_fat(Chunk* chunk, DhCell* cell) {
  FatCell* const fat = lock_existing_fat(cell);
  return __builtin_expect(fat != nullptr, 1) ? fat : make_fat(chunk, cell);
}

// The cell has a short form again, `thin`. REQUIRES: `fat` is the cell's, locked; it is unlocked.
void thin_again(DhCell* cell, FatCell* fat, const DhCell& thin);

uint64_t fat_cells();

}  // namespace deadheat::watch
