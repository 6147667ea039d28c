// The bodies of the hot hooks: what every access of the program executes.
//
// An access needs no work if this thread already let one through that covers it: the same bytes, the same or
// a stronger kind, and no release since that anybody has observed or still may (the spans filter,
// src/detect/spans.h). The shadow cell says so directly: one of its halves carries a label of this thread at
// or above the current one (`__dh_hot.floor`), and its byte mask includes ours. Anything else is the slow
// path's business.
//
// This file is compiled twice: into the runtime, for unoptimised callers, and to bitcode that the compiler
// plugin inlines into the program. It may therefore use nothing but abi.h. docs/performance.md counts its
// instructions.
#include "runtime/abi.h"

#define DH_ALWAYS_INLINE static inline __attribute__((always_inline))

// In the program, where the slow path is called from is where the access is. In the runtime, where these are
// called and not inlined, it is where the hook was called from.
#ifdef DEADHEAT_LANE_WATCH
DH_C DH_SLOW void deadheat_read_slow_at(const void* address, const DhCell* cell, uint64_t bytes,
                                        const void* caller);
DH_C DH_SLOW void deadheat_write_slow_at(void* address, const DhCell* cell, uint64_t bytes, uint64_t value,
                                         const void* caller);
DH_C DH_SLOW void deadheat_read_pair_at(const void* address, const DhCell* cell, const void* caller);
DH_C DH_SLOW void deadheat_write_pair_at(void* address, const DhCell* cell, uint64_t first, uint64_t second,
                                         const void* caller);
DH_C DH_SLOW void deadheat_read_across_at(const void* address, uint32_t size, const void* caller);
DH_C DH_SLOW void deadheat_write_across_at(void* address, uint32_t size, uint64_t value, const void* caller);
#define DH_READ_SLOW(address, cell, bytes) \
  deadheat_read_slow_at(address, cell, bytes, __builtin_return_address(0))
#define DH_READ_PAIR(address, cell) deadheat_read_pair_at(address, cell, __builtin_return_address(0))
#define DH_WRITE_PAIR(address, cell, first, second) \
  deadheat_write_pair_at(address, cell, first, second, __builtin_return_address(0))
#define DH_READ_ACROSS(address, size) deadheat_read_across_at(address, size, __builtin_return_address(0))
#define DH_WRITE_ACROSS(address, size, value) \
  deadheat_write_across_at(address, size, value, __builtin_return_address(0))
#define DH_WRITE_SLOW(address, cell, bytes, value) \
  deadheat_write_slow_at(address, cell, bytes, value, __builtin_return_address(0))
#else
#define DH_READ_SLOW(address, cell, bytes) __dh_read_slow(address, cell, bytes)
#define DH_READ_PAIR(address, cell) __dh_read_pair(address, cell)
#define DH_WRITE_PAIR(address, cell, first, second) __dh_write_pair(address, cell, first, second)
#define DH_READ_ACROSS(address, size) __dh_read_across(address, size)
#define DH_WRITE_ACROSS(address, size, value) __dh_write_across(address, size, value)
#define DH_WRITE_SLOW(address, cell, bytes, value) __dh_write_slow(address, cell, bytes, value)
#endif

