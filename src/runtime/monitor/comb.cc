#include "runtime/monitor/comb.h"

namespace deadheat::monitor {
namespace {

uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }
uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

// Rounded up; `b` is positive.
int64_t divided_up(int64_t a, int64_t b) { return a > 0 ? (a - 1) / b + 1 : -(-a / b); }

// The first tooth of a comb that ends behind `begin`.
uint64_t first_tooth_behind(const Comb& comb, uintptr_t begin) {
  uintptr_t const first_end = comb.address + comb.width;
  return begin < first_end ? 0 : (begin - first_end) / comb.stride + 1;
}

bool common_with_stretch(const Comb& comb, const Comb& stretch, uintptr_t* byte) {
  if (comb.is_stretch()) {
    *byte = larger(comb.address, stretch.address);
    return *byte < smaller(comb.end(), stretch.end());
  }
  uint64_t const tooth = first_tooth_behind(comb, stretch.address);
  if (tooth >= comb.teeth()) return false;
  uintptr_t const begin = comb.address + tooth * comb.stride;
  if (begin >= stretch.end()) return false;
  *byte = larger(begin, stretch.address);
  return true;
}

// Tooth i of `a` and tooth j of `b` have a byte in common if a + i*s and b + j*s are less than the one's
// width apart: a question about i - j alone.
bool common_of_one_stride(const Comb& a, const Comb& b, uintptr_t* byte) {
  auto const stride = static_cast<int64_t>(a.stride);
  auto const distance = static_cast<int64_t>(a.address - b.address);
  int64_t apart = divided_up(1 - static_cast<int64_t>(a.width) - distance, stride);
  int64_t const least = 1 - static_cast<int64_t>(b.teeth());
  if (apart < least) apart = least;
  if (apart >= static_cast<int64_t>(a.teeth())) return false;
  if (distance + apart * stride >= static_cast<int64_t>(b.width)) return false;
  uint64_t const i = apart > 0 ? static_cast<uint64_t>(apart) : 0;
  uint64_t const j = i - static_cast<uint64_t>(apart);
  *byte = larger(a.address + i * a.stride, b.address + j * b.stride);
  return true;
}

}  // namespace

bool comb_of_loop(uintptr_t first, uint64_t size, int64_t stride, uint64_t count, uintptr_t limit,
                  Comb* comb) {
  if (size == 0 || count == 0) return false;
  bool const is_backwards = stride < 0;
  uint64_t const step = is_backwards ? -static_cast<uint64_t>(stride) : static_cast<uint64_t>(stride);
  uint64_t way = 0;
  uint64_t extent = 0;
  uintptr_t end = 0;
  if (__builtin_mul_overflow(step, count - 1, &way) || __builtin_add_overflow(way, size, &extent))
    return false;
  if (is_backwards && way > first) return false;
  uintptr_t const begin = is_backwards ? first - way : first;
  if (__builtin_add_overflow(begin, extent, &end) || end >= limit) return false;
  bool const leaves_gaps = step > size && count > 1;
  *comb = {begin, extent, leaves_gaps ? step : 0, leaves_gaps ? size : 0};
  return true;
}

bool first_common(const Comb& a, const Comb& b, uintptr_t* byte) {
  if (a.address >= b.end() || b.address >= a.end()) return false;
  if (b.is_stretch()) return common_with_stretch(a, b, byte);
  if (a.is_stretch()) return common_with_stretch(b, a, byte);
  if (a.stride == b.stride) return common_of_one_stride(a, b, byte);
  const Comb& coarse = a.stride > b.stride ? a : b;
  const Comb& fine = a.stride > b.stride ? b : a;
  uint64_t const from = first_tooth_behind(coarse, fine.address);
  uint64_t const to = smaller(coarse.teeth(), from + kTeethTried);
  for (uint64_t i = from; i < to; ++i) {
    Comb const tooth{coarse.address + i * coarse.stride, coarse.width, 0, 0};
    if (tooth.address >= fine.end()) return false;
    if (common_with_stretch(fine, tooth, byte)) return true;
  }
  return false;
}

}  // namespace deadheat::monitor
