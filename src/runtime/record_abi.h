// The record lane's hook interface and the memory it shares with the writer process.
//
// Three sides use this header: the pass (src/instrument/record) emits calls to these hooks, the runtime
// (src/runtime/record) defines them, and the writer (src/recording/drain) empties the rings. The bytes in the
// rings are described in src/recording/FORMAT.md. A change here is a new kDhRecordAbiVersion.
//
// How a thread's log works, in short. Every value that a replay could not know by itself passes a *value
// hook*: a load, the result of a call into invisible code, an address of a local. The thread keeps a
// predictor, a direct-mapped image of the memory it saw last: bytes only, and nothing that says whose they
// are. What it holds for an address is a guess, and may well be another address's: every value is compared
// with it. One that it knows costs one increment of `run`; any other goes to the log behind the number of
// values predicted before it. Replay keeps the same predictor, so it knows every value without asking the
// memory of the recorded process.
//
// C-compatible layouts only; no C++ type crosses the line.
#pragma once

#include "runtime/abi.h"
#include "runtime/sequencer_coding.h"

#define DEADHEAT_RECORD_ABI_VERSION 6u

enum {
  // The predictor: 8 MiB per thread, touched on demand. An access begins at its address modulo that; one
  // that begins near the end goes on behind it.
  kDhImageBytes = 1 << 23,
  kDhImageMask = kDhImageBytes - 1,
  kDhImageSlack = 64,
  // A thread's ring: what it has logged and the writer has not taken yet.
  kDhRingBytes = 1 << 20,
  kDhRingSlack = 256,  // an item never needs more; larger ones are written in parts
  kDhSlotHeaderBytes = 4096,
};

// Values without an address (results of calls, addresses of locals) are predicted by where they arise: their
// "address" is a site number of the module above all of user space.
#define DH_OPAQUE_BASE (UINT64_C(1) << 54)

// Of an atomic location, the version (atomics.cc) that the thread has read with a sequencer. A load that
// finds it unchanged learns nothing, and needs none.
typedef struct DhSeen {
  uint64_t address;
  uint64_t version_and_order;  // version << 1 | acquired
} DhSeen;
enum { kDhSeen = 128 };

// The hot state of a recorded thread: the first bytes of its slot in the arena, so that the writer finds
// `run` even if the program was killed. In the program, the predictor follows (dh_image_at).
typedef struct DhRecord {
  uint64_t run;        // values predicted since the last item
  uint64_t hash;       // of the stores since the thread began (dh_record_mix)
  uint64_t attention;  // not 0: something waits for the thread's next hook, a signal to deliver
  uint32_t invisible;  // 1 while invisible code runs on this thread
  uint32_t depth;      // nested invokes on the stack
  uint64_t loads;      // statistics: items logged as values

  // The ring. Offsets only grow; position = offset & (kDhRingBytes - 1). The program maps the ring twice in a
  // row, so that what it writes is contiguous.
  uint8_t* ring;
  uint64_t written;   // by the program; published with release order
  uint64_t limit;     // the program's own: `written` may go up to here without asking
  uint64_t consumed;  // by the writer; published with release order

  uint32_t state;    // DhSlotState
  uint32_t thread;   // the thread's number, 0 the main thread
  uint32_t waiting;  // futex: 1 while the program waits for room
  uint32_t os_id;
  uint64_t next_number;  // the least that the thread's next sequencer can have (differences are logged)
  uint64_t last_object;
  uint64_t last_hash;  // at the last sequencer
  DhCoding* coding;
  uint64_t regions;
  uint32_t inside;  // depth of runtime functions at work on this thread
  // Nothing more is logged: recording was stopped, or the process is a fork of the recorded one.
  uint32_t is_off;

  // A library call has read one byte at `waiting_read` (0: none), when `run` was `waiting_read_run`. A lock
  // that is looked at and then taken is one item; whatever else comes next, this is logged first. The writer
  // does so for a program that was killed.
  uint64_t waiting_read;
  uint64_t waiting_read_run;

  DhSeen seen[kDhSeen];
} DhRecord;

enum DhSlotState {
  kDhSlotFree = 0,   // the program may take it
  kDhSlotLive = 1,   // a thread writes to it
  kDhSlotEnded = 2,  // the thread has ended; the writer drains it and makes it free
};

