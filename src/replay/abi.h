// The hooks of a replay: what mirrored code (mirror.h) calls, and the state of a replayed thread that it
// shares with the rest of src/replay.
//
// This is the mirror image of runtime/record_abi.h. A recorded thread's value hook compares a value with the
// predictor and logs it if the predictor did not know it; here the same predictor, or the log, *gives* the
// value. A run of predicted values is counted down instead of up. Stores feed the predictor and the hash
// exactly as they did when recording.
//
// The bodies of the hot hooks are in hook_bodies.h. They are compiled to bitcode three times
// (replay_hooks.cc): `bare`, for verification only; `observed`, which also reports every access to the
// observers; and `live`, where every hook is a call, so that it can ask the log or, in a live world, the
// memory image.
//
// C-compatible layouts only.
#pragma once

#include "runtime/record_abi.h"

// Why a thread is leaving its frames without returning to them. Mirrored code has no exception tables: after
// every call it asks whether the thread is unwinding, and if so returns at once.
enum DhUnwinding {
  kDhNotUnwinding = 0,
  kDhToLandingPad = 1,  // of the invoke of depth `target`
  kDhToBoundary = 2,    // out of the innermost call-back
};

// What an observed access was.
enum DhAccessFlags {
  kDhAccessWrite = 1 << 8,  // low byte: the size
  kDhAccessAtomic = 1 << 9,
  kDhAccessSequenced = 1 << 10,  // an atomic that has a sequencer
};

enum { kDhMaxArguments = 16 };  // further ones are not looked at
enum { kDhMaxResults = 8 };

// Whose bytes the predictor has, granule by granule of 8 bytes: for recordings whose predictor knew that
// (Predictor::kTagged), and for observers, who are told whether a store changes anything. What a granule's
// place does not tell of its number; never 0. User addresses have 47 bits, so that nothing is lost.
enum { kDhTags = kDhImageBytes >> 3 };
static inline uint32_t dh_tag_of(uint64_t address) { return (uint32_t)(address / kDhImageBytes) + 1; }

// Labelled code only (flow.h): how data-flow labels pass between mirrored code, hooks and functions.
enum DhLabelRule {
  kDhLabelPlain = 0,   // what is written has the operand's label
  kDhLabelCopy = 1,    // each write has the label of the read before it
  kDhLabelUpdate = 2,  // what is written has the operand's and what was read's
};
enum { kDhMaxLabels = 64 };  // the last one stands for all further arguments
typedef struct DhLabels {
  // Of the access that comes next, set by mirrored code.
  uint32_t rule;     // DhLabelRule
  uint32_t from;     // label of the address that is read
  uint32_t to;       // of the address that is written
  uint32_t operand;  // of what is written
  uint32_t read;     // 0, and then of all that was read
  // Of a call: its arguments, and what it returned. `callback`: of each argument of a call-back.
  uint32_t result;
  uint32_t callback;
  uint32_t count;
  uint32_t arguments[kDhMaxLabels];
} DhLabels;

// The hot state of a replayed thread.
typedef struct DhReplay {
  uint64_t run;        // predicted values before the next item
  uint64_t hash;       // of the stores since the thread began
  uint32_t depth;      // nested invokes on the stack
  uint32_t unwinding;  // DhUnwinding
  uint32_t target;
  uint32_t frame;         // observed: call sites on the shadow stack
  uint32_t* frames;       // observed: the shadow stack, kDhMaxFrames entries
  uint64_t stores;        // statistics
  uint64_t instructions;  // counted code: executed, of the program
  uint32_t site;          // observed: of the last access
  uint32_t wants_calls;   // observed: report calls as well
  void* owner;            // replay::Thread
  // Observed, if calls are reported: the words of the arguments of the invisible call that is about to begin.
  uint64_t argument_pointers;  // bit i: word i is a pointer
  uint32_t argument_count;
  uint64_t arguments[kDhMaxArguments];
  // Live code only.
  uint64_t accesses;           // told to observers so far
  uint64_t stop_at;            // the thread stops before the access that makes `accesses` this; 0: never
  const uint64_t* call_words;  // the arguments of the call into invisible code that begins
  uint64_t call_word_count;
  uint64_t results[kDhMaxResults];  // of the call-back that ended
  uint64_t fault;  // 0, or 1 + the address of a store that faulted, before what the log has next
  void* flow;      // replay::Flow; null if not labelled
  DhLabels labels;
  uint32_t is_tagged;
  uint32_t tags[kDhTags];
  uint8_t image[kDhImageBytes + kDhImageSlack] __attribute__((aligned(64)));
} DhReplay;

