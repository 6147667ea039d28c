// Matrix multiplication: two threads, each computes the even or odd blocks of rows; inputs are shared and
// only read.
#include <vector>

#include "common.h"

int main(int argc, char** argv) {
  size_t n = 64;
  while (n * n * n < static_cast<size_t>(bench::scale(argc, argv, 560'000'000))) n += 8;
  std::vector<double> a(n * n), b(n * n), c(n * n);
  bench::Random random(2);
  for (double& x : a) x = random.real();
  for (double& x : b) x = random.real();

  bench::in_two_threads([&](int which) {
    constexpr size_t kBlock = 8;
    for (size_t block = static_cast<size_t>(which); block * kBlock < n; block += 2) {
      for (size_t i = block * kBlock; i < (block + 1) * kBlock; ++i) {
        for (size_t k = 0; k < n; ++k) {
          double const factor = a[i * n + k];
          for (size_t j = 0; j < n; ++j) c[i * n + j] += factor * b[k * n + j];
        }
      }
    }
  });

  double sum = 0;
  for (double x : c) sum += x;
  return bench::report("matmul", static_cast<uint64_t>(sum));
}
