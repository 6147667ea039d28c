#include "report/function_names.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace deadheat::report {
namespace {

constexpr std::size_t kLongest = 120;

// The position after the `>` that closes the `<` before `at`; the end if there is none.
std::size_t after_closing(std::string_view text, std::size_t at) {
  for (int depth = 1; at < text.size(); at++) {
    if (text[at] == '<') depth++;
    if (text[at] == '>' && text[at - 1] != '-' && --depth == 0) return at + 1;
  }
  return text.size();
}

void remove_arguments(std::string& text, std::string_view start) {
  for (std::size_t at = 0; (at = text.find(start, at)) != std::string::npos;) {
    text.erase(at, after_closing(text, at + start.size()) - at);
  }
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

std::string cut(std::string text) {
  if (text.size() <= kLongest) return text;
  std::size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) end--;
  return text.substr(0, end) + "...";
}

std::string without_defaults(const std::string& function) {
  std::string text = function;
  for (std::string_view argument : {", std::allocator<", ", std::default_delete<", ", std::char_traits<",
                                    ", std::less<", ", std::hash<", ", std::equal_to<"}) {
    remove_arguments(text, argument);
  }
  static constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
      {"std::__cxx11::", "std::"},
      {"std::basic_string<char>", "std::string"},
      {"std::basic_ostream<char>", "std::ostream"},
      {"std::basic_string_view<char>", "std::string_view"},
      {"(anonymous namespace)::", ""},
      {"__gnu_cxx::", ""},
  };
  for (auto [from, to] : kSpellings) replace_all(text, from, to);
  return text;
}

}  // namespace

std::string short_function(const std::string& function) { return cut(without_defaults(function)); }

std::string brief_function(const std::string& function) {
  std::string text = without_defaults(function);
  std::size_t start = 0, end = text.size();
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); i++) {
    // The name of an operator is made of characters that mean something else everywhere else.
    if (depth == 0 && text.compare(i, 8, "operator") == 0 &&
        (i == 0 || text[i - 1] == ':' || text[i - 1] == ' ')) {
      i += 8;
      if (text.compare(i, 2, "()") == 0) i += 2;
      while (i < text.size() && std::string_view("<>=-+*/%^&|!~,[]").find(text[i]) != std::string_view::npos)
        i++;
      end = std::min(text.size(), text.find('(', i));
      break;
    }
    if (text[i] == '<') depth++;
    if (text[i] == '>') depth--;
    if (depth > 0) continue;
    if (text[i] == ' ') start = i + 1;  // what came before was the return type
    if (text[i] == '(' && i > start) {
      end = i;
      break;
    }
  }
  return cut(text.substr(start, end - start));
}

}  // namespace deadheat::report
