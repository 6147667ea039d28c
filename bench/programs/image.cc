// An image filter on bytes: blur, then a threshold, rows split between two threads, barriers between the
// passes.
#include <pthread.h>

#include <algorithm>
#include <vector>

#include "common.h"

namespace {

constexpr int kWidth = 1600;
constexpr int kHeight = 1200;

using Image = std::vector<uint8_t>;

uint8_t pixel(const Image& image, int x, int y) {
  x = std::clamp(x, 0, kWidth - 1);
  y = std::clamp(y, 0, kHeight - 1);
  return image[static_cast<size_t>(y) * kWidth + static_cast<size_t>(x)];
}

void blur(const Image& from, Image& to, int first, int last) {
  static constexpr int kWeights[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
  for (int y = first; y < last; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      int sum = 0;
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) sum += kWeights[dy + 1][dx + 1] * pixel(from, x + dx, y + dy);
      }
      to[static_cast<size_t>(y) * kWidth + static_cast<size_t>(x)] = static_cast<uint8_t>(sum / 16);
    }
  }
}

void sharpen(const Image& from, Image& to, int first, int last) {
  for (int y = first; y < last; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      int const around =
          pixel(from, x - 1, y) + pixel(from, x + 1, y) + pixel(from, x, y - 1) + pixel(from, x, y + 1);
      int const value = 5 * pixel(from, x, y) - around;
      to[static_cast<size_t>(y) * kWidth + static_cast<size_t>(x)] =
          static_cast<uint8_t>(std::clamp(value, 0, 255));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  long const rounds = bench::scale(argc, argv, 20);
  Image image(size_t{kWidth} * kHeight), other(image.size());
  bench::Random random(17);
  for (uint8_t& p : image) p = static_cast<uint8_t>(random.next());
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);

  bench::in_two_threads([&](int which) {
    int const first = which == 0 ? 0 : kHeight / 2;
    int const last = which == 0 ? kHeight / 2 : kHeight;
    for (long i = 0; i < rounds; ++i) {
      blur(image, other, first, last);
      pthread_barrier_wait(&barrier);
      sharpen(other, image, first, last);
      pthread_barrier_wait(&barrier);
    }
  });
  pthread_barrier_destroy(&barrier);

  uint64_t sum = 0;
  for (uint8_t p : image) sum = bench::mix(sum, p);
  return bench::report("image", sum);
}