// The arena: a memfd of one header page and as many slots as there were threads at a time. The program grows
// it (ftruncate) when it needs another slot, then raises `slots`.
enum { kDhMaxSlots = 1 << 16 };
typedef struct DhArena {
  uint64_t magic;
  uint32_t version;
  uint32_t pid;          // of the recorded process; set when its runtime has started
  uint32_t slots;        // by the program: slots that exist
  uint32_t stop;         // by the writer, a DhStopReason: record no more
  uint32_t writer_beat;  // by the writer: raised every time it looks around; it is alive
  uint32_t writer_wake;  // futex of the writer: raised by a program that waits for room
  uint64_t next_number;  // the next sequencer's number
  uint32_t next_thread;  // the next thread's number
  uint32_t finished;     // by the program: 1 it ended in order (then `status`)
  int32_t status;
  uint32_t unrecorded_threads;  // threads that were not created through pthread_create
  uint64_t writer_bytes;        // by the writer: bytes on disk so far
  uint64_t wall_nanoseconds;    // by the program, when it ends: since the recording began
  uint64_t cpu_nanoseconds;
  uint32_t signal;  // by the program, before `finished`: what ends it, 0 if it ends by itself
} DhArena;
#define DH_ARENA_MAGIC UINT64_C(0x616e657261686400)
enum DhStopReason { kDhRun = 0, kDhStopLimit = 1, kDhStopDisk = 2, kDhStopWriterGone = 3, kDhStopFork = 4 };

static inline uint64_t dh_slot_bytes(void) { return kDhSlotHeaderBytes + kDhRingBytes; }
static inline uint64_t dh_slot_offset(uint32_t slot) { return 4096 + slot * dh_slot_bytes(); }

// What the predictor has for `address`. It is where the processor reaches it without asking for its place.
static inline uint8_t* dh_image_at(DhRecord* record, uint64_t address) {
  return (uint8_t*)record + kDhSlotHeaderBytes + (address & kDhImageMask);
}

// One step of the thread's hash of stores. Order matters, so that swapped stores differ. It is a polynomial,
// so that several steps can be made as one: only one multiplication is then on the way from what was before
// to what comes next.
#define DH_MIX_VALUE UINT64_C(0xD6E8FEB86659FD93)
#define DH_MIX UINT64_C(0x9E3779B97F4A7C15)
static inline uint64_t dh_record_mix(uint64_t hash, uint64_t address, uint64_t value) {
  return (hash + address + value * DH_MIX_VALUE) * DH_MIX;
}
// The same as one step for each of the words from `address` on.
static inline uint64_t dh_record_mix2(uint64_t hash, uint64_t address, uint64_t a, uint64_t b) {
  return hash * (DH_MIX * DH_MIX) + (address * (DH_MIX * DH_MIX + DH_MIX) + 8 * DH_MIX +
                                     a * (DH_MIX_VALUE * DH_MIX * DH_MIX) + b * (DH_MIX_VALUE * DH_MIX));
}
static inline uint64_t dh_record_mix4(uint64_t hash, uint64_t address, const uint64_t* words) {
  const uint64_t later = dh_record_mix2(0, address + 16, words[2], words[3]);
  return hash * (DH_MIX * DH_MIX * DH_MIX * DH_MIX) +
         (dh_record_mix2(0, address, words[0], words[1]) * (DH_MIX * DH_MIX) + later);
}
// In versions 1 to 3 of the format.
static inline uint64_t dh_record_old_mix(uint64_t hash, uint64_t address, uint64_t value) {
  return (hash ^ (address + value * DH_MIX_VALUE)) * DH_MIX;
}
// What a sequencer says of it: the highest bits, which depend on all the others. Few are enough: the hash is
// never reset, so what one sequencer misses the next ones see, and the thread's last one has all of it.
static inline uint8_t dh_record_short_digest(uint64_t hash) { return (uint8_t)(hash >> 56); }
// In version 1 of the format.
static inline uint16_t dh_record_digest(uint64_t hash) { return (uint16_t)(hash >> 48); }

DH_C __attribute__((visibility("default"), tls_model("initial-exec"))) __thread DhRecord* __dh_record;

// ---------------------------------------------------------------------------------------------------------------------
// Modules. `globals` are the addresses of everything the module's code refers to, in the order of the plan
// (src/instrument/record/plan.h); `ir` is the module's bitcode as it was before instrumentation.
typedef struct DhRecordModule {
  uint64_t id;  // XXH3-64 of `ir`; the site numbers start at DH_OPAQUE_BASE + ((id & 0xffffffff) << 20)
  const uint8_t* ir;
  uint64_t ir_size;
  const void* const* globals;
  uint64_t global_count;
  uint64_t has_fences;  // 1: it has fences that acquire
} DhRecordModule;

