// make test-oracle: the long comparison of prediction with the schedule explorer, and of rdit on traces with
// hidden parts with the truth. Arguments: traces per shape, first seed.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "testing/hidden_parts.h"
#include "testing/prediction_oracle.h"

int main(int argc, char** argv) {
  using namespace deadheat::testing;
  std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000;
  std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
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
