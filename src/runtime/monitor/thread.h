// Threads of the monitor lane: who they are, what they monitor, and the few things a report says about them.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "runtime/lane.h"
#include "runtime/monitor_abi.h"

namespace deadheat::monitor {

// A call stack, innermost first: the pc of an access, then return addresses.
struct Stack {
  static constexpr unsigned kMax = 20;
  uint32_t count;
  uintptr_t pcs[kMax];
};

// What a report says of a thread. Kept as long as the thread may be joined, no longer: a server that runs for
// weeks starts millions, and both sides of a race are alive when it is found.
struct ThreadInfo {
  uint32_t id;  // 0 is the main thread, then in order of creation
  uint32_t parent;
  int os_id;
  char name[16];
  Stack created;
};

enum class AccessType : uint8_t { kRead, kWrite, kFree };
constexpr bool is_write(AccessType type) { return type != AccessType::kRead; }

// One monitor of one thread, as others see it. Written by its thread only: odd versions mean that it is being
// written.
struct Monitor {
  uint32_t version;
  AccessType type;
  bool kept;       // lives through the release that is about to come
  bool prompt;     // the access is made before its thread comes to its place again
  uint8_t range;   // 1 + number of the range, or 0: a point
  uint64_t* slot;  // where a point's word is
  uint64_t word;   // what is there while the monitor is active
  uintptr_t address;
  uint64_t size;
  uint32_t stride;  // as in Comb
  uint32_t width;
  Stack stack;
};

struct Statistics {
  uint64_t starts;     // of monitors, already active ones included
  uint64_t points;     // point monitors that became active
  uint64_t ranges;     // range monitors that became active
  uint64_t strided;    // of these, with gaps
  uint64_t dropped;    // no room in the table
  uint64_t lost;       // overlaps seen whose other side was gone before its stack was read
  uint64_t replaced;   // stopped early to make room for a newer one
  uint64_t releases;   // that stopped something
  uint64_t invisible;  // of these, calls of or returns to invisible code
  uint64_t cycles;     // spent in all of the above

  void add(const Statistics& other);
};

struct Thread {
  static constexpr unsigned kMonitors = 64;

  uint32_t inside = 0;  // depth of runtime calls: signal handlers wait while it is not 0
  uint32_t number = 0;  // in words of the table; 0: this thread monitors nothing
  uint32_t ignore_reads = 0;
  uint32_t ignore_writes = 0;
  uint32_t next = 0;       // which monitor to replace when all are in use
  uint32_t count = 0;      // how many monitors are in use
  uint32_t looked_at = 0;  // the number of the thread that was last asked for points in the middle of a range
  uint64_t random = 0;
  uint64_t activations = 0;    // of ranges
  uintptr_t stopped_at = 0;    // the code that last made monitors stop
  uint32_t waiting = 0;        // races that wait until this thread has made its access (waiting.h)
  uint32_t interruptions = 0;  // how often a signal's handler came between this thread and what it was to do
  DhMonitorHot* hot = nullptr;
  uintptr_t stack_low = 0;
  uintptr_t stack_high = 0;
  Statistics statistics{};

  ThreadInfo info{};
  pthread_t handle{};
  bool handle_known = false;
  bool finished = false;
  bool detached = false;
  Thread* next_live = nullptr;
  Thread* previous_live = nullptr;

  uint32_t
      skip[kDhMonitorPlaces];  // with random caps: how often a place is passed over before its next monitor
  Monitor monitors[kMonitors];
};
static_assert(sizeof(Thread) <= size_t{16} << 10, "the runtime's allocator would take twice as much");

// A monitor as a report shows it.
struct MonitorCopy {
  AccessType type;
  bool prompt;
  uintptr_t address;
  uint64_t size;
  Stack stack;
};

// Null for threads the runtime never saw start, and after a thread's end: they monitor nothing.
extern __thread Thread* current_thread __attribute__((tls_model("initial-exec")));

// Marks the thread as inside the runtime; delivers signals that came meanwhile on the way out.
class Inside {
 public:
  explicit Inside(Thread* thread) : thread_(thread) { ++thread_->inside; }
  ~Inside() {
    if (--thread_->inside == 0 && __builtin_expect(lane::signals_pending != 0, 0)) deliver();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  static void deliver();
  Thread* thread_;
};

class KeepErrno {
 public:
  KeepErrno();
  ~KeepErrno();

 private:
  int saved_;
};

// Threads are numbered while they live, from 1; beyond this many at once, further ones monitor nothing.
inline constexpr uint32_t kNumbers = 2048;
Thread* thread_of_number(uint32_t number);
void thread_gives_up_number(const Thread* thread);

void threads_initialise();
Thread* thread_create(Thread* parent, uintptr_t pc);
void thread_start(Thread* thread);
void thread_finish(Thread* thread);
void thread_abandon(Thread* thread);  // its creation failed
void thread_join(Thread* thread);
void thread_detach(Thread* thread);
Thread* thread_by_handle(pthread_t handle);
uint32_t threads_created();
uint32_t threads_unmonitored();  // of these, how many monitored nothing
// Whose stack holds this address: its id, or -1.
int64_t stack_owner(uintptr_t address);
Statistics total_statistics();
void threads_fork_preparing();
void threads_fork_parent();
void threads_fork_child(Thread* survivor);

}  // namespace deadheat::monitor
