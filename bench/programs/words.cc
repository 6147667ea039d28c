// Word count: two threads split a shared text into strings, count them in maps of their own and merge under a
// lock.
#include <cctype>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "common.h"

namespace {

std::string make_text(size_t words) {
  bench::Random random(11);
  std::string text;
  for (size_t i = 0; i < words; ++i) {
    // Few words often, many words seldom.
    uint64_t word = random.below(100) < 70 ? random.below(200) : random.below(20000);
    size_t const length = 2 + word % 9;
    for (size_t k = 0; k < length; ++k) {
      text += static_cast<char>((k == 0 && word % 13 == 0 ? 'A' : 'a') + word % 26);
      word = word * 31 + 7;
    }
    text += i % 17 == 16 ? ".\n" : " ";
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  std::string const text = make_text(static_cast<size_t>(bench::scale(argc, argv, 6'000'000)));
  std::mutex lock;
  std::map<std::string, uint64_t> total;

  bench::in_two_threads([&](int which) {
    size_t at = which == 0 ? 0 : text.find(' ', text.size() / 2);
    size_t const end = which == 0 ? text.find(' ', text.size() / 2) : text.size();
    std::unordered_map<std::string, uint64_t> counts;
    std::string word;
    for (; at < end; ++at) {
      auto const c = static_cast<unsigned char>(text[at]);
      if (std::isalpha(c) != 0) {
        word += static_cast<char>(std::tolower(c));
      } else if (!word.empty()) {
        ++counts[word];
        word.clear();
      }
    }
    if (!word.empty()) ++counts[word];
    std::lock_guard const guard(lock);
    for (const auto& [name, count] : counts) total[name] += count;
  });

  uint64_t sum = 0;
  for (const auto& [name, count] : total) sum = bench::mix(sum, count + name.size() * 1000003);
  return bench::report("words", sum);
}
