// See fake_lane.h. Uses nothing that it is told about: no allocator, no locks, no libc beyond types.
#include "runtime/interpose/tests/fake_lane.h"

#include "runtime/lane.h"
#include "runtime/plain_fibers.h"
#include "runtime/platform/spinlock.h"
#include "runtime/platform/syscalls.h"

using namespace deadheat;

extern "C" int record_objects;
int record_objects;

namespace {

struct Name {
  uintptr_t address;
  size_t size;
  const char* name;
};
Name names[64];
unsigned name_count;
char text[1 << 16];
size_t text_size;
bool recording;
platform::Spinlock lock;
void* last_pc;

const Name* find(const volatile void* address) {
  auto const a = reinterpret_cast<uintptr_t>(address);
  for (unsigned i = 0; i < name_count; ++i) {
    if (a >= names[i].address && a < names[i].address + names[i].size) return &names[i];
  }
  return nullptr;
}

void put(const char* s) {
  while (*s != 0 && text_size + 1 < sizeof text) text[text_size++] = *s++;
  text[text_size] = 0;
}
void put_number(uint64_t value) {
  char digits[24];
  unsigned count = 0;
  do digits[count++] = static_cast<char>('0' + value % 10);
  while ((value /= 10) != 0);
  char out[25];
  unsigned n = 0;
  while (count > 0) out[n++] = digits[--count];
  out[n] = 0;
  put(out);
}

// Objects without a name, when asked for: numbered as they come.
uintptr_t objects[256];
unsigned object_count;

constexpr uint64_t kNone = ~uint64_t{0};

// "what name[+offset] [number] [suffix]"
void note(const char* what, const volatile void* address, uint64_t number = kNone, const char* suffix = "",
          lane::Pc pc = {0}) {
  platform::SpinGuard const guard(lock);
  if (!recording) return;
  const Name* const name = find(address);
  if (name == nullptr) return;
  if (pc.value != 0) last_pc = reinterpret_cast<void*>(pc.value);
  if (text_size != 0) put("; ");
  put(what);
  put(" ");
  put(name->name);
  uintptr_t const offset = reinterpret_cast<uintptr_t>(address) - name->address;
  if (offset != 0) {
    put("+");
    put_number(offset);
  }
  if (number != kNone) {
    put(" ");
    put_number(number);
  }
  put(suffix);
}

void note_object(const char* what, const volatile void* address) {
  if (!record_objects || find(address) != nullptr) return note(what, address);
  platform::SpinGuard const guard(lock);
  if (!recording) return;
  auto const a = reinterpret_cast<uintptr_t>(address);
  unsigned i = 0;
  while (i < object_count && objects[i] != a) ++i;
  if (i == object_count && object_count < 256) objects[object_count++] = a;
  if (text_size != 0) put("; ");
  put(what);
  put(" #");
  put_number(i + 1);
}

void note_plain(const char* what) {
  platform::SpinGuard const guard(lock);
  if (!recording) return;
  if (text_size != 0) put("; ");
  put(what);
}

}  // namespace

extern "C" {
__thread int record_inside_runtime;
int record_allocations;
void record_forget_objects() { object_count = 0; }
const void* record_object(unsigned number) { return reinterpret_cast<const void*>(objects[number - 1]); }
void record_leave_runtime() {
  if (lane::signals_pending != 0) lane::deliver_pending_signals();
}
int record_finished_threads;
int record_finish_calls;
int record_finish_code = -1;

void record_name(const volatile void* address, size_t size, const char* name) {
  platform::SpinGuard const guard(lock);
  names[name_count++] = Name{reinterpret_cast<uintptr_t>(address), size, name};
}
void record_forget_names() {
  platform::SpinGuard const guard(lock);
  name_count = 0;
}
void record_begin() {
  platform::SpinGuard const guard(lock);
  text_size = 0;
  text[0] = 0;
  recording = true;
}
const char* record_end() {
  platform::SpinGuard const guard(lock);
  recording = false;
  return text;
}
void* record_caller() { return last_pc; }
}

