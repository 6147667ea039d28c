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
  call.live.memory().zero(block, count * each);
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

// --- Mappings

constexpr std::uint64_t kFailed = ~std::uint64_t{0};
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kFixed = 0x10, kAnonymous = 0x20;  // of mmap's flags

// (address, size, protection, flags, file, offset)
void do_mmap(ModelCall& call) {
  if ((call.word(3) & kAnonymous) == 0) call.live.end(OutcomeKind::kLeft, 0, "mmap of a file");
  const std::uint64_t size = (call.word(1) + kPage - 1) & ~(kPage - 1);
  if (size == 0 || size > kMost) return call.result(kFailed);
  const bool is_fixed = (call.word(3) & kFixed) != 0;
  const Address at = is_fixed ? call.address(0) : call.live.memory().reserve(size);
  call.live.memory().mapped(at, size, /*is_zero=*/true);
  call.result(at.value());
}

void do_munmap(ModelCall& call) {
  if (call.word(0) % kPage != 0) return call.result(kFailed);
  call.live.memory().unmapped(call.address(0), (call.word(1) + kPage - 1) & ~(kPage - 1));
  call.result(std::uint64_t{0});
}

// Advice that changes no byte, and the one that does.
void do_madvise(ModelCall& call) {
  constexpr std::uint32_t kDontNeed = 4;
  if (call.word32(2) == kDontNeed) call.live.end(OutcomeKind::kLeft, 0, "madvise(MADV_DONTNEED)");
  call.result(std::uint64_t{0});
}
void do_zero(ModelCall& call) { call.result(std::uint64_t{0}); }

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
      {"mmap", do_mmap, again},
      {"mmap64", do_mmap, again},
      {"munmap", do_munmap, again},
      {"madvise", do_madvise},
      {"posix_madvise", do_zero},
      {"mprotect", do_zero},
      {"msync", do_zero},
      {"mlock", do_zero},
      {"munlock", do_zero},
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
