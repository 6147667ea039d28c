// Functions of numbers alone: the host's own.
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

float narrow(const ModelCall& call, std::size_t i) {
  const auto bits = static_cast<std::uint32_t>(call.word(i));
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void put(ModelCall& call, float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  call.result(std::uint64_t{bits});
}

template <double (*kFunction)(double)>
void one(ModelCall& call) {
  call.result(kFunction(call.real(0)));
}
template <double (*kFunction)(double, double)>
void two(ModelCall& call) {
  call.result(kFunction(call.real(0), call.real(1)));
}
template <float (*kFunction)(float)>
void one_narrow(ModelCall& call) {
  put(call, kFunction(narrow(call, 0)));
}
template <float (*kFunction)(float, float)>
void two_narrow(ModelCall& call) {
  put(call, kFunction(narrow(call, 0), narrow(call, 1)));
}

void do_abs(ModelCall& call) {
  call.result(std::uint64_t{static_cast<std::uint32_t>(std::abs(static_cast<std::int32_t>(call.word(0))))});
}
void do_labs(ModelCall& call) {
  call.result(static_cast<std::uint64_t>(std::labs(static_cast<std::int64_t>(call.word(0)))));
}
void do_ldexp(ModelCall& call) { call.result(std::ldexp(call.real(0), static_cast<int>(call.word(1)))); }
void do_lround(ModelCall& call) { call.result(static_cast<std::uint64_t>(std::lround(call.real(0)))); }

// Random numbers: some sequence, the same one every time.
std::uint64_t& seed() {
  static std::uint64_t state = 1;
  return state;
}
void do_srand(ModelCall& call) { seed() = call.word(0) + 1; }
std::uint64_t next_random() {
  seed() = seed() * 6364136223846793005ull + 1442695040888963407ull;
  return seed() >> 33;
}
void do_rand(ModelCall& call) { call.result(next_random() & 0x7fffffff); }
void do_rand_r(ModelCall& call) {
  const std::uint64_t state = call.live.load_number(call.address(0), 4) * 1103515245 + 12345;
  call.live.store_number(call.address(0), state & 0xffffffff, 4);
  call.result((state >> 1) & 0x7fffffff);
}

}  // namespace

std::span<const Model> number_models() {
  static const Model models[] = {
      {"sin", one<sin>},
      {"cos", one<cos>},
      {"tan", one<tan>},
      {"asin", one<asin>},
      {"acos", one<acos>},
      {"atan", one<atan>},
      {"sinh", one<sinh>},
      {"cosh", one<cosh>},
      {"tanh", one<tanh>},
      {"exp", one<exp>},
      {"exp2", one<exp2>},
      {"expm1", one<expm1>},
      {"log", one<log>},
      {"log2", one<log2>},
      {"log10", one<log10>},
      {"log1p", one<log1p>},
      {"sqrt", one<sqrt>},
      {"cbrt", one<cbrt>},
      {"floor", one<floor>},
      {"ceil", one<ceil>},
      {"round", one<round>},
      {"trunc", one<trunc>},
      {"rint", one<rint>},
      {"fabs", one<fabs>},
      {"erf", one<erf>},
      {"tgamma", one<tgamma>},
      {"lgamma", one<lgamma>},
      {"pow", two<pow>},
      {"atan2", two<atan2>},
      {"fmod", two<fmod>},
      {"hypot", two<hypot>},
      {"fmin", two<fmin>},
      {"fmax", two<fmax>},
      {"sinf", one_narrow<sinf>},
      {"cosf", one_narrow<cosf>},
      {"expf", one_narrow<expf>},
      {"logf", one_narrow<logf>},
      {"sqrtf", one_narrow<sqrtf>},
      {"floorf", one_narrow<floorf>},
      {"ceilf", one_narrow<ceilf>},
      {"powf", two_narrow<powf>},
      {"fmodf", two_narrow<fmodf>},
      {"abs", do_abs},
      {"labs", do_labs},
      {"llabs", do_labs},
      {"ldexp", do_ldexp},
      {"lround", do_lround},
      {"srand", do_srand},
      {"srandom", do_srand},
      {"rand", do_rand},
      {"random", do_rand},
      {"rand_r", do_rand_r},
  };
  return models;
}

}  // namespace deadheat::replay::live
