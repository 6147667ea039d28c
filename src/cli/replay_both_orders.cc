#include "cli/replay_both_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "cli/command.h"

namespace deadheat::cli {
namespace {

using replay::Stop;
using replay::live::LiveResult;
using replay::live::MemoryChange;
using replay::live::Orders;

// Bytes that are not known as ??, none for those above the highest known one.
std::string bytes_of(std::uint64_t value, std::uint8_t known) {
  if ((known & (known + 1)) == 0 && known != 0) return fmt::format("{:#x}", value);
  std::string text;
  for (int i = 7; i >= 0; --i)
    text += (known >> i & 1) != 0 ? fmt::format("{:02x}", value >> (8 * i) & 0xff) : "??";
  return text;
}

// Text in any language, as far as one can tell without knowing which: no byte below a blank but these.
bool is_text(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char byte) {
    return static_cast<unsigned char>(byte) >= 0x20 || byte == '\n' || byte == '\t' || byte == '\r' ||
           byte == '\x1b';
  });
}

// Bytes that are no text as \\x and two digits.
std::string readable(std::string_view bytes) {
  const bool is_all_text = is_text(bytes);
  std::string text;
  for (const char byte : bytes) {
    const auto number = static_cast<unsigned char>(byte);
    if ((number >= 0x20 && number < 0x7f) || byte == '\t' || (number >= 0x80 && is_all_text))
      text += byte;
    else
      text += fmt::format("\\x{:02x}", number);
  }
  return text;
}

void print_order(const Stop& first, const Stop& second, const LiveResult& result) {
  fmt::print("thread {} first, then thread {}: {}\n", first.thread.value(), second.thread.value(),
             result.text());
  std::string_view output = result.output;
  if (!output.empty()) {
    fmt::print("  output:\n");
    constexpr std::size_t kMost = 16 << 10;  // of what is no text nobody reads more
    if (!is_text(output)) output = output.substr(0, kMost);
    while (!output.empty()) {
      const std::size_t end = output.find('\n');
      fmt::print("    {}\n", readable(output.substr(0, end)));
      output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
    }
  }
  if (result.output_bytes > result.output.size())
    fmt::print("  ({} bytes of output in all)\n", result.output_bytes);
  if (result.uninitialised_reads != 0)
    fmt::print("  {} reads of memory that nobody had written\n", result.uninitialised_reads);
  if (result.guessed_bytes != 0)
    fmt::print("  {} bytes beside known ones were not known and taken as 0\n", result.guessed_bytes);
}

// What memory looks like in one order and not in the other.
void print_difference(const replay::live::MemoryState& a, const replay::live::MemoryState& b) {
  std::size_t shown = 0;
  auto x = a.changes.begin();
  auto y = b.changes.begin();
  while ((x != a.changes.end() || y != b.changes.end()) && shown < 20) {
    const bool is_left = y == b.changes.end() || (x != a.changes.end() && x->address <= y->address);
    const bool is_right = x == a.changes.end() || (y != b.changes.end() && y->address <= x->address);
    const MemoryChange& here = is_left ? *x : *y;
    const auto value = [&](bool is_changed, const MemoryChange& change) {
      return is_changed ? bytes_of(change.after, change.known_after)
                        : bytes_of(here.before, here.known_before);
    };
    if (!(is_left && is_right && *x == *y)) {
      fmt::print("    {}: {} against {}\n",
                 here.name.empty() ? fmt::format("{:#x}", here.address.value()) : here.name,
                 value(is_left, is_left ? *x : here), value(is_right, is_right ? *y : here));
      ++shown;
    }
    if (is_left) ++x;
    if (is_right) ++y;
  }
}

}  // namespace

std::optional<Stop> parse_stop(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  std::uint32_t thread = 0;
  std::uint64_t access = 0;
  const char* const start = text.data();
  const char* const end = start + text.size();
  const auto first = std::from_chars(start, start + colon, thread);
  const auto second = std::from_chars(start + colon + 1, end, access);
  if (first.ec != std::errc() || first.ptr != start + colon || second.ec != std::errc() || second.ptr != end)
    return std::nullopt;
  return Stop{ThreadId(thread), access};
}

int replay_both_orders(const recording::Reader& recording, const std::vector<std::string>& stops,
                       const replay::live::LiveOptions& options) {
  const std::optional<Stop> first = stops.size() == 2 ? parse_stop(stops[0]) : std::nullopt;
  const std::optional<Stop> second = stops.size() == 2 ? parse_stop(stops[1]) : std::nullopt;
  if (!first || !second) {
    complain("--both-orders: expected THREAD:ACCESS,THREAD:ACCESS, such as 1:12,2:9");
    return kExitUsage;
  }
  const Result<Orders> orders = replay::live::run_both_orders(recording, *first, *second, options);
  if (!orders) {
    complain(orders.error().message);
    return kExitUsage;
  }
  const Orders& both = orders.value();
  fmt::print("thread {} before access {}: {}\n", first->thread.value(), first->access, both.first_place);
  fmt::print("thread {} before access {}: {}\n\n", second->thread.value(), second->access, both.second_place);
  if (both.strange_reads != 0)
    fmt::print(
        "{} reads on the way there saw what the thread that had stopped did later: take both with care\n\n",
        both.strange_reads);
  if (both.foreseen_bytes != 0)
    fmt::print("{} bytes that nobody had looked at by then are as the rest of the recording shows them\n\n",
               both.foreseen_bytes);
  print_order(*first, *second, both.first_second);
  print_order(*second, *first, both.second_first);
  fmt::print("\n");
  if (both.first_second.regions_ended && both.second_first.regions_ended) {
    fmt::print("memory when both threads came to their next synchronisation: {}\n",
               both.have_same_regions() ? "the same" : "different");
    if (!both.have_same_regions())
      print_difference(both.first_second.after_regions, both.second_first.after_regions);
  }
  if (both.do_converge()) {
    fmt::print("the two orders end alike, outcome, output and memory\n");
  } else if (both.have_same_outcome()) {
    fmt::print("outcome and output are the same, memory at the end is different\n");
    print_difference(both.first_second.at_end, both.second_first.at_end);
  } else {
    fmt::print("the two orders end differently\n");
  }
  return kExitClean;
}

}  // namespace deadheat::cli
