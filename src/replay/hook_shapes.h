// Accesses of any size and alignment, copies, fills and atomics: their steps, in the order of the recording
// runtime (record/hooks.cc).
//
// `Steps` says what a step does: nothing but replay it, tell observers as well, or ask a live world.
//
//   copy_step(hot, to, from, size, site)   up to 8 bytes
//   store(hot, address, value, size, site)
//   begin_atomic(hot, operation, site)
//   atomic_load(hot, address, size, site), atomic_store(hot, address, value, size, site)
#pragma once

#include "replay/hook_bodies.h"

namespace deadheat::replay::shapes {

inline std::uint64_t low_bytes(std::uint64_t value, std::uint32_t size) {
  return size >= 8 ? value : value & ((std::uint64_t{1} << (8 * size)) - 1);
}

// --- Up to 8 bytes anywhere

DH_BODY std::uint64_t value_any(DhReplay* hot, std::uint64_t address, std::uint32_t size) {
  if (!bodies::is_split(hot, address, size)) return bodies::value(hot, address, size, 0);
  const std::uint32_t first = 8 - static_cast<std::uint32_t>(address & 7);
  const std::uint64_t low = bodies::value(hot, address, first, 0);
  return low | bodies::value(hot, address + first, size - first, 0) << (8 * first);
}

DH_BODY void put(DhReplay* hot, std::uint64_t address, std::uint64_t value, std::uint32_t size) {
  if (!bodies::is_split(hot, address, size)) return bodies::poke(hot, address, value, size);
  const std::uint32_t first = 8 - static_cast<std::uint32_t>(address & 7);
  bodies::poke(hot, address, value, first);
  bodies::poke(hot, address + first, value >> (8 * first), size - first);
}

// For observers: whose bytes they are. A tagged predictor knows.
DH_BODY void own(DhReplay* hot, std::uint64_t address) {
  if (!bodies::is_tagged(hot)) bodies::tag_at(hot, address) = dh_tag_of(address);
}

template <bool kObserved>
std::uint64_t load_any(DhReplay* hot, std::uint64_t address, std::uint32_t size, std::uint32_t site) {
  const std::uint64_t value = value_any(hot, address, size);
  if (kObserved) {
    own(hot, address);
    __dh_rep_observe(hot, address, value, size, site);
  }
  return value;
}

template <bool kObserved>
void store_any(DhReplay* hot, std::uint64_t address, std::uint64_t value, std::uint32_t size,
               std::uint32_t site) {
  value = low_bytes(value, size);
  if (kObserved) __dh_rep_observe(hot, address, value, size | kDhAccessWrite, site);
  bodies::mix(bodies::in_memory(hot), address, value);
  put(hot, address, value, size);
  if (kObserved) own(hot, address);
}

// --- Copies, fills, atomics

template <class Steps>
void copy(DhReplay* hot, std::uint64_t to, std::uint64_t from, std::uint64_t size, std::uint32_t may_overlap,
          std::uint32_t site) {
  const auto rest = static_cast<std::uint32_t>(size & 7);
  const std::uint64_t words = size & ~std::uint64_t{7};
  if (may_overlap != 0 && to > from && to < from + size) {
    if (rest != 0) Steps::copy_step(hot, to + words, from + words, rest, site);
    for (std::uint64_t at = words; at != 0; at -= 8)
      Steps::copy_step(hot, to + at - 8, from + at - 8, 8, site);
    return;
  }
  for (std::uint64_t at = 0; at != words; at += 8) Steps::copy_step(hot, to + at, from + at, 8, site);
  if (rest != 0) Steps::copy_step(hot, to + words, from + words, rest, site);
}

template <class Steps>
void fill(DhReplay* hot, std::uint64_t to, std::uint32_t byte, std::uint64_t size, std::uint32_t site) {
  const std::uint64_t word = (byte & 0xff) * UINT64_C(0x0101010101010101);
  const auto rest = static_cast<std::uint32_t>(size & 7);
  const std::uint64_t words = size & ~std::uint64_t{7};
  for (std::uint64_t at = 0; at != words; at += 8) Steps::store(hot, to + at, word, 8, site);
  if (rest != 0) Steps::store(hot, to + words, word, rest, site);
}

inline std::uint64_t outcome_of(std::uint64_t before, std::uint64_t operand, std::uint32_t operation,
                                std::uint32_t size) {
  const unsigned unused = 64 - 8 * size;
  const auto as_signed = [&](std::uint64_t value) {
    return static_cast<std::int64_t>(value << unused) >> unused;
  };
  switch (operation) {
    case kDhAtomicAdd:
      return before + operand;
    case kDhAtomicSub:
      return before - operand;
    case kDhAtomicAnd:
      return before & operand;
    case kDhAtomicOr:
      return before | operand;
    case kDhAtomicXor:
      return before ^ operand;
    case kDhAtomicNand:
      return ~(before & operand);
    case kDhAtomicMax:
      return as_signed(before) < as_signed(operand) ? operand : before;
    case kDhAtomicMin:
      return as_signed(before) < as_signed(operand) ? before : operand;
    case kDhAtomicUMax:
      return low_bytes(before, size) < low_bytes(operand, size) ? operand : before;
    case kDhAtomicUMin:
      return low_bytes(before, size) < low_bytes(operand, size) ? before : operand;
    default:
      return operand;
  }
}

template <class Steps>
std::uint64_t atomic(DhReplay* hot, std::uint64_t address, std::uint64_t operand, std::uint64_t expected,
                     std::uint32_t operation, std::uint32_t size, std::uint32_t site) {
  Steps::begin_atomic(hot, operation, site);
  std::uint64_t before = 0;
  if (operation != kDhAtomicStore) before = Steps::atomic_load(hot, address, size, site);
  if (operation == kDhAtomicLoad) return before;
  if (operation == kDhAtomicCompareExchange && before != low_bytes(expected, size)) return before;
  Steps::atomic_store(hot, address, outcome_of(before, operand, operation, size), size, site);
  return before;
}

template <class Steps>
void atomic16(DhReplay* hot, std::uint64_t address, const std::uint64_t* expected,
              const std::uint64_t* desired, std::uint64_t* before, std::uint32_t operation,
              std::uint32_t site) {
  Steps::begin_atomic(hot, operation, site);
  if (operation != kDhAtomicStore) {
    before[0] = Steps::atomic_load(hot, address, 8, site);
    before[1] = Steps::atomic_load(hot, address + 8, 8, site);
  }
  if (operation == kDhAtomicLoad) return;
  if (operation == kDhAtomicCompareExchange && (before[0] != expected[0] || before[1] != expected[1])) return;
  Steps::atomic_store(hot, address, desired[0], 8, site);
  Steps::atomic_store(hot, address + 8, desired[1], 8, site);
}

}  // namespace deadheat::replay::shapes
