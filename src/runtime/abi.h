// The hook interface: everything instrumented code may call, used by both sides of the line.
//
// The compiler plugin (src/instrument) emits calls to these; the runtime (src/runtime), linked into the
// program, defines them. A change of any signature, layout or constant here is a new kDhAbiVersion; a program
// and a runtime of different versions refuse each other at start with one clear line.
//
// Where the hooks stand: an access hook stands immediately before its access; `__dh_enter` stands first in a
// function and
// `__dh_leave` right before it returns.
//
// Hot hooks have their bodies in inline_hooks.cc. The plugin links those bodies into every module it
// instruments and inlines them, so that the fast path costs a few instructions and no call; unoptimised code
// calls the very same functions in the runtime library.
//
// C-compatible layouts only; no C++ type crosses the line.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define DH_C extern "C"
#else
#define DH_C extern
#endif
#define DH_HOOK DH_C __attribute__((visibility("default"), used))
// Slow paths keep the caller's registers, so that the inlined fast path spills nothing.
#define DH_SLOW __attribute__((preserve_most, noinline))

#define DEADHEAT_ABI_VERSION 10u

// ---------------------------------------------------------------------------------------------------------------------
// Shadow memory. Every aligned 8 bytes of the program (a granule) have one 16-byte cell. Cells live in chunks
// that are found through a directory, not at a fixed offset: so Deadheat works under every address layout and
// memory limit.
//
// A cell is two halves; each half describes one access that is not yet superseded (src/runtime/watch/cell.h):
//
//   63..23 epoch of the access: slot (17 bits), clock (24 bits); all ones in the clock: the thread has noted
//          it elsewhere (src/runtime/watch/read_notes.h)
//   22     in the first half: the cell is long, all that it knows is elsewhere, and what stands here repeats
//          some of it for the hooks; in the second half of such a one: see src/runtime/watch/byte_history.h
//   21..10 half of the number of the cell's pair of stacks
//    9     the access was atomic
//    8     the access was a write
//    7..0  which bytes of the granule it touched

enum {
  kDhChunkBits = 24,      // a chunk of shadow covers 16 MiB of the program's memory
  kDhDirectoryBits = 23,  // 2^47 bytes of user address space
  kDhEpochShift = 23,
  kDhClockBits = 24,
  kDhSlotBits = 64 - kDhEpochShift - kDhClockBits,
  kDhWriteBit = 1 << 8,
  kDhAtomicBit = 1 << 9,
  kDhLongBit = 1 << 22,
  // "Is this my own access, made since the last release that counts?" is one subtraction and one comparison,
  // because labels do not wrap within a slot, and those that run ahead of the present one by more than this
  // may count as not known: the access is recorded with the present label then, which nobody can tell from
  // those (detect/spans.h). So few that the comparison's mask is a constant of 32 bits.
  kDhLabelWindowBits = 8,
};

typedef struct DhCell {
  uint64_t half[2];
} DhCell;

// Where the chunk of an address is, as a number: where its cells begin, less twice the address of the first
// byte that they are about, less 1. So a cell is found by one addition, within an addressing mode, and no
// chunk there is has the number 0, because cells stand at even addresses.
DH_C __attribute__((visibility("default"))) uintptr_t __dh_shadow[1u << kDhDirectoryBits];

// The cell of a granule. REQUIRES: `entry` is not 0, and that of its chunk; `granule` is a multiple of 8.
// Behind the last cell of a chunk stands one that never changes, is long and of no bytes, so that it covers
// nothing: the next cell of any cell may be looked at. (The number is no address, and wraps around.)
static inline __attribute__((always_inline, no_sanitize("pointer-overflow"))) DhCell* dh_cell(
    uintptr_t entry, uintptr_t granule) {
  return (DhCell*)((char*)((uint16_t*)entry + granule) + 1);
}

// ---------------------------------------------------------------------------------------------------------------------
// The shadow call stack: one frame per instrumented function on the stack.

typedef struct DhVariableInfo {
  const char* name;
  const char* file;
  uint32_t line;
  uint32_t size;
} DhVariableInfo;

// Static description of the variables whose addresses escape from a function.
typedef struct DhFrameInfo {
  const char* function;
  const DhVariableInfo* variables;
  uint64_t count;
} DhFrameInfo;

// Variables stand at even addresses. Of those whose scopes do not overlap, which may have one place in the
// frame, the address is null before the scope begins, and has this bit after it has ended.
enum { kDhEnded = 1 };

typedef struct DhFrame {
  const void* return_address;  // where the function was called from
  uint32_t context;  // the runtime's: this frame's node in the tree of call stacks, 0 if not asked for yet
  uint32_t has_variables;  // that escape: otherwise the rest means nothing
  void* const* variables;  // `info->count` addresses, kept up to date where variables have one place
  const DhFrameInfo* info;
} DhFrame;

