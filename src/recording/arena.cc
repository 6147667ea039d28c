#include "recording/arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace deadheat::recording {
namespace {

constexpr std::uint64_t kHeaderBytes = 4096;
static_assert(sizeof(DhArena) <= kHeaderBytes && sizeof(DhRecord) <= kDhSlotHeaderBytes);
static_assert(std::has_single_bit(static_cast<unsigned>(kDhRingBytes)));

void futex_wake(std::uint32_t& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

}  // namespace

Result<std::unique_ptr<Arena>> Arena::create() {
  std::unique_ptr<Arena> arena(new Arena);
  arena->descriptor_ = memfd_create("deadheat-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (arena->descriptor_ < 0 || ftruncate(arena->descriptor_, kHeaderBytes) != 0) {
    return Error{fmt::format("no memory can be shared with the program: {}", std::strerror(errno))};
  }
  if (!arena->map(0))
    return Error{fmt::format("no memory can be shared with the program: {}", std::strerror(errno))};
  // A file that shrank would kill whoever looks at it.
  fcntl(arena->descriptor_, F_ADD_SEALS, F_SEAL_SHRINK);
  arena->header_->version = DEADHEAT_RECORD_ABI_VERSION;
  store_release(arena->header_->magic, static_cast<std::uint64_t>(DH_ARENA_MAGIC));
  return arena;
}

Result<std::unique_ptr<Arena>> Arena::attach(int descriptor) {
  std::unique_ptr<Arena> arena(new Arena);
  arena->descriptor_ = descriptor;
  struct stat status{};
  if (fstat(descriptor, &status) != 0) {
    return Error{
        fmt::format("descriptor {}: expected a program's arena: {}", descriptor, std::strerror(errno))};
  }
  if (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) < kHeaderBytes) {
    return Error{fmt::format("descriptor {}: expected a program's arena, found another file", descriptor)};
  }
  fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK);
  if (!arena->map(0))
    return Error{fmt::format("the program's arena cannot be mapped: {}", std::strerror(errno))};
  if (load_acquire(arena->header_->magic) != DH_ARENA_MAGIC) {
    return Error{fmt::format("descriptor {}: expected a program's arena, found another file", descriptor)};
  }
  if (arena->header_->version != DEADHEAT_RECORD_ABI_VERSION) {
    return Error{
        fmt::format("the program's runtime is of another version: expected {}, found {}; build it again",
                    DEADHEAT_RECORD_ABI_VERSION, arena->header_->version)};
  }
  return arena;
}

Arena::~Arena() {
  if (slots_memory_ != nullptr) munmap(slots_memory_, mapped_slots_ * dh_slot_bytes());
  if (header_ != nullptr) munmap(header_, kHeaderBytes);
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool Arena::map(std::uint32_t slots) {
  if (header_ == nullptr) {
    void* memory = mmap(nullptr, kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (memory == MAP_FAILED) return false;
    header_ = static_cast<DhArena*>(memory);
  }
  if (slots <= mapped_slots_) return true;
  void* memory = mmap(nullptr, slots * dh_slot_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      descriptor_, static_cast<off_t>(dh_slot_offset(0)));
  if (memory == MAP_FAILED) return false;
  if (slots_memory_ != nullptr) munmap(slots_memory_, mapped_slots_ * dh_slot_bytes());
  slots_memory_ = static_cast<char*>(memory);
  mapped_slots_ = slots;
  return true;
}

std::uint32_t Arena::slots() {
  std::uint32_t slots = std::min<std::uint32_t>(load_acquire(header_->slots), kDhMaxSlots);
  if (slots <= mapped_slots_) return slots;
  struct stat status{};
  if (fstat(descriptor_, &status) != 0 || static_cast<std::uint64_t>(status.st_size) < kHeaderBytes) return 0;
  // As far as the file really goes.
  const std::uint64_t there = (static_cast<std::uint64_t>(status.st_size) - kHeaderBytes) / dh_slot_bytes();
  slots = static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, there));
  // More than there are, so that a thousand threads are not a thousand mappings; nothing is read beyond the
  // file.
  return map(std::bit_ceil(slots)) ? slots : std::min(slots, mapped_slots_);
}

DhRecord& Arena::slot(std::uint32_t slot) {
  DEADHEAT_CHECK(slot < mapped_slots_);
  return *reinterpret_cast<DhRecord*>(slots_memory_ + slot * dh_slot_bytes());
}

Arena::Pieces Arena::bytes(std::uint32_t slot, std::uint64_t from, std::uint64_t size) const {
  DEADHEAT_CHECK(slot < mapped_slots_ && size <= kDhRingBytes);
  const char* ring = slots_memory_ + slot * dh_slot_bytes() + kDhSlotHeaderBytes;
  const std::uint64_t at = from & (kDhRingBytes - 1);
  const std::uint64_t first = std::min<std::uint64_t>(size, kDhRingBytes - at);
  return {{ring + at, first}, {ring, size - first}};
}

void Arena::sleep(std::uint32_t seen, unsigned milliseconds) {
  timespec time{milliseconds / 1000, static_cast<long>(milliseconds % 1000) * 1000000};
  syscall(SYS_futex, &header_->writer_wake, FUTEX_WAIT, seen, &time, nullptr, 0);
}

void Arena::wake_writer() {
  __atomic_fetch_add(&header_->writer_wake, 1, __ATOMIC_SEQ_CST);
  futex_wake(header_->writer_wake);
}

void Arena::wake_program(std::uint32_t slot) {
  DhRecord& record = this->slot(slot);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);  // against the program's store to `waiting` and load of `consumed`
  if (__atomic_load_n(&record.waiting, __ATOMIC_SEQ_CST) == 0) return;
  __atomic_store_n(&record.waiting, 0u, __ATOMIC_SEQ_CST);
  futex_wake(record.waiting);
}

}  // namespace deadheat::recording
