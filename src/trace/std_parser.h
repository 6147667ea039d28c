// One line of STD text to one event. Apart from the reader so that tests and other sources of lines can use
// it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "trace/event.h"
#include "trace/names.h"

namespace deadheat {

// Longer lines are refused before they are read to their end; a BarrierPair of a million locations still
// fits.
inline constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;
// A name longer than this is a broken file, not a name.
inline constexpr std::size_t kMaxNameBytes = std::size_t{64} << 10;
// More threads than this is a broken file as well; detectors keep state per thread.
inline constexpr std::uint32_t kMaxThreads = std::uint32_t{1} << 20;

// Some editors begin a file with this mark of its encoding; it is no part of the first thread's name.
inline constexpr std::string_view kEncodingMark = "\xEF\xBB\xBF";

// What names may be, for every reader: such names read back from text as they were written.
// A place: an integer or file:line.
bool is_place(std::string_view text);
// What stands in parentheses: a location, a lock, a message, a function.
bool is_name(std::string_view text);
// A thread. It begins a line, so it cannot begin with what would make the line a comment, or with the mark of
// the encoding that a file may begin with.
bool is_thread_name(std::string_view text);

// How the text format calls each kind of event.
inline constexpr std::string_view kStdWords[kEventKinds] = {
    "r", "w", "acq", "rel", "fork", "join", "begin", "end", "branch", "snd", "rcv", "enter", "leave"};

class StdParser {
 public:
  // `most_name_bytes`: smaller in tests.
  explicit StdParser(Names& names, std::uint64_t most_name_bytes = kMaxNameBytesInAll)
      : names_(names), most_name_bytes_(most_name_bytes) {}

  // True if the line holds an event, false if it is blank or a comment. An error says what was expected and
  // what was found, without file and line: the caller knows them.
  Result<bool> parse(std::string_view line, std::uint32_t number, Event& event);

 private:
  Status parse_operation(std::string_view text, Event& event);
  Status parse_reachable(std::string_view list, Event& event);
  Status set_thread(std::string_view name, std::uint32_t& id);

  Names& names_;
  std::uint64_t most_name_bytes_;
  // Neighbouring lines mostly name the same thread.
  std::string last_thread_;
  std::uint32_t last_thread_id_ = 0;
};

}  // namespace deadheat