// One per instrumented function that was linked in: of several copies of an inline function only the linker's
// choice has one (section deadheat_functions, tied to the function's own section).
typedef struct DhRecordFunction {
  const void* address;
  const DhRecordModule* module;
  uint64_t index;  // of the function in the plan; kDhReturnsNothing
} DhRecordFunction;
#define kDhReturnsNothing (UINT64_C(1) << 63)

// Called by one constructor per executable or shared library, before any other code of it.
DH_HOOK void __dh_rec_modules(uint32_t abi_version, const DhRecordModule* const* begin,
                              const DhRecordModule* const* end, const DhRecordFunction* first,
                              const DhRecordFunction* last);
// Its counterpart, when a library goes.
DH_HOOK void __dh_rec_modules_gone(const DhRecordModule* const* begin, const DhRecordModule* const* end);

// ---------------------------------------------------------------------------------------------------------------------
// Values. A load's hook stands behind it and is given what the program saw; a store's stands before it.
//
// Every instrumented function keeps copies of the thread's record, its run and its hash in variables of its
// own, which become registers: to count in memory would make each hook wait for the one before it. The copies
// are written through, so that memory is always right, and read again (`reload`) behind every call that may
// have changed it.
#define DH_COPIES DhRecord **record, uint64_t *run, uint64_t *hash
DH_HOOK void __dh_rec_reload(DH_COPIES);
DH_HOOK void __dh_rec_load1(const void* address, uint64_t value, DH_COPIES);
DH_HOOK void __dh_rec_load2(const void* address, uint64_t value, DH_COPIES);
DH_HOOK void __dh_rec_load4(const void* address, uint64_t value, DH_COPIES);
DH_HOOK void __dh_rec_load8(const void* address, uint64_t value, DH_COPIES);
DH_HOOK void __dh_rec_opaque(uint64_t site, uint64_t value, DH_COPIES);  // site: see DhRecordModule::id
DH_HOOK void __dh_rec_nothing(DH_COPIES);  // a call that returned nothing: keeps its place
DH_HOOK void __dh_rec_store1(void* address, uint64_t value, DH_COPIES);
DH_HOOK void __dh_rec_store2(void* address, uint64_t value, DH_COPIES);
DH_HOOK void __dh_rec_store4(void* address, uint64_t value, DH_COPIES);
DH_HOOK void __dh_rec_store8(void* address, uint64_t value, DH_COPIES);
// Words in a row, of vectors: each has its own place in the predictor. Those with `any` are for vectors that
// need not be aligned to 16 bytes, which may be where the predictor ends.
typedef uint64_t DhPair __attribute__((vector_size(16)));
DH_HOOK void __dh_rec_load16(const void* address, DhPair value, DH_COPIES);
DH_HOOK void __dh_rec_load32(const void* address, DhPair low, DhPair high, DH_COPIES);
DH_HOOK void __dh_rec_load_any16(const void* address, DhPair value, DH_COPIES);
DH_HOOK void __dh_rec_load_any32(const void* address, DhPair low, DhPair high, DH_COPIES);
DH_HOOK void __dh_rec_store16(void* address, DhPair value, DH_COPIES);
DH_HOOK void __dh_rec_store32(void* address, DhPair low, DhPair high, DH_COPIES);
DH_HOOK void __dh_rec_store_any16(void* address, DhPair value, DH_COPIES);
DH_HOOK void __dh_rec_store_any32(void* address, DhPair low, DhPair high, DH_COPIES);

// Not inlined: any size up to 8 bytes, anywhere.
DH_HOOK void __dh_rec_load_any(const void* address, uint64_t value, uint32_t size);
DH_HOOK void __dh_rec_store_any(void* address, uint64_t value, uint32_t size);
DH_HOOK DH_SLOW void __dh_rec_load_slow(DhRecord* record, uint64_t address, uint64_t value, uint32_t size);
// Words, at most where the predictor ends: each by itself. The store is not counted in the hash, which is
// done already.
DH_HOOK DH_SLOW void __dh_rec_load_words_slow(DhRecord* record, uint64_t address, DhPair words);
DH_HOOK DH_SLOW void __dh_rec_store_words_slow(DhRecord* record, uint64_t address, DhPair words);

