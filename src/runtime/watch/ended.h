// Ends of lives that are noted for many cells at once.
//
// The end of a block's life is a write of all its bytes, for who touches it afterwards. Many a buffer is
// never touched before it is freed, nor between that and the next time it is given out: instead of changing
// each of its cells, and clearing them again, it is noted once for each group of cells in which there is
// nothing else (Chunk::group_state). Whoever is the first to touch such a group makes it real, cell by cell,
// before it looks at its own; so nobody can tell the difference.
//
// Only who changes a cell that is 0 has to ask, because no other cell is in such a group. It asks by an
// atomic change of the group's state, as does who notes the end: of two that do so at the same time one is
// the first.
#pragma once

#include <stddef.h>

#include "runtime/watch/shadow.h"

namespace deadheat::watch {

// Of up to `count` groups from `group` on, as many as are empty: their cells count as `end` from now on.
// Returns how many. REQUIRES: the thread is inside the runtime.
size_t end_empty_groups(Chunk* chunk, size_t group, size_t count, const DhCell& end);

// The memory of these pages is about to go back to the kernel, and the life of all its bytes has just ended.
// Where nothing else is known of a page, its groups say so, and the page of shadow goes back, too; otherwise
// a program that maps ever new memory would have shadow for all that it ever mapped.
//
// Nobody but who uses the memory after its end can be there meanwhile. Whoever has seen the end in a cell
// tells the race; what it then records there may be lost. Whoever finds the cell 0 asks for the group's
// state; only who had asked before the end, and comes to change the cell when the page has gone, is not seen:
// an access to memory that is unmapped in the same moment.
//
// REQUIRES: the thread is inside the runtime; the memory is still its own.
void give_back_ended(Chunk* chunk, size_t first_page, size_t last_page);

// The memory is new. Afterwards the groups are empty or touched. REQUIRES: the group is not empty, nor
// touched.
void forget_end(Chunk* chunk, size_t group);
void forget_ends_in_page(Chunk* chunk, size_t page);

// For who looks at a cell that may be 0 without touching it.
inline bool may_have_ended(const Chunk* chunk, size_t index) {
  return state_of_group(chunk, index / kGroupCells) >= kEnded;
}
inline void make_end_real(Chunk* chunk, size_t index) {
  if (__builtin_expect(may_have_ended(chunk, index), 0)) touch_group(chunk, index / kGroupCells);
}

// Is anything known of the cells of a page?
inline uint64_t* groups_of_page(Chunk* chunk, size_t page) {
  static_assert(kPageGroups == sizeof(uint64_t));
  return reinterpret_cast<uint64_t*>(&chunk->group_state[page * kPageGroups]);
}
inline bool has_past(Chunk* chunk, size_t page) {
  return __atomic_load_n(groups_of_page(chunk, page), __ATOMIC_RELAXED) != 0;
}

}  // namespace deadheat::watch
