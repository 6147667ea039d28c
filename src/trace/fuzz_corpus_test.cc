// What fuzzing found worth keeping, replayed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "properties.h"

namespace deadheat {
namespace {

template <class Check>
int replay(const std::string& folder, const Check& check) {
  int count = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(DEADHEAT_FUZZ_CORPUS) + "/" + folder)) {
    std::ifstream in(file.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    check(bytes.str());
    ++count;
  }
  return count;
}

TEST(FuzzCorpus, TextIsRefusedOrSurvives) { EXPECT_GT(replay("std", fuzz::check_std), 10); }
TEST(FuzzCorpus, BinaryIsRefusedOrSurvives) { EXPECT_GT(replay("dht", fuzz::check_dht), 2); }

}  // namespace
}  // namespace deadheat