enum { kDhMaxFrames = 1 << 24 };

// The thread that runs.
DH_C DhReplay* __dh_replay;

// What the mirrored code of one module knows of its instance (program.h).
typedef struct DhInstance {
  uint64_t site_base;  // the instance's first SiteId
  void* owner;         // replay::Instance
} DhInstance;

// A call site's memory of its last target: the recorded address, and the mirrored code or null if it is
// invisible.
typedef struct DhTargetCache {
  uint64_t address;
  void* code;
  uint64_t returns_nothing;  // whatever its caller expects: kDhTargetReturnsNothing
} DhTargetCache;

// ---------------------------------------------------------------------------------------------------------------------
// Hot hooks, inlined. Addresses are the recorded program's.
//
// As in recorded programs, every mirrored function keeps the thread's counters in variables of its own, which
// become registers: counted in memory, each hook would wait for the one before it. `flush` brings memory up
// to date before anything that looks at it (calls, returns), `reload` reads it again behind everything that
// may have changed it. The hash is written through, so that who looks from outside sees the thread at work
// (Thread::tick); of the stores, those since the last flush are counted. Live code has no copies: there,
// every hook works on memory.
#define DH_REPLAY_COPIES DhReplay *thread, uint64_t *run, uint64_t *hash, uint64_t *stores
DH_HOOK void __dh_rep_flush(DH_REPLAY_COPIES);
DH_HOOK void __dh_rep_reload(DH_REPLAY_COPIES);
// `run` only: before what no hook precedes, an endless loop or a trap.
DH_HOOK void __dh_rep_flush_run(DH_REPLAY_COPIES);
DH_HOOK uint64_t __dh_rep_load1(DH_REPLAY_COPIES, uint64_t address, uint32_t site);
DH_HOOK uint64_t __dh_rep_load2(DH_REPLAY_COPIES, uint64_t address, uint32_t site);
DH_HOOK uint64_t __dh_rep_load4(DH_REPLAY_COPIES, uint64_t address, uint32_t site);
DH_HOOK uint64_t __dh_rep_load8(DH_REPLAY_COPIES, uint64_t address, uint32_t site);
DH_HOOK uint64_t __dh_rep_load_any2(DH_REPLAY_COPIES, uint64_t address, uint32_t site);
DH_HOOK uint64_t __dh_rep_load_any4(DH_REPLAY_COPIES, uint64_t address, uint32_t site);
DH_HOOK uint64_t __dh_rep_load_any8(DH_REPLAY_COPIES, uint64_t address, uint32_t site);
DH_HOOK void __dh_rep_store1(DH_REPLAY_COPIES, uint64_t address, uint64_t value, uint32_t site);
DH_HOOK void __dh_rep_store2(DH_REPLAY_COPIES, uint64_t address, uint64_t value, uint32_t site);
DH_HOOK void __dh_rep_store4(DH_REPLAY_COPIES, uint64_t address, uint64_t value, uint32_t site);
DH_HOOK void __dh_rep_store8(DH_REPLAY_COPIES, uint64_t address, uint64_t value, uint32_t site);
DH_HOOK void __dh_rep_store_any2(DH_REPLAY_COPIES, uint64_t address, uint64_t value, uint32_t site);
DH_HOOK void __dh_rep_store_any4(DH_REPLAY_COPIES, uint64_t address, uint64_t value, uint32_t site);
DH_HOOK void __dh_rep_store_any8(DH_REPLAY_COPIES, uint64_t address, uint64_t value, uint32_t site);
// Of an object's virtual table, 8 bytes and aligned: where the same one stands already, nothing is changed.
DH_HOOK void __dh_rep_store_vptr(DH_REPLAY_COPIES, uint64_t address, uint64_t value, uint32_t site);
// Words of a store of several, for the hash and the count only: the mirrored code itself writes the image.
DH_HOOK void __dh_rep_mix(DH_REPLAY_COPIES, uint64_t address, uint64_t value);
DH_HOOK void __dh_rep_mix2(DH_REPLAY_COPIES, uint64_t address, uint64_t a, uint64_t b);
// Bare only: an atomic load, which is a load like others as long as nothing but values comes next.
DH_HOOK uint64_t __dh_rep_atomic_load1(DH_REPLAY_COPIES, uint64_t address, uint32_t site);
DH_HOOK uint64_t __dh_rep_atomic_load2(DH_REPLAY_COPIES, uint64_t address, uint32_t site);
DH_HOOK uint64_t __dh_rep_atomic_load4(DH_REPLAY_COPIES, uint64_t address, uint32_t site);
DH_HOOK uint64_t __dh_rep_atomic_load8(DH_REPLAY_COPIES, uint64_t address, uint32_t site);
DH_HOOK uint64_t __dh_rep_opaque(DH_REPLAY_COPIES, uint64_t pseudo_address);
DH_HOOK void __dh_rep_nothing(DH_REPLAY_COPIES);
// What happened on the thread while invisible code at `target` ran.
DH_HOOK void __dh_rep_invisible(DH_REPLAY_COPIES, uint64_t target, uint32_t site);
// Observed: an argument of the invisible call that comes next.
DH_HOOK void __dh_rep_argument(DhReplay* thread, uint64_t word, uint32_t is_pointer);
// The mirrored code of the function at `target`, null if it is invisible.
DH_HOOK void* __dh_rep_target(uint64_t target, DhTargetCache* cache);
// Of the target that was asked for last.
DH_HOOK uint32_t __dh_rep_returns_nothing(const DhTargetCache* cache);
// The mirrored code of a function of the instance.
DH_HOOK void* __dh_rep_code(DhInstance* instance, void** code, uint64_t index);
// The shadow stack: its height when a function is entered; a call begins and ends.
DH_HOOK uint32_t __dh_rep_enter(DhReplay* thread, DhInstance* instance, uint64_t function);
DH_HOOK void __dh_rep_call_begin(DhReplay* thread, uint32_t frame, uint32_t site);
DH_HOOK void __dh_rep_call_end(DhReplay* thread, uint32_t frame);

