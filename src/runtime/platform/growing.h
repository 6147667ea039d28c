// An append-only array of up to 2^Bits elements, mapped piece by piece; elements never move. Index 0 is never
// used.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/platform/memory.h"
#include "runtime/platform/syscalls.h"

namespace deadheat::platform {

template <class T, unsigned Bits, uint32_t kPieceBits = 14>
class Growing {
 public:
  T& operator[](uint32_t index) { return piece_[index >> kPieceBits][index & ((1u << kPieceBits) - 1)]; }

  // 0 when full. `what` it is, for the line that says that there is no memory.
  uint32_t append(const char* what) {
    uint32_t const index = __atomic_add_fetch(&count_, 1, __ATOMIC_RELAXED);
    if (index >= (1u << Bits)) {
      __atomic_sub_fetch(&count_, 1, __ATOMIC_RELAXED);
      return 0;
    }
    T*& piece = piece_[index >> kPieceBits];
    if (__atomic_load_n(&piece, __ATOMIC_ACQUIRE) == nullptr) {
      size_t const size = sizeof(T) << kPieceBits;
      // A table that has grown to more than one of them is a large one.
      bool const is_huge = size == kHugePage && index >> kPieceBits != 0;
      T* fresh = static_cast<T*>(is_huge ? map_huge_page(what) : map_pages(size, what));
      T* expected = nullptr;
      if (!__atomic_compare_exchange_n(&piece, &expected, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        sys_munmap(fresh, size);
      }
    }
    return index;
  }
  uint32_t count() const { return __atomic_load_n(&count_, __ATOMIC_RELAXED); }

 private:
  T* piece_[1u << (Bits - kPieceBits)];
  uint32_t count_;
};

}  // namespace deadheat::platform
