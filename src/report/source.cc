#include "report/source.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "base/utf8.h"

namespace deadheat::report {
namespace {

constexpr std::size_t kMaxFile = 16u << 20;
constexpr int kTab = 4;
// Beyond this a line is generated code or data; nobody reads it in a report.
constexpr std::size_t kMaxLine = 400;

struct Shown {
  std::string text;
  int caret = -1;
};

// `column` is the compiler's: in bytes, from 1.
Shown show(std::string_view raw, int column) {
  Shown shown;
  int width = 0;
  std::size_t i = 0;
  while (i < raw.size() && shown.text.size() < kMaxLine) {
    if (column > 0 && shown.caret < 0 && i + 1 >= static_cast<std::size_t>(column)) shown.caret = width;
    if (raw[i] == '\t') {
      int spaces = kTab - width % kTab;
      shown.text.append(static_cast<std::size_t>(spaces), ' ');
      width += spaces;
      i++;
      continue;
    }
    std::size_t length = utf8_length(raw.data() + i, raw.size() - i);
    bool is_control = length == 1 && (static_cast<unsigned char>(raw[i]) < 0x20 || raw[i] == 0x7F);
    // C1 controls (U+0080 to U+009F) are control characters too, to some terminals.
    is_control |= length == 2 && static_cast<unsigned char>(raw[i]) == 0xC2 &&
                  static_cast<unsigned char>(raw[i + 1]) < 0xA0;
    if (length == 0 || is_control) {
      shown.text += '?';
      i += std::max<std::size_t>(length, 1);
    } else {
      shown.text.append(raw.substr(i, length));
      i += length;
    }
    width++;
  }
  return shown;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t taken = std::min<std::size_t>(text.size(), kMaxLine);
    // Not through the middle of a character.
    while (taken < text.size() && taken > 1 && (static_cast<unsigned char>(text[taken]) & 0xC0) == 0x80)
      taken--;
    result += show(text.substr(0, taken), 0).text;
    text.remove_prefix(taken);
  }
  return result;
}

const std::vector<std::string>& SourceCache::file(const Location& location) {
  auto [it, is_new] = files_.try_emplace({location.directory, location.file});
  std::vector<std::string>& lines = it->second;
  if (!is_new) return lines;
  // Relative to where the compiler ran; if that is gone (another machine built it), relative to here.
  std::string path = location.file;
  if (path[0] != '/' && !location.directory.empty()) path = location.directory + "/" + path;
  struct stat source{}, module{};
  if (stat(path.c_str(), &source) != 0) {
    path = location.file;
    if (stat(path.c_str(), &source) != 0) return lines;
  }
  if (!S_ISREG(source.st_mode) || static_cast<std::size_t>(source.st_size) > kMaxFile) return lines;
  if (!location.module.empty() && stat(location.module.c_str(), &module) == 0 &&
      source.st_mtim.tv_sec > module.st_mtim.tv_sec) {
    return lines;
  }
  std::ifstream in(path, std::ios::binary);
  std::string line;
  while (std::getline(in, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

Excerpt SourceCache::excerpt(const Location& location, int around) {
  Excerpt excerpt;
  if (location.file.empty() || location.line <= 0) return excerpt;
  const std::vector<std::string>& lines = file(location);
  if (static_cast<std::size_t>(location.line) > lines.size()) return excerpt;
  excerpt.first_line = std::max(1, location.line - around);
  int last = std::min(static_cast<int>(lines.size()), location.line + around);
  for (int number = excerpt.first_line; number <= last; number++) {
    bool is_place = number == location.line;
    Shown shown = show(lines[static_cast<std::size_t>(number) - 1], is_place ? location.column : 0);
    if (is_place) excerpt.caret = shown.caret;
    excerpt.lines.push_back(std::move(shown.text));
  }
  return excerpt;
}

}  // namespace deadheat::report