// What hot hooks read of the current thread. One per thread, in static thread-local storage.
typedef struct DhHot {
  uint64_t floor;  // the current epoch << kDhEpochShift: own accesses labelled from here on cover new ones
  DhFrame* next_frame;  // the first free frame of the shadow call stack
  // What an access of all bytes is compared with: the floor with these bytes, and for a write with its bit.
  uint64_t whole_read;
  uint64_t whole_write;
} DhHot;
static inline void dh_set_floor(DhHot* hot, uint64_t floor) {
  hot->floor = floor;
  hot->whole_read = floor + 0xff;
  hot->whole_write = floor + (kDhWriteBit | 0xff);
}

// It is the executable's. Instrumented code may be a library's, unless it is compiled not to be
// (docs/instrumentation.md: `direct`).
#ifdef DEADHEAT_LANE_WATCH
#define DH_OF_EXECUTABLE "local-exec"
#else
#define DH_OF_EXECUTABLE "initial-exec"
#endif
DH_C __attribute__((visibility("default"), tls_model(DH_OF_EXECUTABLE))) __thread DhHot __dh_hot;

// ---------------------------------------------------------------------------------------------------------------------
// Modules. Called by a constructor of every instrumented translation unit, before any other hook of that
// unit.
DH_HOOK void __dh_module_init(uint32_t abi_version, const char* mode);

// ---------------------------------------------------------------------------------------------------------------------
// Functions. `__dh_enter` returns its frame; the same value is given to `__dh_leave`. After a landing pad,
// and after a call that returns twice, `__dh_resume` makes the frame the innermost again, whatever was
// skipped.
DH_HOOK DhFrame* __dh_enter(const void* return_address);
DH_HOOK DhFrame* __dh_enter_with_variables(const void* return_address, void* const* variables,
                                           const DhFrameInfo* info);
DH_HOOK void __dh_leave(DhFrame* frame);
DH_HOOK void __dh_resume(DhFrame* frame);

// A variable whose address escaped ends its life here (function exit, or end of its scope in a loop).
DH_HOOK void __dh_end_of_life(void* address, size_t size);
// The same of one that is written whole before anything else happens to it, and ends with the function: what
// is known of it is kept if nobody else was there.
DH_HOOK void __dh_end_of_scope(void* address, size_t size);

// ---------------------------------------------------------------------------------------------------------------------
// Plain accesses. Sizes 1, 2, 4, 8 have hooks of their own, and so have two neighbouring accesses of 8 bytes
// each, at any multiple of 8; everything else says its size. Writes say the value about to be written, or
// both, which only a report ever looks at; __dh_write16 is one of 16 bytes whose value is not known.
DH_HOOK void __dh_read1(const void* address);
DH_HOOK void __dh_read2(const void* address);
DH_HOOK void __dh_read4(const void* address);
DH_HOOK void __dh_read8(const void* address);
DH_HOOK void __dh_read8x2(const void* address);
DH_HOOK void __dh_write1(void* address, uint64_t value);
DH_HOOK void __dh_write2(void* address, uint64_t value);
DH_HOOK void __dh_write4(void* address, uint64_t value);
DH_HOOK void __dh_write8(void* address, uint64_t value);
DH_HOOK void __dh_write8x2(void* address, uint64_t first, uint64_t second);
DH_HOOK void __dh_write16(void* address);
// The same of any alignment.
DH_HOOK void __dh_read_unaligned2(const void* address);
DH_HOOK void __dh_read_unaligned4(const void* address);
DH_HOOK void __dh_read_unaligned8(const void* address);
DH_HOOK void __dh_read_unaligned16(const void* address);
DH_HOOK void __dh_write_unaligned2(void* address, uint64_t value);
DH_HOOK void __dh_write_unaligned4(void* address, uint64_t value);
DH_HOOK void __dh_write_unaligned8(void* address, uint64_t value);
DH_HOOK void __dh_write_unaligned16(void* address);
DH_HOOK void __dh_read_range(const void* address, size_t size);  // any size and alignment
DH_HOOK void __dh_write_range(void* address, size_t size);
// An object's virtual table is set: a write if that changes it, a read if it stands there already.
DH_HOOK void __dh_write_vptr(void* const* address, void* value);
// Before a call of libstdc++'s that uses a stream: how (bits of DH_STREAM_). After one that fills an object
// or a string if the stream is good then. `use` has the size of the object, or of a character, in its upper
// byte.
enum {
  DH_STREAM_OUTPUT = 1,    // the stream is a basic_ostream
  DH_STREAM_INPUT = 2,     // a basic_istream
  DH_STREAM_IOS = 4,       // a basic_ios
  DH_STREAM_PUTS = 8,      // characters go to the buffer
  DH_STREAM_GETS = 16,     // come from it
  DH_STREAM_LOOKS = 32,    // only what the buffer has is looked at
  DH_STREAM_FORMATS = 64,  // by the stream's flags and width
  DH_STREAM_CLEARS_WIDTH = 128,
  DH_STREAM_COUNTS = 256,  // gcount() is set
  DH_STREAM_SETS_STATE = 512,
  DH_STREAM_NEW_BUFFER = 1024,  // the buffer's contents are replaced
  DH_STREAM_READS_RANGE =
      2048,  // for the plugin itself: the next arguments are the characters and their count
  DH_STREAM_READS_STRING = 4096,
  DH_STREAM_FILLS_OBJECT = 8192,
  DH_STREAM_FILLS_STRING = 16384,
};
DH_HOOK void __dh_stream(void* stream, uint32_t use);
DH_HOOK void __dh_stream_text(const void* string, uint32_t use);
DH_HOOK void __dh_stream_filled(void* stream, void* target, uint32_t use);
// `count` accesses of `size` bytes, `stride` bytes apart (stride may be negative): a loop's accesses, joined.
DH_HOOK void __dh_read_strided(const void* address, size_t size, int64_t stride, uint64_t count);
DH_HOOK void __dh_write_strided(void* address, size_t size, int64_t stride, uint64_t count);

