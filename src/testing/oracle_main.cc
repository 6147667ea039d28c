// make test-oracle: the long comparison of prediction with the schedule explorer, and of rdit on traces with
// hidden parts with the truth. Arguments: traces per shape, first seed.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "testing/hidden_parts.h"
#include "testing/prediction_oracle.h"

int main(int argc, char** argv) {
  using namespace deadheat::testing;
  std::uint64_t numbers[] = {10'000, 1'000'000};
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    const bool is_wish = text == "--help" || text == "-h";
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (is_wish || i > 2 || code != std::errc() || end != text.data() + text.size() ||
        (i == 1 && value == 0)) {
      std::fprintf(is_wish ? stdout : stderr, "usage: deadheat_oracle [traces of each shape] [first seed]\n");
      return is_wish ? 0 : 2;
    }
    numbers[i - 1] = value;
  }
  const auto [count, seed] = std::pair(numbers[0], numbers[1]);
  OracleComparison total;
  for (const NamedShape& shape : oracle_shapes()) {
    OracleComparison one = compare_with_oracle(shape.shape, shape.barriers, seed, count);
    std::printf("%-28s %s\n", (std::string(shape.barriers ? "rdit: " : "mcm:  ") + shape.name).c_str(),
                one.summary().c_str());
    if (!one.first_difference.empty()) std::printf("%s\n", one.first_difference.c_str());
    std::fflush(stdout);
    total.add(one);
  }
  std::printf("%-28s %s\n", "all", total.summary().c_str());
  HiddenComparison hidden;
  for (const HiddenShape& shape : hidden_shapes()) {
    HiddenComparison one = compare_with_hidden_parts(shape.shape, seed, count);
    std::printf("%-28s %s\n", (std::string("hidden: ") + shape.name).c_str(), one.summary().c_str());
    if (!one.first_wrong.empty()) std::printf("%s\n", one.first_wrong.c_str());
    std::fflush(stdout);
    hidden.add(one);
  }
  std::printf("%-28s %s\n", "hidden: all", hidden.summary().c_str());
  bool bad = total.different + total.undecided + total.rejected + hidden.wrong + hidden.different > 0;
  return bad ? 1 : 0;
}
