#include "replay/live/format.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>

namespace deadheat::replay::live {

namespace {

long double wide_real_of(std::uint64_t low, std::uint64_t high) {
  long double value = 0;
  std::memcpy(&value, &low, 8);
  std::memcpy(reinterpret_cast<char*>(&value) + 8, &high, 2);
  return value;
}

}  // namespace

long double CallArguments::wide_real() {
  const std::uint64_t low = call_.word(next_++);
  return wide_real_of(low, call_.word(next_++));
}

std::uint64_t ListArguments::overflow(std::uint64_t size, std::uint64_t alignment) {
  const std::uint64_t area = live_.load_number(Address(list_ + 8), 8);
  const std::uint64_t at = (area + alignment - 1) & ~(alignment - 1);
  live_.store_number(Address(list_ + 8), at + size, 8);
  return at;
}

std::uint64_t ListArguments::next(unsigned offset_field, std::uint32_t limit, std::uint32_t step) {
  const std::uint64_t offset = live_.load_number(Address(list_ + offset_field), 4);
  if (offset >= limit) return overflow(8, 8);
  live_.store_number(Address(list_ + offset_field), offset + step, 4);
  return live_.load_number(Address(list_ + 16), 8) + offset;
}

double ListArguments::real() {
  const std::uint64_t bits = live_.load_number(Address(next(4, 176, 16)), 8);
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

long double ListArguments::wide_real() {
  const std::uint64_t at = overflow(16, 16);
  return wide_real_of(live_.load_number(Address(at), 8), live_.load_number(Address(at + 8), 2));
}

std::string format(LiveWorld& live, const std::string& pattern, FormatArguments& arguments) {
  std::string text;
  const auto put = [&](const std::string& specification, auto value) {
    const int size = std::snprintf(nullptr, 0, specification.c_str(), value);
    if (size <= 0) return;
    std::string piece(static_cast<std::size_t>(size) + 1, '\0');
    std::snprintf(piece.data(), piece.size(), specification.c_str(), value);
    piece.pop_back();
    text += piece;
  };
  for (std::size_t at = 0; at < pattern.size();) {
    if (pattern[at] != '%') {
      text.push_back(pattern[at++]);
      continue;
    }
    std::string specification = "%";
    ++at;
    const auto take = [&](const char* set) {
      while (at < pattern.size() && std::strchr(set, pattern[at]) != nullptr)
        specification.push_back(pattern[at++]);
    };
    const auto number = [&] {
      if (at < pattern.size() && pattern[at] == '*') {
        ++at;
        specification += std::to_string(static_cast<std::int32_t>(arguments.word()));
      } else {
        take("0123456789");
      }
    };
    take("-+ #0'I");
    number();
    std::int64_t precision = -1;
    if (at < pattern.size() && pattern[at] == '.') {
      ++at;
      const std::size_t start = specification.size();
      specification.push_back('.');
      number();
      precision = std::atoll(specification.c_str() + start + 1);
    }
    std::string length;
    while (at < pattern.size() && std::strchr("hlqjztL", pattern[at]) != nullptr)
      length.push_back(pattern[at++]);
    if (at >= pattern.size()) break;
    const char kind = pattern[at++];
    switch (kind) {
      case '%':
        text.push_back('%');
        break;
      case 'd':
      case 'i': {
        const std::uint64_t word = arguments.word();
        const long long value = length == "hh"   ? static_cast<std::int8_t>(word)
                                : length == "h"  ? static_cast<std::int16_t>(word)
                                : length.empty() ? static_cast<std::int32_t>(word)
                                                 : static_cast<std::int64_t>(word);
        put(specification + "ll" + kind, value);
        break;
      }
      case 'u':
      case 'x':
      case 'X':
      case 'o': {
        const std::uint64_t word = arguments.word();
        const unsigned long long value = length == "hh"   ? static_cast<std::uint8_t>(word)
                                         : length == "h"  ? static_cast<std::uint16_t>(word)
                                         : length.empty() ? static_cast<std::uint32_t>(word)
                                                          : word;
        put(specification + "ll" + kind, value);
        break;
      }
      case 'c':
        put(specification + 'c', static_cast<int>(arguments.word()));
        break;
      case 'p':
        put(specification + 'p', reinterpret_cast<void*>(arguments.word()));
        break;
      case 's': {
        if (!length.empty()) live.end(OutcomeKind::kLeft, 0, "printf of a wide text");
        const std::uint64_t from = arguments.word();
        const std::string value =
            from == 0 ? std::string("(null)")
                      : live.load_text(Address(from), precision < 0 ? ~std::uint64_t{0}
                                                                    : static_cast<std::uint64_t>(precision));
        put(specification + 's', value.c_str());
        break;
      }
      case 'a':
      case 'A':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (length == "L")
          put(specification + "L" + kind, arguments.wide_real());
        else
          put(specification + kind, arguments.real());
        break;
      case 'n':
        live.store_number(Address(arguments.word()), text.size(), length.empty() ? 4 : 8);
        break;
      case 'm':
        text += "(errno)";
        break;
      default:
        live.end(OutcomeKind::kLeft, 0, fmt::format("printf with %{}", kind));
    }
  }
  return text;
}

}  // namespace deadheat::replay::live
