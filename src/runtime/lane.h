// What interposed library calls tell the lane that is linked in.
//
// src/runtime/interpose/ knows *which* calls synchronise, allocate or touch memory; a lane (watch/, monitor/,
// record/) knows what to make of it. Exactly one lane is linked into a program, so these are plain functions,
// resolved by the linker.
//
// A lane may inline what is short of it into interposers that are compiled for it alone: the monitor lane
// does (DEADHEAT_LANE_MONITOR, monitor/lane_inline.h).
//
// All of them may be called at any time on any thread, before the runtime is initialised and after exit
// included; they never allocate with the program's allocator, never take the program's locks, and keep errno.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

namespace deadheat::lane {

// The return address of the interposed call, so that a report shows the caller's line.
struct Pc {
  uintptr_t value;
};
#define DEADHEAT_CALLER_PC \
  (::deadheat::lane::Pc{   \
      reinterpret_cast<uintptr_t>(__builtin_extract_return_addr(__builtin_return_address(0)))})

// --- Memory accesses made by library calls on the program's behalf. Called before the real call where it
// reads, and
//     before or after where it writes (when only the result says how much).
void read(const void* address, size_t size, Pc pc);
void write(void* address, size_t size, Pc pc);
// False if the code there is known not to be instrumented, so that what it does to its own memory is nobody's
// business. A lane that says nothing cannot tell.
#ifndef DEADHEAT_LANE_MONITOR
bool code_is_seen(Pc pc);
#else
constexpr bool code_is_seen(Pc) { return true; }
#endif

// --- Allocation. `allocated`: fresh memory, nobody has touched it. `freeing`: called before the memory is
// given back;
//     counts as an access of the whole block ("free" in reports).
void allocated(void* address, size_t size, Pc pc);
// The program has asked how much of a block it may use: from now on the block is that large, and what it was
// not given before is as fresh as the rest was.
void usable(void* address, size_t size);
// What becomes of a block's memory: the allocator keeps it, or gives it back to the kernel at once.
enum class MemoryThen { kStays, kIsUnmapped };
void freeing(void* address, Pc pc, MemoryThen then = MemoryThen::kStays);
// Address space that appears or goes without the allocator (mmap, munmap, shmat ...).
void mapped(void* address, size_t size, Pc pc);
void unmapping(void* address, size_t size, Pc pc);
// A library is about to hand memory of its own to all threads, in an order that nobody sees: what was done to
// it so far comes before whatever will be done to it.
void published(const void* address, size_t size);
// What has just been mapped can be written by nobody, and never be made writable. Defined by lanes that make
// something of it.
__attribute__((weak)) void mapped_unwritable(void* address, size_t size);

// --- Happens-before through any object with an address (a semaphore, a file descriptor's key, a once flag, a
// guard).
void acquire(const volatile void* object);        // what was released to it is ordered before what follows
void release(const volatile void* object);        // what came before is added to what the object carries
void release_store(const volatile void* object);  // what came before replaces what the object carries
void forget(const volatile void* object);  // the object is gone; its address may be something else next

// False if the lane takes all objects for one: then which object a descriptor leads to need not be found out,
// which takes system calls. A lane that says nothing tells them apart.
#ifndef DEADHEAT_LANE_MONITOR
bool tells_objects_apart();
#else
constexpr bool tells_objects_apart() { return false; }
#endif

// --- Locks. `acquired` after the real call succeeded, `releasing` before it is made. `recursion` of
// recursive locks is
//     counted by the interposer: only the outermost pair is told.
// A lane that has no use for acquired locks says so, and is told of every release instead of the outermost.
// A lane that says nothing hears all.
#ifndef DEADHEAT_LANE_MONITOR
extern bool hears_acquired_locks;
#else
inline constexpr bool hears_acquired_locks = false;
#endif
//
// A lock that is an object of the program is read by every use, so that using one that is not yet, or no
// longer, one is the race it is: `wanted` before the real call; afterwards `acquired`, or `only_used` if it
// was not (or not for the first time). A lane may take either for the read.
enum class LockMode : uint8_t { kExclusive, kShared };
enum class LockIs : uint8_t { kObject, kName };
void lock_wanted(const void* lock, LockMode mode, Pc pc);
void lock_only_used(const void* lock, LockMode mode, Pc pc);
void lock_acquired(const volatile void* lock, LockMode mode, LockIs is, Pc pc);
void lock_releasing(const volatile void* lock, Pc pc);
void lock_destroyed(const volatile void* lock);

// --- Barriers, per generation: arrive before waiting, leave after. `participants` is the count it was
// initialised with.
struct BarrierTicket {
  uint64_t generation;
};
void barrier_initialised(const volatile void* barrier, uint32_t participants);
BarrierTicket barrier_arrive(const volatile void* barrier);
void barrier_leave(const volatile void* barrier, BarrierTicket ticket);
void barrier_destroyed(const volatile void* barrier);

// --- Threads. The interposer of pthread_create calls `thread_creating` in the parent, hands the result to
// the child, which
//     calls `thread_started` first and `thread_finishing` last (after the destructors of thread-specific
//     data).
struct ThreadStart;
ThreadStart* thread_creating(Pc pc);
void thread_create_failed(ThreadStart* start);
void thread_started(ThreadStart* start);
void thread_finishing();
// Joining: find before the real join (the handle is still unique), tell after it succeeded.
struct ThreadRef;
ThreadRef* thread_find(pthread_t handle);
void thread_joined(ThreadRef* thread);
// Around a join that only ends with the other thread: `thread_joining` before it, and after it
// `thread_joined` or, if it failed, `thread_not_joined`.
void thread_joining(ThreadRef* thread);
void thread_not_joined();
// Around a wait for a condition: the thread does nothing more before it has `mutex` again, which it has just
// given up; and: it has it, or will never get it.
void condition_waiting(const volatile void* mutex);
void condition_waited();
// The program may have a thread do something in the middle of a call that waits: a signal's handler, the
// clean-up of a thread that is cancelled.
void waits_may_be_cut_short();
void thread_detached(ThreadRef* thread);
void thread_named(pthread_t handle, const char* name);

// --- Fibers, as the program tells of them (ThreadSanitizer's calls): which one goes on in this thread.
//     `orders`: what the present one did is ordered before what that one will do.
struct FiberRef;
FiberRef* fiber_current();
FiberRef* fiber_created(Pc pc);
void fiber_switching(FiberRef* to, bool orders);
void fiber_destroyed(FiberRef* fiber);
void fiber_named(FiberRef* fiber, const char* name);

// --- Contexts: stacks that the program switches by itself (makecontext, swapcontext). `context_made`: one of
//     them, and the stack pointer it will begin with. `context_switching`: this thread leaves the stack it is
//     on at `from` and goes on at `to`; `is_over`: the context has ended. Defined by lanes that need them.
__attribute__((weak)) void context_made(const void* stack, size_t size, const void* at);
__attribute__((weak)) void context_switching(const void* from, const void* to, bool is_over);

// --- Processes. `fork_preparing` in the parent before fork(2), then exactly one of the others on each side.
void fork_preparing();
void fork_parent();
void fork_child();

// Before exec(2): what was found is written. If the exec fails, the program goes on, and so does the lane.
void before_exec();

// --- Signals: true while this thread is inside the runtime, where a handler must not run instrumented code;
// the interposer
//     of handlers then keeps the signal and calls the handler from `deliver_pending_signals`, which the lane
//     calls on its way out.
bool inside_runtime();
// Set by the interposer; called by the lane when the thread leaves the runtime and `signals_pending` is
// nonzero.
extern void (*deliver_pending_signals)();
extern __thread uint32_t signals_pending;

// --- Faults: a handler for what the program's own code did at this very place (it was not sent) is about to
//     run, at once, or has returned. `is_write`: by a store to `address`. Defined by lanes that need it.
struct Interrupted {
  uint64_t words[6];
};
__attribute__((weak)) Interrupted fault_beginning(const void* address, bool is_write);
__attribute__((weak)) void fault_ended(const Interrupted& interrupted);
// The handler does not return: it is about to jump away.
__attribute__((weak)) void fault_left(Interrupted* interrupted);
// The signal that `finish` is called for, if it is.
__attribute__((weak)) void dying_of(int signal);

// --- Libraries: one may be about to be unloaded, and reports will still tell of its code. The interposer
//     then keeps its addresses from the next one, a few times. Defined by lanes that need it.
__attribute__((weak)) void library_closing();
// One or more were loaded, by this thread. What a report needs to know of them may be out of reach later (a
// program that changes its root).
__attribute__((weak)) void libraries_loaded();

// --- Annotations (deadheat/annotate.h, ThreadSanitizer's names).
void ignore_begin(bool reads, bool writes);
void ignore_end(bool reads, bool writes);
void ignore_sync_begin();
void ignore_sync_end();
void benign_race(const volatile void* address, size_t size, const char* description, Pc pc);

// --- Start and end of the process. `initialise` may be called many times and early; only the first counts.
// `finish` writes
//     what is to be written and returns the exit code to use instead of `status`.
void initialise();
int finish(int status);

}  // namespace deadheat::lane

#ifdef DEADHEAT_LANE_MONITOR
#include "runtime/monitor/lane_inline.h"
#endif