namespace {

constexpr uint64_t kMustNot = ~((uint64_t{1} << (kDhEpochShift + kDhLabelWindowBits)) - 1) | kDhAtomicBit;
static_assert(static_cast<uint64_t>(static_cast<int32_t>(kMustNot)) == kMustNot,
              "an operand of 32 bits, extended");

// The bytes of the granule; of those that lie behind it, higher bits, unless they are 8.
DH_ALWAYS_INLINE uint64_t byte_mask(uintptr_t address, uint32_t size) {
  uint64_t const all = (uint64_t{1} << size) - 1;
  return size == 8 ? all : all << (address & 7);
}

// The cell of a granule. Whether there is one is asked of its chunk, once; without a chunk nothing else may
// be asked.
struct Found {
  uintptr_t chunk;
  uintptr_t granule;
  bool exists() const { return chunk != 0; }
  const DhCell* cell() const { return dh_cell(chunk, granule); }
  // For the slow path. Computed there once more, which the compiler must not know: it would compute it
  // before, in all cases, instead of leaving it to an addressing mode. Always of a granule.
  const DhCell* or_null() const {
    uintptr_t again = chunk;
    uintptr_t at = granule;
    __asm__("" : "+r"(again), "+r"(at));
    return again != 0 ? dh_cell(again, at & ~uintptr_t{7}) : nullptr;
  }
};
// REQUIRES: a multiple of 8.
DH_ALWAYS_INLINE Found cell_of(uintptr_t granule) { return {__dh_shadow[granule >> kDhChunkBits], granule}; }
// Of an access that lies within one granule because its type says so: its address is a multiple of its size.
//
// Programs exist whose addresses are not. They work, must go on working, and may race. So what is taken off
// the address is only what such an access can have: of any other one the hook looks at bytes of this cell and
// of what is behind it, which say nothing that would cover it (or hardly ever: they had to look like a label
// of this thread), and the slow path looks at the address.
DH_ALWAYS_INLINE Found cell_of_aligned(uintptr_t address, uint32_t size) {
  return cell_of(address & ~uintptr_t{8 - size});
}

// Is `half` an access of this thread that covers one that needs the bits `need`? The label must be in the
// window above the floor, and the bits must be there, but for that of an atomic access, which covers no
// plain one. The low bits of a floor are 0, so that one subtraction of both and one comparison under a mask
// answer all of it: bits that are there are taken away without a borrow, and if none of `need` is left in the
// difference, none was missing.
//
// `floor_and_need` is their sum.
DH_ALWAYS_INLINE bool covers(const uint64_t* half, uint64_t floor_and_need, uint64_t need) {
  uint64_t const difference = __atomic_load_n(half, __ATOMIC_RELAXED) - floor_and_need;
  return (difference & (need | kMustNot)) == 0;
}

constexpr uint64_t kWhole = 0xff;
DH_ALWAYS_INLINE bool covers_whole_read(const uint64_t* half) {
  return covers(half, __dh_hot.whole_read, kWhole);
}
DH_ALWAYS_INLINE bool covers_whole_write(const DhCell* cell) {
  return covers(&cell->half[0], __dh_hot.whole_write, kWhole | kDhWriteBit);
}
DH_ALWAYS_INLINE bool covers_whole_read(const DhCell* cell) {
  if (__builtin_expect(covers_whole_read(&cell->half[0]), 1)) return true;
  // Loaded again: a register for both would take an instruction more where the first half is enough.
  uint64_t const whole = __atomic_load_n(&__dh_hot.whole_read, __ATOMIC_RELAXED);
  return __builtin_expect(covers(&cell->half[1], whole, kWhole), 1);
}

// Parts of a granule are mostly touched beside all others: whether all of them are covered is asked first,
// because it takes half as many instructions as asking about some.
DH_ALWAYS_INLINE bool covers_read(const DhCell* cell, uintptr_t address, uint32_t size) {
  if (size == 8) return covers_whole_read(cell);
  if (__builtin_expect(covers_whole_read(&cell->half[0]), 1)) return true;
  uint64_t const need = byte_mask(address, size);
  uint64_t const floor_and_need = __dh_hot.floor + need;
  return __builtin_expect(covers(&cell->half[0], floor_and_need, need), 1) ||
         __builtin_expect(covers(&cell->half[1], floor_and_need, need), 1);
}
DH_ALWAYS_INLINE bool covers_write(const DhCell* cell, uintptr_t address, uint32_t size) {
  if (__builtin_expect(covers_whole_write(cell), 1)) return true;
  if (size == 8) return false;
  uint64_t const need = byte_mask(address, size) | kDhWriteBit;
  return __builtin_expect(covers(&cell->half[0], __dh_hot.floor + need, need), 1);
}

DH_ALWAYS_INLINE void read_in(const Found& found, const void* at, uint32_t size) {
  auto const address = reinterpret_cast<uintptr_t>(at);
  if (__builtin_expect(found.exists(), 1) && __builtin_expect(covers_read(found.cell(), address, size), 1))
    return;
  DH_READ_SLOW(at, found.or_null(), byte_mask(address, size));
}

DH_ALWAYS_INLINE void read(const void* at, uint32_t size) {
  read_in(cell_of_aligned(reinterpret_cast<uintptr_t>(at), size), at, size);
}

DH_ALWAYS_INLINE void write_in(const Found& found, void* at, uint32_t size, uint64_t value) {
  auto const address = reinterpret_cast<uintptr_t>(at);
  if (__builtin_expect(found.exists(), 1) && __builtin_expect(covers_write(found.cell(), address, size), 1))
    return;
  DH_WRITE_SLOW(at, found.or_null(), byte_mask(address, size), value);
}

DH_ALWAYS_INLINE void write(void* at, uint32_t size, uint64_t value) {
  write_in(cell_of_aligned(reinterpret_cast<uintptr_t>(at), size), at, size, value);
}

// Of this granule and the next one; of the last one of a chunk the next cell covers nothing (abi.h).
// REQUIRES: `at` is a multiple of 8.
DH_ALWAYS_INLINE void read_two(const void* at) {
  Found const found = cell_of(reinterpret_cast<uintptr_t>(at));
  if (__builtin_expect(found.exists(), 1) &&
      __builtin_expect(covers_whole_read(found.cell()) && covers_whole_read(found.cell() + 1), 1)) {
    return;
  }
  DH_READ_PAIR(at, found.or_null());
}
DH_ALWAYS_INLINE bool covers_two_writes(const DhCell* cell) {
  return __builtin_expect(covers_whole_write(cell) && covers_whole_write(cell + 1), 1);
}
DH_ALWAYS_INLINE void write_two(void* at, uint64_t first, uint64_t second) {
  Found const found = cell_of(reinterpret_cast<uintptr_t>(at));
  if (__builtin_expect(found.exists(), 1) && covers_two_writes(found.cell())) return;
  DH_WRITE_PAIR(at, found.or_null(), first, second);
}
DH_ALWAYS_INLINE void write_16(void* at) {
  Found const found = cell_of(reinterpret_cast<uintptr_t>(at));
  if (__builtin_expect(found.exists(), 1) && covers_two_writes(found.cell())) return;
  DH_WRITE_ACROSS(at, 16, 0);
}

DH_ALWAYS_INLINE Found cell_around(const void* address) {
  return cell_of(reinterpret_cast<uintptr_t>(address) & ~uintptr_t{7});
}
DH_ALWAYS_INLINE bool within_granule(const void* address, uint32_t size) {
  return (reinterpret_cast<uintptr_t>(address) & 7) <= 8 - size;
}
DH_ALWAYS_INLINE void read_unaligned(const void* address, uint32_t size) {
  if (within_granule(address, size))
    read_in(cell_around(address), address, size);
  else
    DH_READ_ACROSS(address, size);
}
DH_ALWAYS_INLINE void write_unaligned(void* address, uint32_t size, uint64_t value) {
  if (within_granule(address, size))
    write_in(cell_around(address), address, size, value);
  else
    DH_WRITE_ACROSS(address, size, value);
}

}  // namespace