// ---------------------------------------------------------------------------------------------------------------------
// The rest, called. Bare and observed ones where they make accesses.
DH_HOOK uint64_t __dh_rep_load_any(DhReplay* thread, uint64_t address, uint32_t size, uint32_t site);
DH_HOOK void __dh_rep_store_any(DhReplay* thread, uint64_t address, uint64_t value, uint32_t size,
                                uint32_t site);
DH_HOOK void __dh_rep_copy(DhReplay* thread, uint64_t to, uint64_t from, uint64_t size, uint32_t may_overlap,
                           uint32_t site);
DH_HOOK void __dh_rep_fill(DhReplay* thread, uint64_t to, uint32_t byte, uint64_t size, uint32_t site);
DH_HOOK uint64_t __dh_rep_atomic(DhReplay* thread, uint64_t address, uint64_t operand, uint64_t expected,
                                 uint32_t operation, uint32_t size, uint32_t site);
DH_HOOK void __dh_rep_atomic16(DhReplay* thread, uint64_t address, const uint64_t* expected,
                               const uint64_t* desired, uint64_t* before, uint32_t operation, uint32_t site);
DH_HOOK void __dh_rep_fence(DhReplay* thread, uint32_t site);
DH_HOOK void __dh_rep_resume(DhReplay* thread, uint32_t site);
// The code says that control never comes here; if the log agrees, the thread ended here.
DH_HOOK __attribute__((noreturn)) void __dh_rep_unreachable(DhReplay* thread, uint32_t site);
// Where to keep the context of a setjmp.
DH_HOOK void* __dh_rep_jump_buffer(DhReplay* thread, uint64_t environment);

