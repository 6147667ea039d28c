// What a chunk of shadow has beside its cells, and not every chunk needs: mapped when it is first asked for.
#pragma once

#include <stddef.h>

#include "runtime/platform/memory.h"
#include "runtime/platform/syscalls.h"

namespace deadheat::watch {

// `count` of them, all zeros at first, used page by page. Null if there is no memory for them.
template <class T>
T* beside(T** where, size_t count) {
  if (T* const there = __atomic_load_n(where, __ATOMIC_ACQUIRE)) return there;
  size_t const size = count * sizeof(T);
  auto* const fresh = static_cast<T*>(platform::try_map_pages(size));
  if (fresh == nullptr) return nullptr;
  platform::sys_madvise(fresh, size, MADV_NOHUGEPAGE);
  platform::sys_madvise(fresh, size, MADV_DONTDUMP);
  T* expected = nullptr;
  if (__atomic_compare_exchange_n(where, &expected, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return fresh;
  platform::sys_munmap(fresh, size);
  return expected;
}

}  // namespace deadheat::watch
