// malloc and its kin, operator new and delete. What was freed stays freed: addresses are not given out again,
// so that every later use is noticed.
#include <fmt/format.h>

#include <algorithm>

#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // a process has no more
constexpr std::uint32_t kOutOfMemory = 12;
constexpr std::uint32_t kInvalid = 22;

void release(ModelCall& call, std::uint64_t address) {
  if (address == 0) return;
  Memory& memory = call.live.memory();
  const Block* const block = memory.block_at(Address(address));
  if (block == nullptr) {
    if (!memory.is_plausible(Address(address)) || memory.block_around(Address(address)))
      call.live.end(
          OutcomeKind::kMemoryError, 0,
          fmt::format("free of {}, which is not the start of a block", call.live.describe(Address(address))));
    // Allocated where the recording did not look; it may be right.
    return;
  }
  if (block->is_freed)
    call.live.end(OutcomeKind::kMemoryError, 0,
                  fmt::format("double free of {}", call.live.describe(Address(address))));
  memory.freed(Address(address), call.open.site);
}

void do_malloc(ModelCall& call) {
  if (call.word(0) > kMost) return call.result(std::uint64_t{0});
  call.result(call.live.memory().allocate(call.word(0)).value());
}

void do_calloc(ModelCall& call) {
  const std::uint64_t count = call.word(0), each = call.word(1);
  if (each != 0 && count > kMost / each) return call.result(std::uint64_t{0});
  const Address block = call.live.memory().allocate(count * each);
  const std::string zeros(std::min<std::uint64_t>(count * each, 1 << 20), '\0');
  for (std::uint64_t at = 0; at < count * each; at += zeros.size())
    call.live.store_bytes(
        Address(block.value() + at),
        std::string_view(zeros).substr(0, std::min<std::uint64_t>(zeros.size(), count * each - at)));
  call.result(block.value());
}

void do_free(ModelCall& call) { release(call, call.word(0)); }

void resize(ModelCall& call, std::uint64_t old, std::uint64_t size) {
  if (size > kMost) return call.result(std::uint64_t{0});
  if (old != 0 && size == 0) {
    release(call, old);
    return call.result(std::uint64_t{0});
  }
  const Address block = call.live.memory().allocate(size);
  if (old != 0) {
    const Block* const before = call.live.memory().block_at(Address(old));
    const bool is_good = before != nullptr && !before->is_freed;
    if (is_good) call.live.copy(*call.self.thread, block.value(), old, std::min(size, before->size));
    release(call, old);
  }
  call.result(block.value());
}

void do_realloc(ModelCall& call) { resize(call, call.word(0), call.word(1)); }
void do_reallocarray(ModelCall& call) {
  if (call.word(2) != 0 && call.word(1) > kMost / call.word(2)) return call.result(std::uint64_t{0});
  resize(call, call.word(0), call.word(1) * call.word(2));
}

void do_aligned_alloc(ModelCall& call) {
  call.result(call.live.memory().allocate(call.word(1), call.word(0)).value());
}

void do_posix_memalign(ModelCall& call) {
  const std::uint64_t alignment = call.word(1);
  if (alignment < 8 || (alignment & (alignment - 1)) != 0) return call.result(std::uint64_t{kInvalid});
  if (call.word(2) > kMost) return call.result(std::uint64_t{kOutOfMemory});
  call.live.store_number(call.address(0), call.live.memory().allocate(call.word(2), alignment).value(), 8);
  call.result(std::uint64_t{0});
}

void do_usable_size(ModelCall& call) {
  const Block* const block = call.live.memory().block_at(call.address(0));
  call.result(block == nullptr ? std::uint64_t{0} : block->size);
}

void do_new(ModelCall& call) {
  if (call.word(0) > kMost) call.live.end(OutcomeKind::kLeft, 0, "operator new that throws std::bad_alloc");
  call.result(call.live.memory().allocate(std::max<std::uint64_t>(1, call.word(0))).value());
}

void do_new_aligned(ModelCall& call) {
  call.result(call.live.memory().allocate(std::max<std::uint64_t>(1, call.word(0)), call.word(1)).value());
}

}  // namespace

std::span<const Model> allocation_models() {
  static const Model models[] = {
      {"malloc", do_malloc, again},
      {"calloc", do_calloc, again},
      {"realloc", do_realloc},
      {"reallocarray", do_reallocarray},
      {"free", do_free},
      {"cfree", do_free},
      {"aligned_alloc", do_aligned_alloc, again},
      {"memalign", do_aligned_alloc, again},
      {"posix_memalign", do_posix_memalign, again},
      {"malloc_usable_size", do_usable_size},
      {"_Znwm", do_new, again},
      {"_Znam", do_new, again},
      {"_ZnwmRKSt9nothrow_t", do_malloc, again},
      {"_ZnamRKSt9nothrow_t", do_malloc, again},
      {"_ZnwmSt11align_val_t", do_new_aligned, again},
      {"_ZnamSt11align_val_t", do_new_aligned, again},
      {"_ZdlPv", do_free},
      {"_ZdaPv", do_free},
      {"_ZdlPvm", do_free},
      {"_ZdaPvm", do_free},
      {"_ZdlPvSt11align_val_t", do_free},
      {"_ZdaPvSt11align_val_t", do_free},
      {"_ZdlPvmSt11align_val_t", do_free},
      {"_ZdaPvmSt11align_val_t", do_free},
      {"_ZdlPvRKSt9nothrow_t", do_free},
      {"_ZdaPvRKSt9nothrow_t", do_free},
  };
  return models;
}

}  // namespace deadheat::replay::live
