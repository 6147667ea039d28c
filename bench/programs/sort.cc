// Parallel merge sort: each thread sorts one half of a shared array recursively, then both are merged.
#include <algorithm>
#include <vector>

#include "common.h"

namespace {

using Items = std::vector<uint32_t>;

void insertion_sort(uint32_t* from, uint32_t* to) {
  for (uint32_t* i = from; i != to; ++i) {
    uint32_t const item = *i;
    uint32_t* hole = i;
    for (; hole != from && item < hole[-1]; --hole) *hole = hole[-1];
    *hole = item;
  }
}

void merge(const uint32_t* a, const uint32_t* a_end, const uint32_t* b, const uint32_t* b_end,
           uint32_t* out) {
  while (a != a_end && b != b_end) *out++ = *b < *a ? *b++ : *a++;
  out = std::copy(a, a_end, out);
  std::copy(b, b_end, out);
}

void merge_sort(uint32_t* from, uint32_t* to, uint32_t* spare) {
  if (to - from <= 16) return insertion_sort(from, to);
  uint32_t* const middle = from + (to - from) / 2;
  merge_sort(from, middle, spare);
  merge_sort(middle, to, spare + (middle - from));
  merge(from, middle, middle, to, spare);
  std::copy(spare, spare + (to - from), from);
}

}  // namespace

int main(int argc, char** argv) {
  size_t const count = static_cast<size_t>(bench::scale(argc, argv, 4'000'000));
  Items items(count);
  Items spare(count);
  bench::Random random(1);
  for (uint32_t& item : items) item = static_cast<uint32_t>(random.next());

  size_t const half = count / 2;
  bench::in_two_threads([&](int which) {
    size_t const from = which == 0 ? 0 : half;
    size_t const to = which == 0 ? half : count;
    merge_sort(items.data() + from, items.data() + to, spare.data() + from);
  });
  merge(items.data(), items.data() + half, items.data() + half, items.data() + count, spare.data());

  uint64_t sum = 0;
  for (size_t i = 0; i < count; i += 97) sum = bench::mix(sum, spare[i]);
  return bench::report("sort", sum);
}