namespace deadheat::lane {

void (*deliver_pending_signals)();
__thread uint32_t signals_pending;

void read(const void* address, size_t size, Pc pc) { note("read", address, size, "", pc); }
void write(void* address, size_t size, Pc pc) { note("write", address, size, "", pc); }
// Fresh blocks have no name yet: they appear as "allocated SIZE".
namespace {
// Of the latest block. In static programs what follows it is published.
const void* end_of_block = nullptr;

void note_block(const char* what, size_t size) {
  if (text_size != 0) put("; ");
  put(what);
  put_number(size);
}
}  // namespace
void allocated(void* address, size_t size, Pc pc) {
  platform::SpinGuard const guard(lock);
  end_of_block = static_cast<char*>(address) + size;
  if (!recording || !record_allocations) return;
  last_pc = reinterpret_cast<void*>(pc.value);
  note_block("allocated ", size);
}
void usable(void*, size_t size) {
  platform::SpinGuard const guard(lock);
  if (recording && record_allocations) note_block("usable ", size);
}
void freeing(void* address, Pc pc, MemoryThen) {
  const Name* const name = find(address);
  if (name != nullptr) return note("freeing", address, kNone, "", pc);
  if (record_allocations) note_plain("freeing");
}
void mapped(void*, size_t size, Pc) {
  platform::SpinGuard const guard(lock);
  if (recording && record_allocations) note_block("mapped ", size);
}
void published(const void* address, size_t size) {
  if (address == end_of_block) return;
  if (find(address) != nullptr) return note("published", address, size);
  platform::SpinGuard const guard(lock);
  if (recording && record_allocations) note_block("published ", size);
}
void unmapping(void*, size_t size, Pc) {
  platform::SpinGuard const guard(lock);
  if (recording && record_allocations) note_block("unmapping ", size);
}
void acquire(const volatile void* object) { note_object("acquire", object); }
void release(const volatile void* object) { note_object("release", object); }
void release_store(const volatile void* object) { note("release_store", object); }
void forget(const volatile void* object) { note("forget", object); }
void lock_wanted(const void* l, LockMode, Pc pc) { note("read", l, 1, "", pc); }
void lock_only_used(const void* l, LockMode mode, Pc pc) {
  note("used", l, kNone, mode == LockMode::kExclusive ? " X" : " S", pc);
}
void lock_acquired(const volatile void* l, LockMode mode, LockIs, Pc pc) {
  note("lock", l, kNone, mode == LockMode::kExclusive ? " X" : " S", pc);
}
void lock_releasing(const volatile void* l, Pc pc) { note("unlock", l, kNone, "", pc); }
void context_made(const void* stack, size_t size, const void*) { note("context", stack, size); }
void context_switching(const void*, const void* to, bool is_over) {
  note(is_over ? "returning_to" : "switching_to", to);
}
void lock_destroyed(const volatile void* l) { note("lock_destroyed", l); }
void barrier_initialised(const volatile void* barrier, uint32_t participants) {
  note("barrier_initialised", barrier, participants);
}
BarrierTicket barrier_arrive(const volatile void* barrier) {
  note("arrive", barrier);
  return BarrierTicket{7};
}
void barrier_leave(const volatile void* barrier, BarrierTicket ticket) {
  note("leave", barrier, ticket.generation);
}
void barrier_destroyed(const volatile void* barrier) { note("barrier_destroyed", barrier); }

struct ThreadStart {
  int number;
};
struct ThreadRef {
  int number;
};
namespace {
ThreadStart starts[4096];
ThreadRef refs[4096];
pthread_t handles[4096];
int thread_count;
__thread int self __attribute__((tls_model("initial-exec")));
}  // namespace

ThreadStart* thread_creating(Pc) {
  int const number = __atomic_add_fetch(&thread_count, 1, __ATOMIC_RELAXED);
  starts[number].number = number;
  note_plain("thread_creating");
  return &starts[number];
}
void thread_create_failed(ThreadStart*) { note_plain("thread_create_failed"); }
void thread_started(ThreadStart* start) {
  self = start->number;
  handles[self] = pthread_self();
  note_plain("thread_started");
}
void thread_finishing() {
  note_plain("thread_finishing");
  __atomic_add_fetch(&record_finished_threads, 1, __ATOMIC_RELEASE);
}
ThreadRef* thread_find(pthread_t handle) {
  for (int i = thread_count; i > 0; --i) {
    if (handles[i] == handle) return &refs[i];
  }
  return nullptr;
}
void thread_joined(ThreadRef*) { note_plain("thread_joined"); }
void thread_joining(ThreadRef*) {}
void condition_waiting(const volatile void*) {}
void condition_waited() {}
void thread_not_joined() {}
void waits_may_be_cut_short() {}
void thread_detached(ThreadRef*) { note_plain("thread_detached"); }
void thread_named(pthread_t, const char* name) {
  platform::SpinGuard const guard(lock);
  if (!recording) return;
  if (text_size != 0) put("; ");
  put("thread_named ");
  put(name);
}
void fork_preparing() { note_plain("fork_preparing"); }
void fork_parent() { note_plain("fork_parent"); }
void fork_child() { note_plain("fork_child"); }
bool inside_runtime() { return record_inside_runtime != 0; }
void ignore_begin(bool reads, bool writes) {
  note_plain(reads && writes ? "ignore_begin rw" : reads ? "ignore_begin r" : "ignore_begin w");
}
void ignore_end(bool reads, bool writes) {
  note_plain(reads && writes ? "ignore_end rw" : reads ? "ignore_end r" : "ignore_end w");
}
void ignore_sync_begin() { note_plain("ignore_sync_begin"); }
void ignore_sync_end() { note_plain("ignore_sync_end"); }
void benign_race(const volatile void* address, size_t size, const char*, Pc) {
  note("benign", address, size);
}
void initialise() {}
void before_exec() { note_plain("before_exec"); }

int finish(int status) {
  ++record_finish_calls;
  note_plain("finish");
  return record_finish_code == -1 ? status : record_finish_code;
}

}  // namespace deadheat::lane
