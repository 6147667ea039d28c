// <sanitizer/tsan_interface_atomic.h>: what was not made an instruction in the program (an order that is not
// constant, 16 bytes, a call through a pointer). Compiled as a program is, by the wrapper, for each lane: so
// its atomics are what the lane makes of atomics.
#include <stdint.h>

#define INTERFACE __attribute__((weak, visibility("hidden")))

typedef unsigned __int128 uint128;

// Bits above the six orders are hints for processors.
#define ORDER(order) ((order) & 0x7fff)

#define ATOMICS(N, T)                                                                                     \
  INTERFACE T __tsan_atomic##N##_load(const volatile T* at, int order) {                                  \
    return __atomic_load_n(at, ORDER(order));                                                             \
  }                                                                                                       \
  INTERFACE void __tsan_atomic##N##_store(volatile T* at, T value, int order) {                           \
    __atomic_store_n(at, value, ORDER(order));                                                            \
  }                                                                                                       \
  INTERFACE T __tsan_atomic##N##_compare_exchange_val(volatile T* at, T expected, T desired, int success, \
                                                      int failure) {                                      \
    __atomic_compare_exchange_n(at, &expected, desired, 0, ORDER(success), ORDER(failure));               \
    return expected;                                                                                      \
  }                                                                                                       \
  INTERFACE int __tsan_atomic##N##_compare_exchange_strong(volatile T* at, T* expected, T desired,        \
                                                           int success, int failure) {                    \
    return __atomic_compare_exchange_n(at, expected, desired, 0, ORDER(success), ORDER(failure));         \
  }                                                                                                       \
  INTERFACE int __tsan_atomic##N##_compare_exchange_weak(volatile T* at, T* expected, T desired,          \
                                                         int success, int failure) {                      \
    return __atomic_compare_exchange_n(at, expected, desired, 1, ORDER(success), ORDER(failure));         \
  }                                                                                                       \
  UPDATE(N, T, exchange, __atomic_exchange_n)                                                             \
  UPDATE(N, T, fetch_add, __atomic_fetch_add)                                                             \
  UPDATE(N, T, fetch_sub, __atomic_fetch_sub)                                                             \
  UPDATE(N, T, fetch_and, __atomic_fetch_and)                                                             \
  UPDATE(N, T, fetch_or, __atomic_fetch_or)                                                               \
  UPDATE(N, T, fetch_xor, __atomic_fetch_xor)                                                             \
  UPDATE(N, T, fetch_nand, __atomic_fetch_nand)
#define UPDATE(N, T, name, operation)                                         \
  INTERFACE T __tsan_atomic##N##_##name(volatile T* at, T value, int order) { \
    return operation(at, value, ORDER(order));                                \
  }

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
ATOMICS(128, uint128)

INTERFACE void __tsan_atomic_thread_fence(int order) { __atomic_thread_fence(ORDER(order)); }
INTERFACE void __tsan_atomic_signal_fence(int order) { __atomic_signal_fence(ORDER(order)); }
