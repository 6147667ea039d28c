// __dh_read_slow and __dh_write_slow: which way does an access go that the inlined hook did not find covered?
//
// While nobody else is there it is over after three instructions. What again.h is about, and the first write
// of a granule, need few registers, and so are ways of their own. Which one it is, is decided before any
// register is saved.
#include "runtime/abi.h"
#include "runtime/watch/again.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/quick_bytes.h"
#include "runtime/watch/thread.h"

using namespace deadheat::watch;

// For all others. The program's return address is theirs, because they are entered by jumps (hooks.cc).
DH_C DH_SLOW void deadheat_read_slow(const void* address, const DhCell* cell, uint64_t bytes);
DH_C DH_SLOW void deadheat_write_slow(void* address, const DhCell* cell, uint64_t bytes, uint64_t value);

#define DH_PC reinterpret_cast<uintptr_t>(__builtin_return_address(0))

namespace {
template <Again (*kAgain)(Thread*, DhCell*, uint64_t, uintptr_t)>
__attribute__((always_inline)) inline Again try_again(const DhCell* cell, uint64_t bytes, uintptr_t pc) {
  Thread* const thread = current_thread;
  if (!may_be_quick(thread)) return Again::kNo;
  return kAgain(thread, const_cast<DhCell*>(cell), bytes, pc);
}
}  // namespace

// What to do where the record that stands there was made elsewhere. Now and then the place is learnt.
DH_C DH_SLOW void deadheat_read_learn(const void* address, const DhCell* cell, uint64_t bytes) {
  learn_again(current_thread, cell, bytes, DH_PC, kHookSite);
  __attribute__((musttail)) return deadheat_read_slow(address, cell, bytes);
}
DH_C DH_SLOW void deadheat_write_learn(void* address, const DhCell* cell, uint64_t bytes, uint64_t value) {
  learn_again(current_thread, cell, bytes, DH_PC, kHookSite | kWriteSite);
  __attribute__((musttail)) return deadheat_write_slow(address, cell, bytes, value);
}
DH_C DH_SLOW void deadheat_read_elsewhere(const void* address, const DhCell* cell, uint64_t bytes) {
  if (current_thread->places_again.shall_learn()) __attribute__
    ((musttail)) return deadheat_read_learn(address, cell, bytes);
  __attribute__((musttail)) return deadheat_read_slow(address, cell, bytes);
}
DH_C DH_SLOW void deadheat_read_join(const void* address, const DhCell* cell, uint64_t bytes) {
  if (read_that_joins(current_thread, const_cast<DhCell*>(cell), bytes, DH_PC)) return;
  __attribute__((musttail)) return deadheat_read_elsewhere(address, cell, bytes);
}
DH_C DH_SLOW void deadheat_write_elsewhere(void* address, const DhCell* cell, uint64_t bytes,
                                           uint64_t value) {
  if (current_thread->places_again.shall_learn()) __attribute__
    ((musttail)) return deadheat_write_learn(address, cell, bytes, value);
  __attribute__((musttail)) return deadheat_write_slow(address, cell, bytes, value);
}
DH_C DH_SLOW void deadheat_write_instead(void* address, const DhCell* cell, uint64_t bytes, uint64_t value) {
  Thread* const thread = current_thread;
  if (thread->places_again.shall_learn()) learn_again(thread, cell, bytes, DH_PC, kHookSite | kWriteSite);
  if (replace_own_write(thread, const_cast<DhCell*>(cell), bytes, DH_PC)) return;
  __attribute__((musttail)) return deadheat_write_slow(address, cell, bytes, value);
}

// Nobody has touched the granule; if somebody has by now, nothing is done here.
DH_C DH_SLOW void deadheat_write_first(void* address, const DhCell* cell, uint64_t bytes, uint64_t value) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) && quickest_first_write(thread, reinterpret_cast<uintptr_t>(address),
                                                   const_cast<DhCell*>(cell), bytes, DH_PC)) {
    return;
  }
  __attribute__((musttail)) return deadheat_write_slow(address, cell, bytes, value);
}

