// Functions on blocks of memory: what they read and write, byte for byte. memcmp and memchr count what their
// definition looks at (up to the first difference, up to the byte found), not what a vector instruction
// happens to load.
#include <string.h>
#include <sys/types.h>
#include <wchar.h>

#include "runtime/interpose/interpose.h"
#include "runtime/platform/memory.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

void reads(const void* from, size_t size, lane::Pc pc) {
  if (size != 0) lane::read(from, size, pc);
}
void writes(void* to, size_t size, lane::Pc pc) {
  if (size != 0) lane::write(to, size, pc);
}
void copies(void* to, const void* from, size_t size, lane::Pc pc) {
  if (size == 0) return;
  lane::read(from, size, pc);
  lane::write(to, size, pc);
}

size_t compared(const void* a, const void* b, size_t size) {
  auto const* const x = static_cast<const unsigned char*>(a);
  auto const* const y = static_cast<const unsigned char*>(b);
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {  // the words may lie anywhere
    uint64_t v;
    uint64_t w;
    __builtin_memcpy_inline(&v, x + i, 8);
    __builtin_memcpy_inline(&w, y + i, 8);
    if (v != w) return i + static_cast<size_t>(__builtin_ctzll(v ^ w)) / 8 + 1;
  }
  while (i < size && x[i] == y[i]) ++i;
  return i < size ? i + 1 : size;
}

size_t compared_wide(const wchar_t* a, const wchar_t* b, size_t count) {
  size_t i = 0;
  while (i < count && a[i] == b[i]) ++i;
  return (i < count ? i + 1 : count) * sizeof(wchar_t);
}

size_t distance(const void* from, const void* to) {
  return static_cast<size_t>(static_cast<const char*>(to) - static_cast<const char*>(from));
}

}  // namespace

INTERPOSE_ACCESSES(void*, memcpy, void* to, const void* from, size_t size) {
  copies(to, from, size, CALLER);
  return REAL(memcpy)(to, from, size);
}
INTERPOSE_ACCESSES(void*, memmove, void* to, const void* from, size_t size) {
  copies(to, from, size, CALLER);
  return REAL(memmove)(to, from, size);
}
INTERPOSE_ACCESSES(void*, mempcpy, void* to, const void* from, size_t size) {
  copies(to, from, size, CALLER);
  return REAL(mempcpy)(to, from, size);
}
INTERPOSE_ACCESSES(void*, __mempcpy, void* to, const void* from, size_t size) {
  copies(to, from, size, CALLER);
  return REAL(__mempcpy)(to, from, size);
}
INTERPOSE_ACCESSES(void*, memset, void* to, int byte, size_t size) {
  writes(to, size, CALLER);
  return REAL(memset)(to, byte, size);
}
INTERPOSE_ACCESSES(void, explicit_bzero, void* to, size_t size) {
  writes(to, size, CALLER);
  REAL(explicit_bzero)(to, size);
}
INTERPOSE_ACCESSES(void, bzero, void* to, size_t size) {
  writes(to, size, CALLER);
  REAL(bzero)(to, size);
}
INTERPOSE_ACCESSES(void, bcopy, const void* from, void* to, size_t size) {
  copies(to, from, size, CALLER);
  REAL(bcopy)(from, to, size);
}
INTERPOSE_ACCESSES(void*, memccpy, void* to, const void* from, int byte, size_t size) {
  auto const pc = CALLER;
  void* const end = REAL(memccpy)(to, from, byte, size);
  copies(to, from, end != nullptr ? distance(to, end) : size, pc);
  return end;
}
INTERPOSE_ACCESSES(void, swab, const void* from, void* to, ssize_t size) {
  if (size > 0) copies(to, from, static_cast<size_t>(size) & ~size_t{1}, CALLER);
  REAL(swab)(from, to, size);
}

// The fortified ones end the program if the destination is too small; only then is nothing touched.
INTERPOSE_ACCESSES(void*, __memcpy_chk, void* to, const void* from, size_t size, size_t room) {
  if (size <= room) copies(to, from, size, CALLER);
  return REAL(__memcpy_chk)(to, from, size, room);
}
INTERPOSE_ACCESSES(void*, __memmove_chk, void* to, const void* from, size_t size, size_t room) {
  if (size <= room) copies(to, from, size, CALLER);
  return REAL(__memmove_chk)(to, from, size, room);
}
INTERPOSE_ACCESSES(void*, __mempcpy_chk, void* to, const void* from, size_t size, size_t room) {
  if (size <= room) copies(to, from, size, CALLER);
  return REAL(__mempcpy_chk)(to, from, size, room);
}
INTERPOSE_ACCESSES(void*, __memset_chk, void* to, int byte, size_t size, size_t room) {
  if (size <= room) writes(to, size, CALLER);
  return REAL(__memset_chk)(to, byte, size, room);
}
INTERPOSE_ACCESSES(void, __explicit_bzero_chk, void* to, size_t size, size_t room) {
  if (size <= room) writes(to, size, CALLER);
  REAL(__explicit_bzero_chk)(to, size, room);
}

