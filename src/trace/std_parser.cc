// STD: `thread|operation|place`. See docs/traces.md for what the fields may hold.
//
// A name is any run of printable bytes (UTF-8 passes through) without `|`; inside an operation its
// parentheses must be balanced, and commas and semicolons may stand only inside its own parentheses, because
// they separate the members of `enter(f;x,y)`. Nothing here recurses and nothing is sized by a number in the
// input.
#include "trace/std_parser.h"

#include <charconv>
#include <string>
#include <vector>

namespace deadheat {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// How many bytes of `text` at `i` must not be shown as they are: a control character of ASCII, one of the
// second range of them (U+0080 to U+009F, as UTF-8 or as the bare byte, which terminals obey too), or one
// that changes the direction of what follows or ends a line. 0 if it may be shown; then `length` is that of
// the character.
std::size_t control_at(std::string_view text, std::size_t i, std::size_t& length) {
  const auto byte = [&](std::size_t at) -> unsigned { return static_cast<unsigned char>(text[at]); };
  const auto follows = [&](std::size_t count) {
    if (text.size() - i <= count) return false;
    for (std::size_t k = 1; k <= count; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return false;
    }
    return true;
  };
  const unsigned c = byte(i);
  length = 1;
  if (c < 0x80) return c < 0x20 || c == 0x7f;
  if (c >= 0xC0 && c < 0xE0 && follows(1)) {
    length = 2;
    const unsigned point = (c & 0x1F) << 6 | (byte(i + 1) & 0x3F);
    return point < 0xA0 || point == 0x61C ? 2 : 0;
  }
  if (c >= 0xE0 && c < 0xF0 && follows(2)) {
    length = 3;
    const unsigned point = (c & 0x0F) << 12 | (byte(i + 1) & 0x3F) << 6 | (byte(i + 2) & 0x3F);
    const bool is_mark = point == 0x200E || point == 0x200F || (point >= 0x2028 && point <= 0x202E) ||
                         (point >= 0x2066 && point <= 0x2069);
    return is_mark || point < 0x800 ? 3 : 0;
  }
  if (c >= 0xF0 && c < 0xF8 && follows(3)) {
    length = 4;
    return 0;
  }
  return c < 0xA0;
}

// For messages: short, printable, in quotes.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string result = "'";
  for (std::size_t i = 0; i < text.size() && i < kShown;) {
    std::size_t length = 1;
    const std::size_t hidden = control_at(text, i, length);
    if (hidden == 0) result += text.substr(i, length);
    for (std::size_t k = 0; k < hidden; ++k) {
      constexpr char kHex[] = "0123456789abcdef";
      const unsigned char c = static_cast<unsigned char>(text[i + k]);
      result += "\\x";
      result += kHex[c >> 4];
      result += kHex[c & 15];
    }
    i += length;
  }
  result += text.size() > kShown ? "...'" : "'";
  return result;
}

Error expected(std::string_view what, std::string_view found) {
  std::string message = "expected ";
  message.append(what);
  message += ", found ";
  message += found.empty() ? std::string("nothing") : quoted(found);
  return Error{std::move(message)};
}

bool has_control_character(std::string_view text) {
  bool is_ascii = true;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return true;
    is_ascii &= static_cast<unsigned char>(c) < 0x80;
  }
  std::size_t length = 1;
  for (std::size_t i = 0; !is_ascii && i < text.size(); i += length) {
    if (control_at(text, i, length) > 0) return true;
  }
  return false;
}

Status check_name(std::string_view name, std::string_view what) {
  if (name.empty()) return expected(what, name);
  if (name.size() > kMaxNameBytes) {
    return Error{"expected " + std::string(what) + " of at most " + std::to_string(kMaxNameBytes) +
                 " bytes, found one of " + std::to_string(name.size())};
  }
  if (has_control_character(name)) return expected(std::string(what) + " without control characters", name);
  return Nothing{};
}

bool fits_a_line(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && trim(text).size() == text.size() &&
         !has_control_character(text) && text.find('|') == std::string_view::npos;
}

// The position of the parenthesis that closes the one before `text`, or npos.
std::size_t closing(std::string_view text) {
  std::size_t depth = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// The first `,` or `;` of `text` outside its own parentheses, or npos.
std::size_t separator(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && depth > 0) --depth;
    if (depth == 0 && (text[i] == ',' || text[i] == ';')) return i;
  }
  return std::string_view::npos;
}

bool is_integer(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  if (text.empty()) return false;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
  }
  return true;
}

}  // namespace

bool is_place(std::string_view text) {
  if (!fits_a_line(text)) return false;
  if (is_integer(text)) return true;
  const std::size_t colon = text.rfind(':');
  return colon != std::string_view::npos && colon > 0 && colon + 1 < text.size() && text[colon + 1] != '-' &&
         is_integer(text.substr(colon + 1));
}

bool is_name(std::string_view text) {
  if (!fits_a_line(text)) return false;
  std::size_t depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')' && depth-- == 0) return false;
    if (depth == 0 && (c == ',' || c == ';')) return false;
  }
  return depth == 0;
}

bool is_thread_name(std::string_view text) {
  return is_name(text) && text.front() != '#' && !text.starts_with(kEncodingMark);
}

