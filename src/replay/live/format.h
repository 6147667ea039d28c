// printf's formats in a live world: texts come out of its memory, the host's snprintf does one conversion at
// a time.
#pragma once

#include <cstdint>
#include <string>

#include "replay/live/live_world.h"

namespace deadheat::replay::live {

// Where the arguments behind a format are.
class FormatArguments {
 public:
  virtual ~FormatArguments() = default;
  virtual std::uint64_t word() = 0;
  virtual double real() = 0;
  virtual long double wide_real() = 0;
};

// The words of a call, from the `first` on.
class CallArguments final : public FormatArguments {
 public:
  CallArguments(const ModelCall& call, std::size_t first) : call_(call), next_(first) {}
  std::uint64_t word() override { return call_.word(next_++); }
  double real() override { return call_.real(next_++); }
  long double wide_real() override;

 private:
  const ModelCall& call_;
  std::size_t next_;
};

// A va_list in memory (x86-64's).
class ListArguments final : public FormatArguments {
 public:
  ListArguments(LiveWorld& live, Address list) : live_(live), list_(list.value()) {}
  std::uint64_t word() override { return live_.load_number(Address(next(0, 48, 8)), 8); }
  double real() override;
  long double wide_real() override;

 private:
  std::uint64_t next(unsigned offset_field, std::uint32_t limit, std::uint32_t step);
  std::uint64_t overflow(std::uint64_t size, std::uint64_t alignment);

  LiveWorld& live_;
  std::uint64_t list_;
};

std::string format(LiveWorld& live, const std::string& pattern, FormatArguments& arguments);

}  // namespace deadheat::replay::live