// Done by the runtime, word by word, so that what is logged is what was moved.
DH_HOOK void __dh_rec_memcpy(void* to, const void* from, size_t size);
DH_HOOK void __dh_rec_memmove(void* to, const void* from, size_t size);
DH_HOOK void __dh_rec_memset(void* to, int byte, size_t size);

// ---------------------------------------------------------------------------------------------------------------------
// Calls. Around a call of invisible code; `cache` is a word of the call site's own, 0 at first.
//
// Says what the target is: kDhTargetVisible, kDhTargetReturnsNothing. C programs cast functions without a
// result to types that have one, and store what was left in the register: such a result is 0, here and in a
// replay.
enum { kDhTargetVisible = 1, kDhTargetReturnsNothing = 2 };
DH_HOOK uint32_t __dh_rec_is_visible(const void* target, uint64_t* cache);
DH_HOOK DH_SLOW uint32_t __dh_rec_is_visible_slow(const void* target, uint64_t* cache);
DH_HOOK void __dh_rec_call_begin(uint32_t is_visible);
// Delivers what waits for the thread, if this is a moment for it.
DH_HOOK DH_SLOW void __dh_rec_attend(DhRecord* record);
DH_HOOK void __dh_rec_call_end(void);  // of one that was not visible
// An instrumented function that is entered while `invisible` is set was called back: `words` are its
// arguments.
// Every function asks first: where nothing is recorded any more, its plain copy runs instead.
DH_HOOK uint32_t __dh_rec_is_off(void);
DH_HOOK uint32_t __dh_rec_is_callback(void);
DH_HOOK void __dh_rec_callback_begin(const void* function, const uint64_t* words, uint32_t count);
DH_HOOK void __dh_rec_callback_end(void);
DH_HOOK void __dh_rec_callback_unwound(void);
// Exceptions: the depth of invokes in this thread, kept by the functions that have some.
// `depth` is the function's own: what the thread's was when it was entered; its invokes run one deeper.
DH_HOOK uint32_t __dh_rec_depth(void);
DH_HOOK void __dh_rec_set_depth(uint32_t depth);
DH_HOOK void __dh_rec_landed(uint32_t depth);
// After a setjmp returned `value`; `depth` is the function's own.
DH_HOOK void __dh_rec_setjmp(const void* environment, int value, uint32_t depth);

// ---------------------------------------------------------------------------------------------------------------------
// Atomics: done by the runtime under a lock of the location, so that value and sequencer are one step. Sizes
// 1, 2, 4, 8 bytes; 16-byte ones by their own. `operation` is a DhAtomic; returns the value before.
//
// Loads are another matter. What a load teaches, it teaches once: while nobody has changed the location since
// this thread's last sequencer there, it has no sequencer (atomics.cc). And a relaxed load teaches nothing
// until a fence acquires what it saw; as long as no module has such a fence it is a value like any other.
enum DhAtomic {
  kDhAtomicLoad,
  kDhAtomicStore,
  kDhAtomicExchange,
  kDhAtomicAdd,
  kDhAtomicSub,
  kDhAtomicAnd,
  kDhAtomicOr,
  kDhAtomicXor,
  kDhAtomicNand,
  kDhAtomicMax,
  kDhAtomicMin,
  kDhAtomicUMax,
  kDhAtomicUMin,
  kDhAtomicCompareExchange,
  kDhAtomicFence,
};
DH_C __attribute__((visibility("default"))) uint32_t __dh_rec_has_fences;
DH_HOOK uint64_t __dh_rec_relaxed_load1(void* address, DH_COPIES);
DH_HOOK uint64_t __dh_rec_relaxed_load2(void* address, DH_COPIES);
DH_HOOK uint64_t __dh_rec_relaxed_load4(void* address, DH_COPIES);
DH_HOOK uint64_t __dh_rec_relaxed_load8(void* address, DH_COPIES);
DH_HOOK uint64_t __dh_rec_atomic(void* address, uint64_t operand, uint32_t operation, uint32_t size,
                                 uint32_t order);
DH_HOOK uint64_t __dh_rec_compare_exchange(void* address, uint64_t expected, uint64_t desired, uint32_t size,
                                           uint32_t success, uint32_t failure);
DH_HOOK void __dh_rec_atomic16(void* address, const uint64_t* expected, const uint64_t* desired,
                               uint64_t* before, uint32_t operation, uint32_t order);
DH_HOOK void __dh_rec_fence(uint32_t order);