// A read that this thread has noted before.
DH_C DH_SLOW void deadheat_read_noted(const void* address, const DhCell* cell, uint64_t bytes) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) && ReadNotes::read_again(thread, const_cast<DhCell*>(cell), bytes, DH_PC)) {
    return;
  }
  __attribute__((musttail)) return deadheat_read_slow(address, cell, bytes);
}
// Another thread reads there, too: perhaps to be noted from now on.
DH_C DH_SLOW void deadheat_read_shared(const void* address, const DhCell* cell, uint64_t bytes) {
  if (ReadNotes::begin(current_thread, reinterpret_cast<uintptr_t>(address), const_cast<DhCell*>(cell), bytes,
                       DH_PC))
    return;
  __attribute__((musttail)) return deadheat_read_slow(address, cell, bytes);
}
// Its read stands first, that of this thread second.
DH_C DH_SLOW void deadheat_read_beside(const void* address, const DhCell* cell, uint64_t bytes) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) && thread->notes.may_begin()) {
    __attribute__((musttail)) return deadheat_read_shared(address, cell, bytes);
  }
  __attribute__((musttail)) return deadheat_read_slow(address, cell, bytes);
}

// What one thread alone did, byte by byte.
DH_C DH_SLOW void deadheat_read_bytes(const void* address, const DhCell* cell, uint64_t bytes) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) &&
      access_in_bytes_quickly<false>(thread, const_cast<DhCell*>(cell), bytes, DH_PC)) {
    return;
  }
  __attribute__((musttail)) return deadheat_read_slow(address, cell, bytes);
}
DH_C DH_SLOW void deadheat_write_bytes(void* address, const DhCell* cell, uint64_t bytes, uint64_t value) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) &&
      access_in_bytes_quickly<true>(thread, const_cast<DhCell*>(cell), bytes, DH_PC)) {
    return;
  }
  __attribute__((musttail)) return deadheat_write_slow(address, cell, bytes, value);
}

// Memory that nobody can write: the page may be covered; otherwise its cell is that of one more read, of all
// bytes.
DH_C DH_SLOW void deadheat_read_page(const void* address, const DhCell* cell, uint64_t bytes) {
  Thread* const thread = current_thread;
  if (may_be_quick(thread) &&
      read_of_page_quickly(thread, reinterpret_cast<uintptr_t>(address), cell_of_page(cell), bytes, DH_PC)) {
    return;
  }
  __attribute__((musttail)) return deadheat_read_slow(address, cell, bytes);
}
DH_C DH_SLOW void deadheat_read_unwritable(const void* address, const DhCell* cell, uint64_t bytes) {
  if (is_page_covered(cell)) return;
  __attribute__((musttail)) return deadheat_read_page(address, cell, bytes);
}

#define DH_READ_AGAIN(name, again, elsewhere)                                       \
  DH_C DH_SLOW void name(const void* address, const DhCell* cell, uint64_t bytes) { \
    Again const done = try_again<again>(cell, bytes, DH_PC);                        \
    if (done == Again::kDone || done == Again::kJoined) return;                     \
    if (done == Again::kNo) __attribute__                                           \
      ((musttail)) return deadheat_read_slow(address, cell, bytes);                 \
    if (done == Again::kShared) __attribute__                                       \
      ((musttail)) return deadheat_read_shared(address, cell, bytes);               \
    __attribute__((musttail)) return elsewhere(address, cell, bytes);               \
  }
#define DH_WRITE_AGAIN(name, again, elsewhere)                                                \
  DH_C DH_SLOW void name(void* address, const DhCell* cell, uint64_t bytes, uint64_t value) { \
    Again const done = try_again<again>(cell, bytes, DH_PC);                                  \
    if (done == Again::kDone || done == Again::kJoined) return;                               \
    if (done == Again::kNo) __attribute__                                                     \
      ((musttail)) return deadheat_write_slow(address, cell, bytes, value);                   \
    __attribute__((musttail)) return elsewhere(address, cell, bytes, value);                  \
  }
DH_READ_AGAIN(deadheat_read_again, (access_again<false, kSameAccess>), deadheat_read_elsewhere)
DH_READ_AGAIN(deadheat_read_more, (access_again<false, kSameLabel>), deadheat_read_join)
DH_READ_AGAIN(deadheat_read_second, read_second_again, deadheat_read_elsewhere)
DH_WRITE_AGAIN(deadheat_write_again, (access_again<true, kSameAccess>), deadheat_write_instead)
DH_WRITE_AGAIN(deadheat_write_more, (access_again<true, kSameLabel>), deadheat_write_elsewhere)

// Decided with the only register that need not be kept: by the difference of a record of the cell (%rsi) and
// the access (the floor, the bytes in %rdx, for a write its bit).
static_assert(kDhLongBit == 0x400000);
static_assert(kSameAccess == (~uint64_t{0} << 47 | 0x4003ff) && kDhWriteBit == 1 << 8);
static_assert(kSameLabel == (~uint64_t{0} << 23 | 0x400300));
static_assert(__builtin_offsetof(DhHot, floor) == 0);
static_assert(kUnwritable == 0xff);
// The bit below the slot says that a read is noted.
static_assert(uint64_t{kNoClock} << kDhEpochShift == uint64_t{1} << 46);

