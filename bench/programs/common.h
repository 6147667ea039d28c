// What the benchmark programs share: two threads, repeatable random numbers, a checksum to compare runs by.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace bench {

// The first argument multiplies the amount of work, in percent; 100 is about half a second on one machine of
// 2024.
inline long scale(int argc, char** argv, long work) {
  long const percent = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 100;
  return percent > 0 ? work * percent / 100 + 1 : work;
}

// With BENCH_RACY every program has a mistake that real ones have: calls are counted, by all threads, without
// a lock.
#ifdef BENCH_RACY
inline uint64_t calls_of_next, calls_of_mix;
#define BENCH_COUNT(counter) (counter = counter + 1)
#else
#define BENCH_COUNT(counter) static_cast<void>(0)
#endif

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    BENCH_COUNT(calls_of_next);
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t bound) { return next() % bound; }
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

// What a thread writes in every round, in lines of its own: whether it shares one with what the other thread
// reads would otherwise be decided by each compiler's way to lay out the stack, which the figures would then
// be about.
template <class T>
struct alignas(64) Alone {
  T value{};
};

// Runs work(0) and work(1) in two threads and waits for both.
template <class Work>
void in_two_threads(Work work) {
  std::thread first([&] { work(0); });
  std::thread second([&] { work(1); });
  first.join();
  second.join();
}

inline uint64_t mix(uint64_t sum, uint64_t value) {
  BENCH_COUNT(calls_of_mix);
  sum ^= value;
  sum *= 0xD6E8FEB86659FD93ull;
  return sum ^ (sum >> 32);
}

inline int report(const char* name, uint64_t checksum) {
  std::printf("%s %016llx\n", name, static_cast<unsigned long long>(checksum));
  return 0;
}

}  // namespace bench
