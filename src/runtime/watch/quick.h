// The short way through the slow path: the few transitions of a cell that make up nearly all of them.
//
// An access that the inlined hook did not find covered is, nearly always, one of these: the first one of its
// granule; one that supersedes all there is; a read beside the write it saw; more bytes of what this thread
// is just touching byte by byte. For each of them the new cell follows from the old one by a few
// instructions, if two things are known without looking far: the number of the access's call stack, and the
// number of the new pair of stacks ("shape"). Both are remembered per thread in direct-mapped tables.
// Everything else, races included, returns false having changed nothing, and goes the long way (access.cc),
// which decides the same questions for every case; the model test runs through both.
#pragma once

#include <stdint.h>

#include "runtime/abi.h"
#include "runtime/watch/access.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/stacks.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

// How the pair of stacks of a cell follows from its old pair and the stack of the access.
enum class Move : uint32_t {
  kAfterFirst,    // (first, access)
  kBeforeFirst,   // (access, first)
  kBeforeSecond,  // (access, second)
  kIntoFirst,     // (first with the access's bytes, second)
  kIntoSecond,    // (first, second with the access's bytes)
};

// Fill the tables; 0 and kNoShape where that is impossible. They keep the caller's registers, so that the way
// around them saves nothing.
__attribute__((preserve_most, noinline)) const QuickCache::Site* remember_site(Thread* thread, uintptr_t pc,
                                                                               StackId frames,
                                                                               uint32_t size_and_kind);
__attribute__((preserve_most, noinline)) ShapeId remember_move(Thread* thread, const DhCell& old, Move move,
                                                               uint32_t masks, StackId stack);
__attribute__((preserve_most, noinline)) StackId intern_current_frames(Thread* thread);

namespace quick {

__attribute__((always_inline)) inline StackId frames(Thread* thread) {
  DhFrame* const end = thread->hot->next_frame;
  if (end <= thread->frames) return 0;
  StackId const known = end[-1].context;
  return __builtin_expect(known != 0, 1) ? known : intern_current_frames(thread);
}

__attribute__((always_inline)) inline uint32_t site_index(uintptr_t pc, StackId frames, LocksetId locks) {
  uint64_t const h =
      (pc + frames * 0x9E3779B97F4A7C15ull) * 0xD6E8FEB86659FD93ull + locks * 0xC2B2AE3D27D4EB4Full;
  return static_cast<uint32_t>(h >> (64 - QuickCache::kSiteBits));
}

__attribute__((always_inline)) inline uint32_t move_index(ShapeId old, uint32_t how, StackId stack) {
  uint32_t const h = (old * 0x9E3779B1u + stack * 0x85EBCA77u) ^ how * 0xC2B2AE3Du;
  return h >> (32 - QuickCache::kMoveBits);
}

__attribute__((always_inline)) inline ShapeId shape_after(Thread* thread, const DhCell& old, Move move,
                                                          uint32_t masks, StackId stack) {
  ShapeId const shape = shape_of(old);
  uint32_t const how = (masks << 3) | static_cast<uint32_t>(move);
  const QuickCache::Known& known = thread->quick.known[move_index(shape, how, stack)];
  if (__builtin_expect(
          known.old_shape == shape && known.stack == stack && known.how == how && known.shape != 0, 1))
    return known.shape;
  return remember_move(thread, old, move, masks, stack);
}

__attribute__((always_inline)) inline bool ordered(const Thread* thread, uint64_t half) {
  return thread->ordered_after(Epoch::from_bits(half >> kDhEpochShift));
}

constexpr uint64_t kHalfShape = ((uint64_t{1} << kHalfShapeBits) - 1) << kHalfShapeShift;

constexpr DhCell with_shape(uint64_t first, uint64_t second, ShapeId shape) {
  constexpr uint32_t kLow = (1u << kHalfShapeBits) - 1;
  return {{(first & ~kHalfShape) | (static_cast<uint64_t>(shape >> kHalfShapeBits) << kHalfShapeShift),
           (second & ~kHalfShape) | (static_cast<uint64_t>(shape & kLow) << kHalfShapeShift)}};
}

// The cell after the access `now` (a half without a shape); false for whatever is not one of the cases above.
template <bool kWrite>
__attribute__((always_inline)) inline bool next_cell(Thread* thread, const DhCell& old, uint64_t now,
                                                     const QuickCache::Site& site, DhCell* next) {
  uint64_t const h0 = old.half[0];
  uint64_t const h1 = old.half[1];
  uint64_t const mask = now & 0xff;
  uint64_t const m0 = h0 & 0xff;
  uint64_t const m1 = h1 & 0xff;
  if (m0 == 0) {
    if ((h0 | h1) != 0) return false;
    *next = with_shape(now, 0, site.alone);
    return true;
  }
  bool const first_writes = (h0 & kDhWriteBit) != 0;
  if (((m0 | m1) & ~mask) == 0) {
    // Nothing is left of what was there, but for a write that a read saw, or another thread's read.
    bool const after_first = ordered(thread, h0);
    bool const after_second = m1 == 0 || ordered(thread, h1);
    if (kWrite) {
      if (!after_first || !after_second) return false;
      *next = with_shape(now, 0, site.alone);
      return true;
    }
    if ((h1 & kDhWriteBit) != 0) return false;
    if (first_writes) {
      if (!after_first || !after_second) return false;
      ShapeId const shape = shape_after(thread, old, Move::kAfterFirst, 0, site.stack);
      if (shape == kNoShape) return false;
      *next = with_shape(h0, now, shape);
      return true;
    }
    if (after_first && after_second) {
      *next = with_shape(now, 0, site.alone);
      return true;
    }
    if (!after_first && m1 != 0 && !after_second) return false;
    ShapeId const shape =
        shape_after(thread, old, after_first ? Move::kBeforeSecond : Move::kBeforeFirst, 0, site.stack);
    if (shape == kNoShape) return false;
    *next = with_shape(now, after_first ? h1 : h0, shape);
    return true;
  }
  // More bytes of this thread's own, of the same label and kind; the other half must not be concerned, or be
  // a write that this read saw.
  uint64_t const same = now & ~uint64_t{0xff};
  if ((h0 & ~(kHalfShape | 0xff)) == same && (m1 & mask) == 0) {
    auto const masks = static_cast<uint32_t>(m0 << 8 | mask);
    ShapeId const shape = shape_after(thread, old, Move::kIntoFirst, masks, site.stack);
    if (shape == kNoShape) return false;
    *next = with_shape(h0 | mask, h1, shape);
    return true;
  }
  if (m1 != 0 && (h1 & ~(kHalfShape | 0xff)) == same) {
    if ((m0 & mask) != 0 && (kWrite || !first_writes || !ordered(thread, h0))) return false;
    auto const masks = static_cast<uint32_t>(m1 << 8 | mask);
    ShapeId const shape = shape_after(thread, old, Move::kIntoSecond, masks, site.stack);
    if (shape == kNoShape) return false;
    *next = with_shape(h0, h1 | mask, shape);
    return true;
  }
  if (m1 != 0) return false;
  // One record of other bytes, or a write of more bytes than this read's.
  if ((m0 & mask) != 0 && (kWrite || !first_writes || !ordered(thread, h0))) return false;
  bool const before = kWrite || !first_writes;
  ShapeId const shape =
      shape_after(thread, old, before ? Move::kBeforeFirst : Move::kAfterFirst, 0, site.stack);
  if (shape == kNoShape) return false;
  *next = before ? with_shape(now, h0, shape) : with_shape(h0, now, shape);
  return true;
}

}  // namespace quick