// clang-format off
__attribute__((naked)) void __dh_read_slow(const void*, const DhCell*, uint64_t) {
  __asm__(
      "cmpb $0, deadheat_alone(%rip)\n"
      "jne 9f\n"
      "test $7, %dil\n"
      "jne 7f\n"
      "6: test %rsi, %rsi\n"
      "je deadheat_read_slow\n"
      "mov %fs:__dh_hot@tpoff, %r11\n"
      "xor (%rsi), %r11\n"
      "xor %rdx, %r11\n"
      "test $0x4003ff, %r11d\n"
      "jne 1f\n"
      "shr $46, %r11\n"
      "je deadheat_read_again\n"
      "cmp $1, %r11d\n"
      "je deadheat_read_noted\n"
      "jmp 3f\n"
      // Not the same bytes, or not of the same kind.
      "1: test $0x400300, %r11d\n"
      "jne 2f\n"
      "shr $23, %r11\n"
      "je deadheat_read_more\n"
      "shr $24, %r11\n"
      "je deadheat_read_slow\n"
      // The first one is a plain read of another thread. If the second one is of this thread and these bytes:
      "3: cmpq $0xff, (%rsi)\n"
      "je deadheat_read_unwritable\n"
      "mov %fs:__dh_hot@tpoff, %r11\n"
      "xor 8(%rsi), %r11\n"
      "xor %rdx, %r11\n"
      "test $0x4003ff, %r11d\n"
      "jne deadheat_read_slow\n"
      "shr $46, %r11\n"
      "je deadheat_read_beside\n"
      "cmp $1, %r11d\n"
      "je deadheat_read_noted\n"
      "jmp deadheat_read_slow\n"
      // The first one is of another kind. If it is a plain write of this thread: the second one.
      "2: btc $8, %r11\n"
      "test $0x400300, %r11d\n"
      "jne 4f\n"
      "shr $47, %r11\n"
      "jne deadheat_read_slow\n"
      "mov %fs:__dh_hot@tpoff, %r11\n"
      "xor 8(%rsi), %r11\n"
      "xor %rdx, %r11\n"
      "test $0x4003ff, %r11d\n"
      "jne deadheat_read_slow\n"
      "shr $47, %r11\n"
      "je deadheat_read_second\n"
      "jmp deadheat_read_slow\n"
      // Long, and the second half says so, too (or is a pointer that looks like it): byte by byte.
      "4: test $0x400000, %r11d\n"
      "je deadheat_read_slow\n"
      "testl $0x400000, 8(%rsi)\n"
      "jne deadheat_read_bytes\n"
      "jmp deadheat_read_slow\n"
      // A part of the granule, or beyond its end.
      "7: cmp $0xff, %rdx\n"
      "jb 6b\n"
      "jmp deadheat_read_beyond\n"
      "9: ret");
}
__attribute__((naked)) void __dh_write_slow(void*, const DhCell*, uint64_t, uint64_t) {
  __asm__(
      "cmpb $0, deadheat_alone(%rip)\n"
      "jne 9f\n"
      "test $7, %dil\n"
      "jne 7f\n"
      "6: test %rsi, %rsi\n"
      "je deadheat_write_slow\n"
      "cmpq $0, (%rsi)\n"
      "je deadheat_write_first\n"
      "mov %fs:__dh_hot@tpoff, %r11\n"
      "xor (%rsi), %r11\n"
      "xor %rdx, %r11\n"
      "btc $8, %r11\n"
      "test $0x4003ff, %r11d\n"
      "jne 1f\n"
      "shr $47, %r11\n"
      "je deadheat_write_again\n"
      "jmp deadheat_write_slow\n"
      "1: test $0x400300, %r11d\n"
      "jne 2f\n"
      "shr $23, %r11\n"
      "je deadheat_write_more\n"
      "jmp deadheat_write_slow\n"
      "2: test $0x400000, %r11d\n"
      "je deadheat_write_slow\n"
      "testl $0x400000, 8(%rsi)\n"
      "jne deadheat_write_bytes\n"
      "jmp deadheat_write_slow\n"
      // A part of the granule, or beyond its end.
      "7: cmp $0xff, %rdx\n"
      "jb 6b\n"
      "jmp deadheat_write_beyond\n"
      "9: ret");
}
// clang-format on