// Observed only: a local begins, or ends its life.
DH_HOOK void __dh_rep_local(DhReplay* thread, uint64_t address, uint64_t size, uint32_t site);
DH_HOOK void __dh_rep_local_end(DhReplay* thread, uint64_t address, uint64_t size, uint32_t site);
// Labelled only. The label of what depends on both; of `count` bytes of a private local; those bytes get one.
DH_HOOK uint32_t __dh_rep_join(DhReplay* thread, uint32_t a, uint32_t b);
DH_HOOK uint32_t __dh_rep_gather(DhReplay* thread, const uint32_t* labels, uint32_t count);
DH_HOOK void __dh_rep_spread(uint32_t* labels, uint32_t count, uint32_t label);
// Control depends on a value.
DH_HOOK void __dh_rep_branch(DhReplay* thread, uint32_t label, uint32_t site);
// Memory that was copied while nobody looked: an argument passed by value.
DH_HOOK void __dh_rep_copy_labels(DhReplay* thread, uint64_t to, uint64_t from, uint64_t size);
// Live code only: what the hot hooks call there (live/live_hooks.cc).
DH_HOOK uint64_t __dh_rep_live_load(DhReplay* thread, uint64_t address, uint32_t size, uint32_t site);
DH_HOOK void __dh_rep_live_store(DhReplay* thread, uint64_t address, uint64_t value, uint32_t size,
                                 uint32_t site);
DH_HOOK uint64_t __dh_rep_live_opaque(DhReplay* thread, uint64_t pseudo_address, uint32_t site);
DH_HOOK void __dh_rep_live_nothing(DhReplay* thread);
DH_HOOK void __dh_rep_live_invisible(DhReplay* thread, uint64_t target, uint32_t site);
DH_HOOK void __dh_rep_live_enter(DhReplay* thread);
// An instruction of the program with an effect and no result.
DH_HOOK void __dh_rep_live_void(DhReplay* thread, uint32_t site);
// A list of variable arguments begins (`native` is the mirrored function's own), or is copied.
DH_HOOK void __dh_rep_live_va_start(DhReplay* thread, uint64_t list, const void* native, uint32_t site);
DH_HOOK void __dh_rep_live_va_copy(DhReplay* thread, uint64_t to, uint64_t from, uint32_t site);
// The address of the callee's copy of `size` bytes at `pointer`; of a local of that size if it is 0.
DH_HOOK uint64_t __dh_rep_live_by_value(DhReplay* thread, uint64_t pseudo_address, uint32_t site,
                                        uint64_t pointer, uint64_t size);

// Slow paths of the hot ones.
DH_HOOK DH_SLOW uint64_t __dh_rep_value_slow(DhReplay* thread, uint64_t address, uint32_t size,
                                             uint32_t site);
DH_HOOK DH_SLOW void __dh_rep_nothing_slow(DhReplay* thread);
DH_HOOK DH_SLOW void __dh_rep_invisible_slow(DhReplay* thread, uint64_t target, uint32_t site);
DH_HOOK DH_SLOW void __dh_rep_observe_invisible(DhReplay* thread, uint64_t target, uint32_t site);
DH_HOOK DH_SLOW void __dh_rep_observe_invisible_end(DhReplay* thread);
DH_HOOK uint32_t __dh_rep_join_slow(DhReplay* thread, uint32_t a, uint32_t b);
DH_HOOK DH_SLOW void __dh_rep_observe_branch(DhReplay* thread, uint32_t label, uint32_t site);
DH_HOOK void* __dh_rep_target_slow(uint64_t target, DhTargetCache* cache);
DH_HOOK void* __dh_rep_compile(DhInstance* instance, uint64_t index);
DH_HOOK DH_SLOW void __dh_rep_observe(DhReplay* thread, uint64_t address, uint64_t value,
                                      uint32_t size_and_flags, uint32_t site);
DH_HOOK DH_SLOW void __dh_rep_observe_enter(DhReplay* thread, DhInstance* instance, uint64_t function);