// An access to a granule whose cell has the long form. Races are told.
__attribute__((preserve_most, noinline)) void quick_fat_access(Thread* thread, Chunk* chunk, DhCell* cell,
                                                               const AccessRequest& request, StackId stack);

// An access within one granule. False: nothing was done, go the long way.
// REQUIRES: the thread is inside the runtime; the filter is `spans` and nothing is counted.
template <bool kWrite>
__attribute__((always_inline)) inline bool quick_access(Thread* thread, uintptr_t address, uint32_t size,
                                                        uintptr_t pc, uint64_t value) {
  if ((kWrite ? thread->ignore_writes : thread->ignore_reads) != 0) return false;
  uint64_t const floor = thread->hot->floor;
  if (floor == kNoFloor || (address & 7) + size > 8) return false;
  Chunk* const chunk = existing_chunk(address);
  if (chunk == nullptr) return false;
  size_t const index = cell_index(address);
  DhCell* const cell = &chunk->cells[index];
  // The hook has just read the line; it is about to be written, and another thread may have it as well.
  __asm__ volatile("prefetchw %0" : : "m"(*cell));

  StackId const frames = quick::frames(thread);
  uint32_t const size_and_kind = size | (kWrite ? 16 : 0);
  const QuickCache::Site* site = &thread->quick.site[quick::site_index(pc, frames, thread->lockset)];
  if (__builtin_expect(site->pc != pc || site->frames != frames || site->locks != thread->lockset ||
                           site->size_and_kind != size_and_kind,
                       0)) {
    site = remember_site(thread, pc, frames, size_and_kind);
    if (site == nullptr) return false;
  }
  uint64_t const mask = ((uint64_t{1} << size) - 1) << (address & 7);
  uint64_t const now = floor | (kWrite ? kDhWriteBit : 0) | mask;
  note_touched(chunk, index);
  thread->span.note_used();
  for (int tries = 0; tries < 4; ++tries) {
    DhCell const old = load_cell(cell);
    if (is_fat(old)) {
      AccessType const type = kWrite ? AccessType::kWrite : AccessType::kRead;
      quick_fat_access(thread, chunk, cell, {address, size, type, pc, value, kWrite}, site->stack);
      return true;
    }
    DhCell next;
    if (!quick::next_cell<kWrite>(thread, old, now, *site, &next)) return false;
    if (compare_and_swap_cell(cell, old, next)) return true;
  }
  return false;
}

}  // namespace deadheat::watch
