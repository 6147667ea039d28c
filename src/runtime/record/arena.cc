#include "runtime/record/arena.h"

#include <time.h>

#include "runtime/platform/memory.h"
#include "runtime/platform/print.h"
#include "runtime/platform/spinlock.h"
#include "runtime/platform/syscalls.h"
#include "runtime/platform/tool_process.h"

namespace deadheat::record {
namespace {

// What a thread predicts by: values, then sequencers.
constexpr uint64_t kTableBytes = kDhImageBytes + 4096;
static_assert(kDhImageSlack <= 4096);
constexpr uint64_t kPredictorBytes = kTableBytes + ((sizeof(DhCoding) + 4095) & ~uint64_t{4095});
static_assert(sizeof(DhRecord) <= kDhSlotHeaderBytes);

int memory = -1;  // the arena's descriptor
DhRecord* mapped[kDhMaxSlots];
platform::Spinlock slots_lock;

void* map(void* at, uint64_t size, uint64_t offset) {
  long const flags = MAP_SHARED | (at != nullptr ? MAP_FIXED : 0);
  long const result = platform::syscall6(SYS_mmap, reinterpret_cast<long>(at), static_cast<long>(size),
                                         PROT_READ | PROT_WRITE, flags, memory, static_cast<long>(offset));
  return platform::failed(result) ? nullptr : reinterpret_cast<void*>(result);
}

uint8_t* predictor_of(DhRecord* record) { return dh_image_at(record, 0); }

// The header page, the predictor, then the ring twice in a row. The predictor is not shared with the writer.
DhRecord* map_slot(uint32_t slot) {
  auto* const room = static_cast<uint8_t*>(
      platform::try_map_pages(kDhSlotHeaderBytes + kPredictorBytes + 2 * uint64_t{kDhRingBytes}));
  if (room == nullptr) return nullptr;
  uint64_t const offset = dh_slot_offset(slot);
  uint8_t* const ring = room + kDhSlotHeaderBytes + kPredictorBytes;
  if (map(room, kDhSlotHeaderBytes, offset) == nullptr ||
      map(ring, kDhRingBytes, offset + kDhSlotHeaderBytes) == nullptr ||
      map(ring + kDhRingBytes, kDhRingBytes, offset + kDhSlotHeaderBytes) == nullptr)
    return nullptr;
  auto* const record = reinterpret_cast<DhRecord*>(room);
  record->ring = ring;
  return record;
}

// REQUIRES: slots_lock held.
DhRecord* free_slot() {
  for (uint32_t i = 0; i < arena->slots; ++i)
    if (mapped[i] != nullptr && __atomic_load_n(&mapped[i]->state, __ATOMIC_ACQUIRE) == kDhSlotFree)
      return mapped[i];
  uint32_t const slot = arena->slots;
  if (slot == kDhMaxSlots) return nullptr;
  if (platform::failed(
          platform::syscall6(SYS_ftruncate, memory, static_cast<long>(dh_slot_offset(slot + 1)))))
    return nullptr;
  mapped[slot] = map_slot(slot);
  if (mapped[slot] == nullptr) return nullptr;
  __atomic_store_n(&arena->slots, slot + 1, __ATOMIC_RELEASE);
  return mapped[slot];
}

}  // namespace

void prepare_discard() { discard.is_off = 1; }

DhRecord* take_slot(uint32_t thread) {
  if (arena == nullptr || __atomic_load_n(&arena->stop, __ATOMIC_ACQUIRE) != kDhRun) return &discard;
  platform::SpinGuard const guard(slots_lock);
  DhRecord* const record = free_slot();
  if (record == nullptr) {
    __atomic_add_fetch(&arena->unrecorded_threads, 1, __ATOMIC_RELAXED);
    return &discard;
  }
  uint8_t* const ring = record->ring;
  uint64_t const consumed = __atomic_load_n(&record->consumed, __ATOMIC_ACQUIRE);
  *record = DhRecord{};
  record->ring = ring;
  record->written = consumed;
  record->consumed = consumed;
  record->limit = consumed + kDhRingBytes - kDhRingSlack;
  record->thread = thread;
  record->os_id = static_cast<uint32_t>(platform::sys_gettid());
  record->invisible = 1;
  record->coding = reinterpret_cast<DhCoding*>(predictor_of(record) + kTableBytes);
  __atomic_store_n(&record->state, kDhSlotLive, __ATOMIC_RELEASE);
  return record;
}

void leave_slot(DhRecord* record) {
  if (record == &discard) return;
  // The next thread that takes the slot starts with zeros.
  platform::syscall6(SYS_madvise, reinterpret_cast<long>(predictor_of(record)), kPredictorBytes,
                     MADV_DONTNEED);
  __atomic_store_n(&record->state, kDhSlotEnded, __ATOMIC_RELEASE);
}

DhRecord* detached(DhRecord* record) {
  if (record == &discard) return &discard;
  // The page is shared with the parent, which has gone on with it; the predictor is this process's own.
  DhRecord copy;
  __builtin_memcpy_inline(&copy, record, sizeof copy);  // not by a call: memcpy is interposed
  long const page =
      platform::syscall6(SYS_mmap, reinterpret_cast<long>(record), kDhSlotHeaderBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (platform::failed(page)) return &discard;
  __builtin_memcpy_inline(record, &copy, sizeof copy);
  record->inside = 0;
  record->attention = 0;
  record->invisible = 1;
  record->is_off = 1;
  return record;
}

namespace {

// The writer makes the folder, or refuses to and says so; nothing may be written there before.
bool writer_is_ready(int descriptor) {
  DhArena header = {};
  timespec const moment = {0, 1'000'000};
  for (int waited = 0; waited < 10000; ++waited) {
    platform::syscall6(SYS_pread64, descriptor, reinterpret_cast<long>(&header), sizeof header, 0);
    if (header.stop != kDhRun) return false;
    if (header.writer_beat != 0) return true;
    platform::syscall6(SYS_nanosleep, reinterpret_cast<long>(&moment), 0);
  }
  platform::warn("not recorded: the writer does not start");
  return false;
}

}  // namespace

int start_writer(const char* tool, const char* folder) {
  const char* const path = platform::find_tool(tool);
  if (path == nullptr) {
    platform::warn(
        "not recorded: the deadheat program is not found; say where it is by DEADHEAT_OPTIONS=tool=PATH");
    return -1;
  }
  long const made = platform::syscall6(SYS_memfd_create, reinterpret_cast<long>("deadheat-arena"), 0);
  int const descriptor = platform::failed(made)
                             ? -1
                             : static_cast<int>(platform::syscall6(SYS_fcntl, made, F_DUPFD_CLOEXEC, 900));
  if (!platform::failed(made)) platform::sys_close(static_cast<int>(made));
  if (descriptor < 0 || platform::failed(platform::syscall6(SYS_ftruncate, descriptor, 4096))) {
    platform::warn("not recorded: no memory to share with the writer");
    return -1;
  }
  DhArena header = {};
  header.magic = DH_ARENA_MAGIC;
  header.version = DEADHEAT_RECORD_ABI_VERSION;
  platform::sys_write(descriptor, &header, sizeof header);
  platform::Text arena_of;
  arena_of.append("%d:3", platform::sys_getpid());
  const char* const arguments[] = {path, "record-writer", "--arena-of", arena_of.c_str(), folder, nullptr};
  long const nothing = platform::sys_open("/dev/null", O_RDONLY | O_CLOEXEC, 0);
  int const descriptors[] = {static_cast<int>(nothing), 2, 2, descriptor};
  bool const started = platform::start_tool(path, arguments, descriptors, 4);
  if (!platform::failed(nothing)) platform::sys_close(static_cast<int>(nothing));
  if (started && writer_is_ready(descriptor)) return descriptor;
  if (!started) platform::warn("not recorded: %s: cannot be run", path);
  platform::sys_close(descriptor);
  return -1;
}

bool attach(int descriptor) {
  // Where the program's own descriptors will not be.
  long const high = platform::syscall6(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, 900);
  memory = platform::failed(high) ? descriptor : static_cast<int>(high);
  if (memory == descriptor)
    platform::syscall6(SYS_fcntl, memory, F_SETFD, FD_CLOEXEC);
  else
    platform::sys_close(descriptor);
  auto* const found = static_cast<DhArena*>(map(nullptr, 4096, 0));
  if (found == nullptr || found->magic != DH_ARENA_MAGIC || found->version != DEADHEAT_RECORD_ABI_VERSION) {
    platform::warn(
        "the recording cannot be written: what DEADHEAT_OPTIONS calls an arena is none of this version");
    return false;
  }
  if (found->pid != 0) return false;  // another process of this run is being recorded
  arena = found;
  __dh_record = take_slot(__atomic_fetch_add(&arena->next_thread, 1, __ATOMIC_RELAXED));
  if (__dh_record == &discard) {
    platform::warn("not recorded: no memory for the first thread's log");
    arena = nullptr;
    return false;
  }
  __atomic_store_n(&arena->pid, static_cast<uint32_t>(platform::sys_getpid()), __ATOMIC_RELEASE);
  return true;
}

void arena_fork_preparing() { slots_lock.lock(); }
void arena_fork_done() { slots_lock.unlock(); }

}  // namespace deadheat::record
