// A program that is recorded, without a compiler or a runtime: it fills an arena as src/runtime/record does,
// following the rules at the end of src/recording/FORMAT.md. For tests of the writer.
//
//   FakeRecorded program(arena fd);                  in the child of a fork
//   FakeThread thread = program.start_thread();
//   thread.encoder().value(0, 42, 8); thread.publish();
//   thread.predict(3);
#pragma once

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

#include "base/check.h"
#include "recording/encode.h"
#include "runtime/record_abi.h"

namespace deadheat::testing {

class FakeThread;

class FakeRecorded {
 public:
  explicit FakeRecorded(int arena) : arena_(arena) {
    header_ = static_cast<DhArena*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, arena, 0));
    DEADHEAT_CHECK(header_ != MAP_FAILED && header_->magic == DH_ARENA_MAGIC);
    __atomic_store_n(&header_->pid, static_cast<std::uint32_t>(getpid()), __ATOMIC_RELEASE);
  }

  DhArena& header() { return *header_; }
  std::uint64_t next_number() { return __atomic_fetch_add(&header_->next_number, 1, __ATOMIC_SEQ_CST); }
  bool is_stopped() const { return __atomic_load_n(&header_->stop, __ATOMIC_SEQ_CST) != 0; }

  // A free slot, or a new one.
  DhRecord* take_slot() {
    std::lock_guard lock(mutex_);
    std::uint32_t slot = 0;
    for (; slot < header_->slots; ++slot) {
      DhRecord* record = map(slot);
      if (__atomic_load_n(&record->state, __ATOMIC_ACQUIRE) == kDhSlotFree) return begin(record);
      munmap(record, dh_slot_bytes());
    }
    DEADHEAT_CHECK(ftruncate(arena_, static_cast<off_t>(dh_slot_offset(slot + 1))) == 0);
    __atomic_store_n(&header_->slots, slot + 1, __ATOMIC_RELEASE);
    return begin(map(slot));
  }

  void finish(int status) {
    header_->status = status;
    __atomic_store_n(&header_->finished, 1, __ATOMIC_RELEASE);
  }

 private:
  DhRecord* map(std::uint32_t slot) const {
    void* memory = mmap(nullptr, dh_slot_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, arena_,
                        static_cast<off_t>(dh_slot_offset(slot)));
    DEADHEAT_CHECK(memory != MAP_FAILED);
    return static_cast<DhRecord*>(memory);
  }
  DhRecord* begin(DhRecord* record) {
    record->thread = __atomic_fetch_add(&header_->next_thread, 1, __ATOMIC_SEQ_CST);
    record->run = 0;
    record->consumed = record->written;
    __atomic_store_n(&record->state, kDhSlotLive, __ATOMIC_RELEASE);
    return record;
  }

  int arena_;
  DhArena* header_;
  std::mutex mutex_;
};

class FakeThread {
 public:
  explicit FakeThread(FakeRecorded& program) : program_(program), record_(program.take_slot()) {}

  DhRecord& record() { return *record_; }
  std::uint32_t number() const { return record_->thread; }
  recording::Encoder& encoder() { return encoder_; }
  void predict(std::uint64_t values) { record_->run += values; }

  void value(std::uint64_t value, unsigned size) {
    encoder_.value(record_->run, value, size);
    publish();
  }
  void sequencer(recording::SequencerKind kind, std::uint64_t object, std::uint64_t extra = 0) {
    recording::Sequencer sequencer{};
    sequencer.kind = kind;
    sequencer.number = recording::SequencerNumber(program_.next_number());
    sequencer.object = recording::Address(object);
    sequencer.extra = extra;
    encoder_.sequencer(record_->run, sequencer);
    publish();
  }
  // What the encoder has, as whole items. False: recording was stopped.
  bool publish() {
    if (!publish_raw(encoder_.bytes())) return false;
    encoder_.clear();
    return true;
  }
  // Bytes of whole items, at most a ring full.
  bool publish_raw(std::string_view bytes) {
    if (!wait_for_room(bytes.size())) return false;
    char* ring = reinterpret_cast<char*>(record_) + kDhSlotHeaderBytes;
    const std::uint64_t at = record_->written & (kDhRingBytes - 1);
    const std::size_t first = std::min<std::size_t>(bytes.size(), kDhRingBytes - at);
    std::memcpy(ring + at, bytes.data(), first);
    std::memcpy(ring, bytes.data() + first, bytes.size() - first);
    record_->run = 0;
    __atomic_store_n(&record_->written, record_->written + bytes.size(), __ATOMIC_RELEASE);
    return true;
  }
  void end() {
    encoder_.end(record_->run, recording::EndKind::kThreadEnded, 0);
    publish();
    __atomic_store_n(&record_->state, kDhSlotEnded, __ATOMIC_RELEASE);
    munmap(record_, dh_slot_bytes());
  }
  std::uint64_t waits() const { return waits_; }

 private:
  bool wait_for_room(std::size_t size) {
    while (!program_.is_stopped()) {
      if (has_room(size)) return true;
      DhArena& header = program_.header();
      ++waits_;
      __atomic_store_n(&record_->waiting, 1, __ATOMIC_SEQ_CST);
      __atomic_fetch_add(&header.writer_wake, 1, __ATOMIC_SEQ_CST);
      syscall(SYS_futex, &header.writer_wake, FUTEX_WAKE, 1, nullptr, nullptr, 0);
      if (has_room(size) || program_.is_stopped()) continue;
      timespec time{10, 0};
      syscall(SYS_futex, &record_->waiting, FUTEX_WAIT, 1, &time, nullptr, 0);
    }
    return false;
  }
  bool has_room(std::size_t size) const {
    const std::uint64_t consumed = __atomic_load_n(&record_->consumed, __ATOMIC_SEQ_CST);
    return record_->written + size - consumed <= kDhRingBytes;
  }

  FakeRecorded& program_;
  DhRecord* record_;
  recording::Encoder encoder_;
  std::uint64_t waits_ = 0;
};

}  // namespace deadheat::testing