Status StdParser::set_thread(std::string_view name, std::uint32_t& id) {
  if (!last_thread_.empty() && name == last_thread_) {
    id = last_thread_id_;
    return Nothing{};
  }
  if (Status status = check_name(name, "a thread"); !status.ok()) return status;
  if (!is_thread_name(name)) {
    return expected("a thread, a word with balanced parentheses that does not begin with '#'", name);
  }
  id = names_.threads.intern(name);
  if (id >= kMaxThreads) {
    return Error{"expected at most " + std::to_string(kMaxThreads) + " threads, found one more, " +
                 quoted(name)};
  }
  last_thread_.assign(name);
  last_thread_id_ = id;
  return Nothing{};
}

Status StdParser::parse_reachable(std::string_view list, Event& event) {
  std::vector<ObjectId> members;
  while (!list.empty()) {
    const std::size_t end = separator(list);
    const std::string_view name = trim(list.substr(0, end));
    if (Status status = check_name(name, "a location"); !status.ok()) return status;
    members.push_back(ObjectId(names_.locations.intern(name)));
    if (end == std::string_view::npos) break;
    if (list[end] == ';') return expected("',' or ')' after a location", list.substr(end));
    if (end + 1 == list.size()) return expected("a location after ','", list.substr(end + 1));
    list.remove_prefix(end + 1);
  }
  event.value = names_.reachable.intern(std::move(members));
  return Nothing{};
}

Status StdParser::parse_operation(std::string_view text, Event& event) {
  std::size_t word_end = 0;
  while (word_end < text.size() && text[word_end] >= 'a' && text[word_end] <= 'z') ++word_end;
  const std::string_view word = text.substr(0, word_end);
  int kind = 0;
  while (kind < kEventKinds && kStdWords[kind] != word) ++kind;
  if (kind == kEventKinds) {
    return expected("r, w, acq, rel, fork, join, begin, end, branch, snd, rcv, enter or leave", text);
  }
  event.kind = static_cast<EventKind>(kind);
  std::string_view rest = text.substr(word_end);

  NameTable* table = names_.table(event.kind);
  if (table == nullptr) {
    if (!trim(rest).empty()) return expected("'|' after " + std::string(word), rest);
    return Nothing{};
  }

  if (rest.empty() || rest.front() != '(') return expected("'(' after " + std::string(word), rest);
  rest.remove_prefix(1);
  const std::size_t close = closing(rest);
  if (close == std::string_view::npos) return expected("a closing ')' for " + std::string(word) + "(", rest);
  std::string_view inside = rest.substr(0, close);
  rest = trim(rest.substr(close + 1));

  std::string_view name = inside;
  const std::size_t mark = separator(inside);
  if (event.kind == EventKind::kEnter) {
    std::string_view list;
    if (mark != std::string_view::npos) {
      if (inside[mark] != ';') return expected("';' after the function's name", inside.substr(mark));
      name = inside.substr(0, mark);
      list = trim(inside.substr(mark + 1));
    }
    if (Status status = parse_reachable(list, event); !status.ok()) return status;
  } else if (mark != std::string_view::npos) {
    return expected("one name in " + std::string(word) + "()", inside);
  }
  name = trim(name);

  if (table == &names_.threads) {
    std::uint32_t child = 0;
    if (Status status = set_thread(name, child); !status.ok()) return status;
    event.object = ObjectId(child);
  } else {
    if (Status status = check_name(name, "a name in " + std::string(word) + "()"); !status.ok())
      return status;
    event.object = ObjectId(table->intern(name));
  }

  if (rest.empty()) return Nothing{};
  if (!is_access(event.kind) || rest.front() != '=') {
    return expected(is_access(event.kind) ? "'=' or '|' after ')'" : "'|' after ')'", rest);
  }
  rest = trim(rest.substr(1));
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (code == std::errc::result_out_of_range) return expected("a value that fits 64 bits", rest);
  if (code != std::errc() || end != rest.data() + rest.size()) return expected("an integer after '='", rest);
  event.value = static_cast<std::uint64_t>(value);
  event.has_value = true;
  return Nothing{};
}

Result<bool> StdParser::parse(std::string_view line, std::uint32_t number, Event& event) {
  line = trim(line);
  if (line.empty() || line.front() == '#') return false;
  event = Event{};
  event.line = number;

  const std::size_t bar = line.find('|');
  if (bar == std::string_view::npos) return expected("thread|operation|place", line);
  const std::size_t last = line.rfind('|');
  if (last == bar) return expected("'|' and a place after the operation", line.substr(bar + 1));

  const std::string_view operation = trim(line.substr(bar + 1, last - bar - 1));
  if (operation.find('|') != std::string_view::npos)
    return expected("three fields, thread|operation|place", line);
  const std::string_view place = trim(line.substr(last + 1));
  if (place.size() > kMaxNameBytes) return check_name(place, "a place").error();
  if (!is_place(place)) return expected("a place, an integer or file:line", place);

  std::uint32_t thread = 0;
  if (Status status = set_thread(trim(line.substr(0, bar)), thread); !status.ok()) return status.error();
  event.thread = ThreadId(thread);
  if (Status status = parse_operation(operation, event); !status.ok()) return status.error();
  event.site = SiteId(names_.sites.intern(place));
  if (names_.bytes() > most_name_bytes_) {
    return Error{"expected at most " + std::to_string(most_name_bytes_) +
                 " bytes of names and of sets of locations in a trace, found more"};
  }
  return true;
}

}  // namespace deadheat
