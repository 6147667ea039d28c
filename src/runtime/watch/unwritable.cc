#include "runtime/watch/unwritable.h"

#include "runtime/watch/filter.h"

namespace deadheat::watch {
namespace {

// Looked through when a page of shadow is first touched, at any time, by any thread, in any handler of a
// signal: without a lock. A mapping appears and disappears by its size, which is written last and first.
struct Mapping {
  uintptr_t address;
  size_t size;  // 0: none; 1: somebody is about to fill it
};
constexpr unsigned kMost = 1024;
Mapping mappings[kMost];
unsigned highest_used;  // nothing stands behind it; never falls

size_t size_of(const Mapping& mapping) { return __atomic_load_n(&mapping.size, __ATOMIC_ACQUIRE); }

// Calls `each(mapping, address, size)` for those there are.
template <class Each>
void for_each_mapping(Each each) {
  unsigned const used = __atomic_load_n(&highest_used, __ATOMIC_ACQUIRE);
  for (unsigned i = 0; i < used; ++i) {
    size_t const size = size_of(mappings[i]);
    uintptr_t const address = __atomic_load_n(&mappings[i].address, __ATOMIC_ACQUIRE);
    // Whoever exchanges it for another one in between has made it 0 first.
    if (size > 1 && size_of(mappings[i]) == size && each(mappings[i], address, size)) return;
  }
}

bool is_of_unwritable_memory(uintptr_t address) {
  bool found = false;
  for_each_mapping([&](const Mapping&, uintptr_t start, size_t size) {
    return found = address >= start && address - start < size;
  });
  return found;
}

}  // namespace

void note_unwritable(uintptr_t address, size_t size) {
  if (size <= 1) return;
  for (unsigned i = 0; i < kMost; ++i) {
    size_t expected = 0;
    if (!__atomic_compare_exchange_n(&mappings[i].size, &expected, size_t{1}, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      continue;
    __atomic_store_n(&mappings[i].address, address, __ATOMIC_RELEASE);
    __atomic_store_n(&mappings[i].size, size, __ATOMIC_RELEASE);
    unsigned used = __atomic_load_n(&highest_used, __ATOMIC_RELAXED);
    while (used <= i && !__atomic_compare_exchange_n(&highest_used, &used, i + 1, false, __ATOMIC_ACQ_REL,
                                                     __ATOMIC_RELAXED)) {
    }
    return;
  }
}

void forget_unwritable(uintptr_t address, size_t size) {
  uintptr_t const end = address + size;
  for_each_mapping([=](Mapping& mapping, uintptr_t start, size_t its_size) {
    uintptr_t const its_end = start + its_size;
    if (its_end <= address || start >= end) return false;
    size_t expected = its_size;
    if (!__atomic_compare_exchange_n(&mapping.size, &expected, size_t{0}, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      return false;
    // What is left before and behind.
    if (start < address) note_unwritable(start, address - start);
    if (end < its_end) note_unwritable(end, its_end - end);
    return false;
  });
}

void begin_page_if_unwritable(Chunk* chunk, size_t page) {
  if (__builtin_expect(__atomic_load_n(&highest_used, __ATOMIC_RELAXED) == 0, 1) || !spans_filter()) return;
  if (!is_of_unwritable_memory(chunk->program + page * kPageBytes)) return;
  for (size_t group = page * kPageGroups; group < (page + 1) * kPageGroups; ++group)
    touch_group(chunk, group);
  DhCell* const cells = &chunk->cells[page * kPageCells];
  // What somebody has recorded there meanwhile stays.
  for (size_t i = 1; i < kPageCells; ++i) compare_and_swap_cell(&cells[i], {}, {{kUnwritable, 0}});
}

}  // namespace deadheat::watch
