// Memory that nobody can write: files that are mapped to be read.
//
// A shared mapping of a file that was opened for reading only cannot be made writable, by no means
// (mprotect(2) refuses it), so nothing that is read there can race with a write. What is left is the end of
// the mapping, which ends the life of whole pages at once. So it is enough to know of each of its readers
// that it read somewhere in a page, and not which bytes: of such a page the reads are all recorded in the
// cell of its first granule, as reads of the whole granule. A thread that searches through a page pays for
// its first read there under each label; without this it pays for every granule, and a granule that is read
// in parts by two threads needs a long cell. Who unmaps the page and is not ordered after a reader races
// with its latest first read of the page, and is told so; where several of a thread's reads of one page
// would race with that, one of them is told.
//
// The other cells of the page say that this is so: `kUnwritable` is what a read by nobody would be, at a time
// that everybody knows of. Whoever does not know what it means sees a record that is over, and puts its own
// in its place, so that the granule is watched like all others from then on: less cheap, and just as exact.
//
// It is entered into the cells when a page of shadow is touched for the first time. Only shared mappings of
// files that were opened so: a private one may become writable, and then its readers matter byte by byte.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/watch/shadow.h"

namespace deadheat::watch {

inline constexpr uint64_t kUnwritable = 0xff;  // in the first half
inline constexpr uintptr_t kPageBytes = kPageCells * 8;

inline bool is_unwritable(const DhCell* cell) {
  return __atomic_load_n(&cell->half[0], __ATOMIC_RELAXED) == kUnwritable;
}

// Where the reads of a page are recorded.
inline DhCell* cell_of_page(const DhCell* cell) {
  static_assert(kPageCells * sizeof(DhCell) == 4096 && __builtin_offsetof(Chunk, cells) == 0,
                "shadow is mapped by pages");
  return reinterpret_cast<DhCell*>(reinterpret_cast<uintptr_t>(cell) & ~uintptr_t{4095});
}
constexpr uintptr_t granule_of_page(uintptr_t address) { return address & ~(kPageBytes - 1); }
// A read of some bytes of a granule: where is it recorded, and as what? False: as it is.
inline bool find_recorded(DhCell** cell, uintptr_t* granule, uint64_t* bytes) {
  if (__builtin_expect(!is_unwritable(*cell), 1)) return false;
  *cell = cell_of_page(*cell);
  *granule = granule_of_page(*granule);
  *bytes = 0xff;
  return true;
}

// Nobody can write there from now on, until it is mapped or unmapped again. Where that is not noted, because
// there are very many such mappings, it is watched like other memory.
void note_unwritable(uintptr_t address, size_t size);
void forget_unwritable(uintptr_t address, size_t size);

// A page of shadow is about to be used. REQUIRES: it counts as written; what stands in it may change.
void begin_page_if_unwritable(Chunk* chunk, size_t page);

}  // namespace deadheat::watch
