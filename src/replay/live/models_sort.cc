// qsort and bsearch: the comparisons are the program's own code.
//
// Sorting is by merging, as glibc's is: equal elements keep their order. Elements stay where they are until
// all comparisons are made. A sort that the recording had left in the middle begins anew with what it was
// given (History::sorts): its result depends on nothing else.
#include <vector>

#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

struct Comparison {
  ModelCall& call;
  std::uint64_t function;
  std::uint64_t context = 0;
  bool has_context = false;

  bool is_unwinding() const { return call.self.thread->hot()->unwinding != kDhNotUnwinding; }
  int operator()(std::uint64_t a, std::uint64_t b) const {
    call.live.call_function(call.self, function,
                            has_context ? std::vector{a, b, context} : std::vector{a, b});
    return static_cast<std::int32_t>(call.self.thread->hot()->results[0]);
  }
};

// Indices of the elements in order; false: a comparison threw.
bool merge_sort(std::vector<std::uint64_t>& order, std::uint64_t base, std::uint64_t size,
                const Comparison& compare) {
  std::vector<std::uint64_t> merged(order.size());
  for (std::size_t width = 1; width < order.size(); width *= 2) {
    for (std::size_t left = 0; left < order.size(); left += 2 * width) {
      const std::size_t middle = std::min(left + width, order.size());
      const std::size_t end = std::min(left + 2 * width, order.size());
      std::size_t a = left, b = middle;
      for (std::size_t to = left; to < end; ++to) {
        bool takes_left = b == end;
        if (!takes_left && a < middle) {
          takes_left = compare(base + order[a] * size, base + order[b] * size) <= 0;
          if (compare.is_unwinding()) return false;
        }
        merged[to] = takes_left ? order[a++] : order[b++];
      }
    }
    order.swap(merged);
  }
  return true;
}

void sort(ModelCall& call) {
  const std::uint64_t base = call.word(0), count = call.word(1), size = call.word(2);
  if (count < 2 || size == 0) return;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
  if (count > kMost / size) call.live.end(OutcomeKind::kLeft, 0, "a sort of more than 4 GiB");
  // Nobody owns anything in frames that an exception or the end of the world may leave, but the heap is
  // this process's, which ends with the world.
  const Comparison compare{call, call.word(3), call.word(4), call.open.count > 4};
  std::vector<std::uint64_t> order(count);
  for (std::uint64_t i = 0; i < count; ++i) order[i] = i;
  if (!merge_sort(order, base, size, compare)) return;
  const std::string before = call.live.load_bytes(Address(base), count * size);
  std::string after;
  after.reserve(before.size());
  for (const std::uint64_t i : order) after.append(before, i * size, size);
  call.live.store_bytes(Address(base), after);
}

void rest_of_sort(ModelCall& call) {
  const auto found = call.live.history().sorts.find(call.self.thread->id());
  if (found == call.live.history().sorts.end())
    call.live.end(OutcomeKind::kLeft, 0, "the rest of a sort of what is not known");
  call.live.store_bytes(call.address(0), found->second.given);
  sort(call);
}

// (key, base, count, size, compare)
void do_bsearch(ModelCall& call) {
  const Comparison compare{call, call.word(4)};
  std::uint64_t low = 0, high = call.word(2);
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    const std::uint64_t element = call.word(1) + middle * call.word(3);
    const int order = compare(call.word(0), element);
    if (compare.is_unwinding()) return;
    if (order == 0) return call.result(element);
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  call.result(std::uint64_t{0});
}

}  // namespace

std::span<const Model> sort_models() {
  static const Model models[] = {
      {"qsort", sort, rest_of_sort},
      {"qsort_r", sort, rest_of_sort},
      {"bsearch", do_bsearch, do_bsearch},
  };
  return models;
}

}  // namespace deadheat::replay::live