// The slow paths behind the hooks above; hot hooks only. For accesses within one granule: its cell, null if
// there is no chunk, and which of its bytes.
DH_HOOK DH_SLOW void __dh_read_slow(const void* address, const DhCell* cell, uint64_t bytes);
DH_HOOK DH_SLOW void __dh_write_slow(void* address, const DhCell* cell, uint64_t bytes, uint64_t value);
// For two accesses to this granule and the next one: the cell of the first.
DH_HOOK DH_SLOW void __dh_read_pair(const void* address, const DhCell* cell);
DH_HOOK DH_SLOW void __dh_write_pair(void* address, const DhCell* cell, uint64_t first, uint64_t second);
// For accesses that need not lie within one granule.
DH_HOOK DH_SLOW void __dh_read_across(const void* address, uint32_t size);
DH_HOOK DH_SLOW void __dh_write_across(void* address, uint32_t size, uint64_t value);

// The program prefetches this line. Any address.
DH_HOOK void __dh_prefetch(const void* address);

// Memory intrinsics and calls to the functions of these names: checked, then done.
DH_HOOK void* __dh_memcpy(void* to, const void* from, size_t size);
DH_HOOK void* __dh_memmove(void* to, const void* from, size_t size);
DH_HOOK void* __dh_memset(void* to, int byte, size_t size);

// ---------------------------------------------------------------------------------------------------------------------
// Atomics: done by the runtime, so that value and order are one step. `order` is a memory_order of the C ABI
// (relaxed 0, consume 1, acquire 2, release 3, acq_rel 4, seq_cst 5). `compare_exchange` returns the old
// value; the caller compares.
typedef unsigned __int128 dh_u128;
#define DH_ATOMICS(N, T)                                                                             \
  DH_HOOK T __dh_atomic_load##N(const volatile T* address, int order);                               \
  DH_HOOK void __dh_atomic_store##N(volatile T* address, T value, int order);                        \
  DH_HOOK T __dh_atomic_exchange##N(volatile T* address, T value, int order);                        \
  DH_HOOK T __dh_atomic_compare_exchange##N(volatile T* address, T expected, T desired, int success, \
                                            int failure);                                            \
  DH_HOOK T __dh_atomic_fetch_add##N(volatile T* address, T value, int order);                       \
  DH_HOOK T __dh_atomic_fetch_sub##N(volatile T* address, T value, int order);                       \
  DH_HOOK T __dh_atomic_fetch_and##N(volatile T* address, T value, int order);                       \
  DH_HOOK T __dh_atomic_fetch_or##N(volatile T* address, T value, int order);                        \
  DH_HOOK T __dh_atomic_fetch_xor##N(volatile T* address, T value, int order);                       \
  DH_HOOK T __dh_atomic_fetch_nand##N(volatile T* address, T value, int order);
DH_ATOMICS(8, uint8_t)
DH_ATOMICS(16, uint16_t)
DH_ATOMICS(32, uint32_t)
DH_ATOMICS(64, uint64_t)
DH_ATOMICS(128, dh_u128)
#undef DH_ATOMICS
// Other read-modify-writes (min, max, floating point), and objects too big for an instruction: the compiler's
// own instruction, or the call of libatomic, runs between these two, which hold the location's order. Any
// size and alignment. A compare-exchange begins as the update that it may become, with the order of success;
// if it failed, the end says that it was a load, and the order of failure.
typedef enum DhHeldOperation { kDhHeldLoad, kDhHeldStore, kDhHeldUpdate } DhHeldOperation;
DH_HOOK void __dh_atomic_begin(const volatile void* address, size_t size, DhHeldOperation operation,
                               int order);
DH_HOOK void __dh_atomic_end(const volatile void* address, size_t size, DhHeldOperation operation, int order);
DH_HOOK void __dh_atomic_fence(int order);         // atomic_thread_fence
DH_HOOK void __dh_atomic_signal_fence(int order);  // orders nothing between threads
