// The record lane's hooks that are not hot: call-backs, exceptions, jumps, copies.
#include "runtime/abi.h"
#include "runtime/lane.h"
#include "runtime/platform/module_check.h"
#include "runtime/record/stream.h"
#include "runtime/record/value_hooks.h"

using namespace deadheat;
using namespace deadheat::record;

__thread DhRecord* __dh_record __attribute__((tls_model("initial-exec"))) = &discard;

void __dh_module_init(uint32_t abi_version, const char* mode) {
  platform::check_module(abi_version, DEADHEAT_ABI_VERSION, mode, "record");
  lane::initialise();
}

// --- Calls from invisible code

void __dh_rec_callback_begin(const void* function, const uint64_t* words, uint32_t count) {
  DhRecord* const record = __dh_record;
  {
    Inside const inside(record);
    constexpr uint32_t kAtOnce = 16;
    uint32_t written = 0;
    {
      Item item(record, kTagCallback);
      item.varint(reinterpret_cast<uint64_t>(function));
      item.varint(count);
      for (; written < count && written < kAtOnce; ++written) item.word(words[written]);
    }
    while (written < count) {
      uint32_t const part = count - written < kAtOnce ? count - written : kAtOnce;
      Item item(record, kTagMoreWords);
      item.varint(part);
      for (uint32_t i = 0; i < part; ++i) item.word(words[written++]);
    }
  }
  record->invisible = 0;
}

void __dh_rec_callback_end() {
  DhRecord* const record = __dh_record;
  record->invisible = 1;
  if (record->attention != 0) __dh_rec_attend(record);
}

void __dh_rec_callback_unwound() {
  DhRecord* const record = __dh_record;
  Inside const inside(record);
  Item const item(record, kTagUnwound);
  record->invisible = 1;
}

void __dh_rec_landed(uint32_t depth) {
  DhRecord* const record = __dh_record;
  Inside const inside(record);
  record->invisible = 0;
  record->depth = depth;
  Item item(record, kTagLanded);
  item.varint(depth + 1);
}

void __dh_rec_setjmp(const void* environment, int value, uint32_t depth) {
  DhRecord* const record = __dh_record;
  record->depth = depth;
  if (value == 0) return;
  Inside const inside(record);
  record->invisible = 0;
  Item item(record, kTagJumped);
  item.varint(reinterpret_cast<uint64_t>(environment));
}

// --- Copies, in steps of 8 bytes from the start (backwards: from the end), the rest in one step

namespace {

uint64_t get(const uint8_t* from, uint32_t size) {
  if (size == 8) {
    uint64_t value;
    __builtin_memcpy_inline(&value, from, 8);
    return value;
  }
  uint64_t value = 0;
  for (uint32_t i = 0; i < size; ++i)
    value |= static_cast<uint64_t>(*static_cast<const volatile uint8_t*>(from + i)) << (8 * i);
  return value;
}

void set(uint8_t* to, uint64_t value, uint32_t size) {
  if (size == 8) {
    __builtin_memcpy_inline(to, &value, 8);
    return;
  }
  for (uint32_t i = 0; i < size; ++i)
    *static_cast<volatile uint8_t*>(to + i) = static_cast<uint8_t>(value >> (8 * i));
}

// One copy or fill at work.
struct Mover {
  DhRecord* record;
  uint64_t run;
  uint64_t hash;

  Mover() { reload(copies()); }
  Copies copies() { return {record, run, hash}; }

  void load_step(const uint8_t* from, uint64_t value, uint32_t size) {
    auto const address = reinterpret_cast<uint64_t>(from);
    if (size == 8) return load<uint64_t>(address, value, copies());
    __dh_rec_load_slow(record, address, value, size);
    reload(copies());
  }

  void store_step(uint8_t* to, uint64_t value, uint32_t size) {
    auto const address = reinterpret_cast<uint64_t>(to);
    if (size == 8) return store<uint64_t>(address, value, copies());
    store_any(record, address, value, size);
    hash = record->hash;
  }

  void step(uint8_t* to, const uint8_t* from, uint32_t size) {
    uint64_t const value = get(from, size);
    load_step(from, value, size);
    store_step(to, value, size);
    set(to, value, size);
  }
};

void forwards(uint8_t* to, const uint8_t* from, size_t size) {
  Mover mover;
  size_t at = 0;
  for (; at + 8 <= size; at += 8) mover.step(to + at, from + at, 8);
  if (at < size) mover.step(to + at, from + at, static_cast<uint32_t>(size - at));
}

void backwards(uint8_t* to, const uint8_t* from, size_t size) {
  Mover mover;
  size_t at = size & ~size_t{7};
  if (at < size) mover.step(to + at, from + at, static_cast<uint32_t>(size - at));
  while (at != 0) {
    at -= 8;
    mover.step(to + at, from + at, 8);
  }
}

}  // namespace

void __dh_rec_memcpy(void* to, const void* from, size_t size) {
  forwards(static_cast<uint8_t*>(to), static_cast<const uint8_t*>(from), size);
}

void __dh_rec_memmove(void* to, const void* from, size_t size) {
  auto* const target = static_cast<uint8_t*>(to);
  auto* const source = static_cast<const uint8_t*>(from);
  if (target > source && target < source + size)
    backwards(target, source, size);
  else
    forwards(target, source, size);
}

void __dh_rec_memset(void* to, int byte, size_t size) {
  auto* const target = static_cast<uint8_t*>(to);
  uint64_t const word = static_cast<uint8_t>(byte) * UINT64_C(0x0101010101010101);
  Mover mover;
  size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    mover.store_step(target + at, word, 8);
    set(target + at, word, 8);
  }
  if (at < size) {
    auto const rest = static_cast<uint32_t>(size - at);
    uint64_t const value = word & ((uint64_t{1} << (8 * rest)) - 1);
    mover.store_step(target + at, value, rest);
    set(target + at, value, rest);
  }
}
