// The slow paths of __dh_read8x2 and __dh_write8x2 (pair.h). What is not quick is done as two accesses, in
// the ways of hooks.cc.
#include "runtime/abi.h"
#include "runtime/watch/pair.h"
#include "runtime/watch/thread.h"

using namespace deadheat::watch;

#define DH_PC reinterpret_cast<uintptr_t>(__builtin_return_address(0))

DH_C DH_SLOW void deadheat_read_slow_at(const void* address, const DhCell* cell, uint64_t bytes,
                                        const void* caller);
DH_C DH_SLOW void deadheat_write_slow_at(void* address, const DhCell* cell, uint64_t bytes, uint64_t value,
                                         const void* caller);

DH_C DH_SLOW void deadheat_read_across_at(const void* address, uint32_t size, const void* caller);
DH_C DH_SLOW void deadheat_write_across_at(void* address, uint32_t size, uint64_t value, const void* caller);

namespace {

bool is_granule(const void* address) { return (reinterpret_cast<uintptr_t>(address) & 7) == 0; }

// Of its own chunk, which the other one of the pair may have made just now.
const DhCell* cell_of(uintptr_t granule) {
  uintptr_t const chunk = __dh_shadow[granule >> kDhChunkBits];
  return chunk != 0 ? dh_cell(chunk, granule) : nullptr;
}

__attribute__((noinline, preserve_most)) void read_one(uintptr_t granule, uintptr_t pc) {
  deadheat_read_slow_at(reinterpret_cast<const void*>(granule), cell_of(granule), 0xff,
                        reinterpret_cast<const void*>(pc));
}
__attribute__((noinline, preserve_most)) void write_one(uintptr_t granule, uint64_t value, uintptr_t pc) {
  deadheat_write_slow_at(reinterpret_cast<void*>(granule), cell_of(granule), 0xff, value,
                         reinterpret_cast<const void*>(pc));
}

__attribute__((always_inline)) inline void read_apart(const void* at, const DhCell* cell, uintptr_t pc) {
  auto const address = reinterpret_cast<uintptr_t>(at);
  Thread* const thread = current_thread;
  auto const one = [=](unsigned i) { read_one(address + uintptr_t{8} * i, pc); };
  if (may_be_quick(thread) && cell != nullptr)
    return quickest_apart<false>(thread, address, const_cast<DhCell*>(cell), pc, one);
  one(0);
  one(1);
}
__attribute__((always_inline)) inline void write_apart(void* at, const DhCell* cell, uint64_t first,
                                                       uint64_t second, uintptr_t pc) {
  auto const address = reinterpret_cast<uintptr_t>(at);
  Thread* const thread = current_thread;
  auto const one = [=](unsigned i) { write_one(address + uintptr_t{8} * i, i == 0 ? first : second, pc); };
  if (may_be_quick(thread) && cell != nullptr)
    return quickest_apart<true>(thread, address, const_cast<DhCell*>(cell), pc, one);
  one(0);
  one(1);
}

}  // namespace

// Each way hands over to the next one by a jump, so that the program's return address is theirs, too.
DH_C DH_SLOW void deadheat_read_apart(const void* address, const DhCell* cell) {
  read_apart(address, cell, DH_PC);
}
DH_C DH_SLOW void deadheat_write_apart(void* address, const DhCell* cell, uint64_t first, uint64_t second) {
  write_apart(address, cell, first, second, DH_PC);
}
DH_C DH_SLOW void deadheat_read_pair(const void* address, const DhCell* cell) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) &&
      quickest_read_pair(thread, reinterpret_cast<uintptr_t>(address), const_cast<DhCell*>(cell), DH_PC)) {
    return;
  }
  __attribute__((musttail)) return deadheat_read_apart(address, cell);
}
DH_C DH_SLOW void deadheat_read_noted_pair(const void* address, const DhCell* cell) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) && quickest_noted_pair(thread, const_cast<DhCell*>(cell), DH_PC)) return;
  __attribute__((musttail)) return deadheat_read_apart(address, cell);
}
DH_C DH_SLOW void deadheat_write_pair(void* address, const DhCell* cell, uint64_t first, uint64_t second) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) && quickest_write_pair(thread, const_cast<DhCell*>(cell), DH_PC)) return;
  __attribute__((musttail)) return deadheat_write_apart(address, cell, first, second);
}
// Nobody has touched the granules; if somebody has by now, not all is done here.
DH_C DH_SLOW void deadheat_write_first_pair(void* address, const DhCell* cell, uint64_t first,
                                            uint64_t second) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) &&
      quickest_first_pair(thread, reinterpret_cast<uintptr_t>(address), const_cast<DhCell*>(cell), DH_PC)) {
    return;
  }
  __attribute__((musttail)) return deadheat_write_apart(address, cell, first, second);
}

// At an address that its type forbids: of three granules.
DH_C DH_SLOW void deadheat_read_pair_beyond(const void* address, const DhCell*) {
  deadheat_read_across_at(address, 2 * sizeof(uint64_t), __builtin_return_address(0));
}
DH_C DH_SLOW void deadheat_write_pair_beyond(void* address, const DhCell*, uint64_t, uint64_t) {
  deadheat_write_across_at(address, 2 * sizeof(uint64_t), 0, __builtin_return_address(0));
}

static_assert(uint64_t{kNoClock} << kDhEpochShift == uint64_t{1} << 46);
// clang-format off
__attribute__((naked)) void __dh_read_pair(const void*, const DhCell*) {
  __asm__(
      "cmpb $0, deadheat_alone(%rip)\n"
      "jne 9f\n"
      "test $7, %dil\n"
      "jne deadheat_read_pair_beyond\n"
      "test %rsi, %rsi\n"
      "je deadheat_read_apart\n"
      // Is anything noted there, as far as one bit can tell?
      "mov (%rsi), %r11\n"
      "or 8(%rsi), %r11\n"
      "bt $46, %r11\n"
      "jc deadheat_read_noted_pair\n"
      "jmp deadheat_read_pair\n"
      "9: ret");
}
__attribute__((naked)) void __dh_write_pair(void*, const DhCell*, uint64_t, uint64_t) {
  __asm__(
      "cmpb $0, deadheat_alone(%rip)\n"
      "jne 9f\n"
      "test $7, %dil\n"
      "jne deadheat_write_pair_beyond\n"
      "test %rsi, %rsi\n"
      "je deadheat_write_apart\n"
      "mov (%rsi), %r11\n"
      "or 16(%rsi), %r11\n"
      "je deadheat_write_first_pair\n"
      "jmp deadheat_write_pair\n"
      "9: ret");
}
// clang-format on

// For hooks that were not inlined (inline_hooks.cc).
DH_C DH_SLOW void deadheat_read_pair_at(const void* address, const DhCell* cell, const void* caller) {
  if (__atomic_load_n(&alone, __ATOMIC_RELAXED)) return;
  if (!is_granule(address)) return deadheat_read_across_at(address, 2 * sizeof(uint64_t), caller);
  read_apart(address, cell, reinterpret_cast<uintptr_t>(caller));
}
DH_C DH_SLOW void deadheat_write_pair_at(void* address, const DhCell* cell, uint64_t first, uint64_t second,
                                         const void* caller) {
  if (__atomic_load_n(&alone, __ATOMIC_RELAXED)) return;
  if (!is_granule(address)) return deadheat_write_across_at(address, 2 * sizeof(uint64_t), 0, caller);
  write_apart(address, cell, first, second, reinterpret_cast<uintptr_t>(caller));
}