void __dh_read1(const void* address) { read(address, 1); }
void __dh_read2(const void* address) { read(address, 2); }
void __dh_read4(const void* address) { read(address, 4); }
void __dh_read8(const void* address) { read(address, 8); }
void __dh_read8x2(const void* address) { read_two(address); }
void __dh_write1(void* address, uint64_t value) { write(address, 1, value); }
void __dh_write2(void* address, uint64_t value) { write(address, 2, value); }
void __dh_write4(void* address, uint64_t value) { write(address, 4, value); }
void __dh_write8(void* address, uint64_t value) { write(address, 8, value); }
void __dh_write8x2(void* address, uint64_t first, uint64_t second) { write_two(address, first, second); }
void __dh_write16(void* address) { write_16(address); }
void __dh_read_unaligned2(const void* address) { read_unaligned(address, 2); }
void __dh_read_unaligned4(const void* address) { read_unaligned(address, 4); }
void __dh_read_unaligned8(const void* address) { read_unaligned(address, 8); }
void __dh_read_unaligned16(const void* address) { DH_READ_ACROSS(address, 16); }
void __dh_write_unaligned2(void* address, uint64_t value) { write_unaligned(address, 2, value); }
void __dh_write_unaligned4(void* address, uint64_t value) { write_unaligned(address, 4, value); }
void __dh_write_unaligned8(void* address, uint64_t value) { write_unaligned(address, 8, value); }
void __dh_write_unaligned16(void* address) { DH_WRITE_ACROSS(address, 16, 0); }

// Of a line of the program's, both lines of cells. A prefetch may be of any address at all.
void __dh_prefetch(const void* at) {
  constexpr uintptr_t kLine = 64;
  auto const address = reinterpret_cast<uintptr_t>(at) & ~(kLine - 1);
  if (address >> (kDhChunkBits + kDhDirectoryBits) != 0) return;
  Found const found = cell_of(address);
  if (__builtin_expect(!found.exists(), 0)) return;
  __builtin_prefetch(found.cell());
  __builtin_prefetch(reinterpret_cast<const char*>(found.cell()) + kLine);
}

DhFrame* __dh_enter(const void* return_address) {
  DhFrame* const frame = __dh_hot.next_frame;
  frame->return_address = return_address;
  frame->context = 0;
  frame->has_variables = 0;
  __dh_hot.next_frame = frame + 1;
  return frame;
}

DhFrame* __dh_enter_with_variables(const void* return_address, void* const* variables,
                                   const DhFrameInfo* info) {
  DhFrame* const frame = __dh_hot.next_frame;
  frame->return_address = return_address;
  frame->context = 0;
  frame->has_variables = 1;
  frame->variables = variables;
  frame->info = info;
  __dh_hot.next_frame = frame + 1;
  return frame;
}

void __dh_leave(DhFrame* frame) { __dh_hot.next_frame = frame; }
void __dh_resume(DhFrame* frame) { __dh_hot.next_frame = frame + 1; }