INTERPOSE_ACCESSES(int, memcmp, const void* a, const void* b, size_t size) {
  int const result = REAL(memcmp)(a, b, size);
  size_t const looked_at = result == 0 ? size : compared(a, b, size);
  reads(a, looked_at, CALLER);
  reads(b, looked_at, CALLER);
  return result;
}
INTERPOSE_ACCESSES(int, bcmp, const void* a, const void* b, size_t size) {
  int const result = REAL(bcmp)(a, b, size);
  size_t const looked_at = result == 0 ? size : compared(a, b, size);
  reads(a, looked_at, CALLER);
  reads(b, looked_at, CALLER);
  return result;
}
INTERPOSE_ACCESSES(void*, memchr, const void* block, int byte, size_t size) {
  void* const found = REAL(memchr)(block, byte, size);
  // rawmemchr in disguise: programs pass SIZE_MAX when they know that the byte is there.
  reads(block, found != nullptr ? distance(block, found) + 1 : size, CALLER);
  return found;
}
INTERPOSE_ACCESSES(void*, memrchr, const void* block, int byte, size_t size) {
  void* const found = REAL(memrchr)(block, byte, size);
  size_t const skipped = found != nullptr ? distance(block, found) : 0;
  reads(static_cast<const char*>(block) + skipped, size - skipped, CALLER);
  return found;
}
INTERPOSE_ACCESSES(void*, rawmemchr, const void* block, int byte) {
  void* const found = REAL(rawmemchr)(block, byte);
  reads(block, distance(block, found) + 1, CALLER);
  return found;
}
INTERPOSE_ACCESSES(void*, __rawmemchr, const void* block, int byte) {
  void* const found = REAL(__rawmemchr)(block, byte);
  reads(block, distance(block, found) + 1, CALLER);
  return found;
}
INTERPOSE_ACCESSES(void*, memmem, const void* block, size_t size, const void* part, size_t part_size) {
  void* const found = REAL(memmem)(block, size, part, part_size);
  reads(block, found != nullptr ? distance(block, found) + part_size : size, CALLER);
  reads(part, part_size, CALLER);
  return found;
}

INTERPOSE_ACCESSES(wchar_t*, wmemcpy, wchar_t* to, const wchar_t* from, size_t count) {
  copies(to, from, count * sizeof(wchar_t), CALLER);
  return REAL(wmemcpy)(to, from, count);
}
INTERPOSE_ACCESSES(wchar_t*, wmempcpy, wchar_t* to, const wchar_t* from, size_t count) {
  copies(to, from, count * sizeof(wchar_t), CALLER);
  return REAL(wmempcpy)(to, from, count);
}
INTERPOSE_ACCESSES(wchar_t*, wmemmove, wchar_t* to, const wchar_t* from, size_t count) {
  copies(to, from, count * sizeof(wchar_t), CALLER);
  return REAL(wmemmove)(to, from, count);
}
INTERPOSE_ACCESSES(wchar_t*, wmemset, wchar_t* to, wchar_t value, size_t count) {
  writes(to, count * sizeof(wchar_t), CALLER);
  return REAL(wmemset)(to, value, count);
}
INTERPOSE_ACCESSES(int, wmemcmp, const wchar_t* a, const wchar_t* b, size_t count) {
  size_t const looked_at = compared_wide(a, b, count);
  reads(a, looked_at, CALLER);
  reads(b, looked_at, CALLER);
  return REAL(wmemcmp)(a, b, count);
}
INTERPOSE_ACCESSES(wchar_t*, wmemchr, const wchar_t* block, wchar_t value, size_t count) {
  wchar_t* const found = REAL(wmemchr)(block, value, count);
  reads(block, found != nullptr ? distance(block, found) + sizeof(wchar_t) : count * sizeof(wchar_t), CALLER);
  return found;
}
INTERPOSE_ACCESSES(wchar_t*, __wmemcpy_chk, wchar_t* to, const wchar_t* from, size_t count, size_t room) {
  if (count <= room) copies(to, from, count * sizeof(wchar_t), CALLER);
  return REAL(__wmemcpy_chk)(to, from, count, room);
}
INTERPOSE_ACCESSES(wchar_t*, __wmempcpy_chk, wchar_t* to, const wchar_t* from, size_t count, size_t room) {
  if (count <= room) copies(to, from, count * sizeof(wchar_t), CALLER);
  return REAL(__wmempcpy_chk)(to, from, count, room);
}
INTERPOSE_ACCESSES(wchar_t*, __wmemmove_chk, wchar_t* to, const wchar_t* from, size_t count, size_t room) {
  if (count <= room) copies(to, from, count * sizeof(wchar_t), CALLER);
  return REAL(__wmemmove_chk)(to, from, count, room);
}
INTERPOSE_ACCESSES(wchar_t*, __wmemset_chk, wchar_t* to, wchar_t value, size_t count, size_t room) {
  if (count <= room) writes(to, count * sizeof(wchar_t), CALLER);
  return REAL(__wmemset_chk)(to, value, count, room);
}
