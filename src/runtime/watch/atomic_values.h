// The atomic operations themselves, as the processor does them.
#pragma once

#include <stdint.h>

namespace deadheat::watch {

// Sequentially consistent: never weaker than what was asked for. 16 bytes go
// through cmpxchg16b, whatever the compiler thinks of libatomic.
template <class T>
T plain_compare_exchange(volatile T* address, T expected, T desired) {
  return __sync_val_compare_and_swap(address, expected, desired);
}
template <class T>
T plain_load(const volatile T* address) {
  if constexpr (sizeof(T) == 16)
    return plain_compare_exchange(const_cast<volatile T*>(address), T{0}, T{0});
  else
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);
}
template <class T, class F>
T plain_modify(volatile T* address, F changed) {
  T old = plain_load(address);
  for (;;) {
    T const seen = plain_compare_exchange(address, old, static_cast<T>(changed(old)));
    if (seen == old) return old;
    old = seen;
  }
}

#define DH_MODIFICATION(Name, builtin, expression)                                                    \
  struct Name {                                                                                       \
    template <class T>                                                                                \
    static T apply(volatile T* address, T operand) {                                                  \
      if constexpr (sizeof(T) == 16)                                                                  \
        return plain_modify(address, [operand](T old) -> T { return static_cast<T>((expression)); }); \
      else                                                                                            \
        return builtin(address, operand, __ATOMIC_SEQ_CST);                                           \
    }                                                                                                 \
  }
DH_MODIFICATION(Exchange, __atomic_exchange_n, (static_cast<void>(old), operand));
DH_MODIFICATION(Add, __atomic_fetch_add, old + operand);
DH_MODIFICATION(Subtract, __atomic_fetch_sub, old - operand);
DH_MODIFICATION(And, __atomic_fetch_and, old& operand);
DH_MODIFICATION(Or, __atomic_fetch_or, old | operand);
DH_MODIFICATION(Xor, __atomic_fetch_xor, old ^ operand);
DH_MODIFICATION(Nand, __atomic_fetch_nand, ~(old& operand));
#undef DH_MODIFICATION

// A store is sequentially consistent only if it must be: that is an exchange, and any other store of a
// processor of this kind releases. Who is told by a lock that it is over sees it.
template <class T>
void plain_store(volatile T* address, T value, bool sequentially_consistent) {
  if constexpr (sizeof(T) == 16)
    Exchange::apply(address, value);
  else if (sequentially_consistent)
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);
  else
    __atomic_store_n(address, value, __ATOMIC_RELEASE);
}
inline constexpr int kSequentiallyConsistent = 5;

}  // namespace deadheat::watch
