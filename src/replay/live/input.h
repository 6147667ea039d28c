// What the program reads from outside behind the stops.
//
// A live world opens and reads nothing, but the recorded run went on and did: what its calls gave it is in
// the recording, as far as the program looked at it. So while foresight replays the rest (foresight.h), calls
// that read are noted: of which file, how much was asked for, what came of it, and of every byte in the
// buffer what was loaded before somebody wrote it again. A live world that comes to the same call is given
// the same, whichever thread makes it: the n-th read of a descriptor gives what the n-th one gave, a read at
// an offset what is there, and a path is opened as it was.
//
// A call that the recording has not made, or asked for another amount, ends the world: nobody knows what it
// would have read. Bytes that the recorded program never looked at are unknown.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replay/memory_image.h"
#include "replay/observer.h"

namespace deadheat::replay {
struct OpenCall;
}

namespace deadheat::replay::live {

// How the end of a world begins that asks for what the recording does not have.
inline constexpr std::string_view kInputIsUnknown = "input that is not in the recording: ";

// How a function that reads is called.
struct InputFunction {
  enum class Length : std::uint8_t {
    kNothing,  // its result is all
    kResult,   // as many bytes as it returns, at most `size`
    kItems,    // as many items of `size - 1` bytes each as it returns
    kText,     // at most `size` bytes, up to a 0, unless it returns 0
    kStatus,   // a struct stat, if it returns 0
  };
  const char* name;
  bool is_path;  // `what` is one; else a descriptor or a stream
  std::uint8_t what;
  Length length = Length::kNothing;
  std::uint8_t buffer = 0;
  std::uint8_t size = 0;
  std::optional<std::uint8_t> offset = std::nullopt;

  // Of arguments.
  std::uint64_t asked(const std::uint64_t* words, std::size_t count) const;
  std::uint64_t given(const std::uint64_t* words, std::size_t count, std::uint64_t result) const;
  std::string key(const std::uint64_t* words, std::size_t count, std::string_view path) const;
  // Is the same again whenever it is asked for.
  bool is_lasting() const { return offset.has_value(); }
};

// What a path is called: itself, or where it is if the program has not looked at all of it (it comes from the
// command line, say, and only libc has read it).
std::string path_at(const MemoryImage& image, Address address);

// Null if it reads nothing.
const InputFunction* input_function(std::string_view name);

struct InputCall {
  std::uint64_t asked = 0;
  std::uint64_t result = 0;
  std::string bytes;
  std::string is_known;  // of each byte: 0 or 1
};

// All of them, in the order in which the recording made them.
class Input {
 public:
  // The next one; null if there is none left.
  const InputCall* next(const InputFunction& function, const std::string& key);
  bool empty() const { return calls_.empty(); }
  void add(const std::string& key, InputCall call) { calls_[key].push_back(std::move(call)); }

  static Input decode(std::string_view bytes);

 private:
  std::unordered_map<std::string, std::deque<InputCall>> calls_;
  std::optional<InputCall> taken_;
};

// Notes them in a replay.
class InputRecorder {
 public:
  void on_call_end(ThreadId thread, const OpenCall& call, const InputFunction& function,
                   std::string_view path);
  void on_result(ThreadId thread, SiteId site, std::uint64_t value);
  void on_access(const Access& access);
  void on_overwritten(Address address, std::uint64_t size);

  std::string encode() const;

 private:
  static constexpr std::uint64_t kMostBytes = 256 << 20;
  struct Noted {
    std::string key;
    InputCall call;
  };
  struct Pending {
    SiteId site;
    const InputFunction* function;
    std::string key;
    std::vector<std::uint64_t> words;
  };
  struct Buffer {
    std::uint64_t end;
    std::size_t noted;
    std::uint64_t start;  // of the first byte of `noted`
  };

  std::map<ThreadId, Pending> pending_;
  std::vector<Noted> noted_;
  std::map<std::uint64_t, Buffer> buffers_;  // by their start, or that of what is left of them
  std::uint64_t bytes_ = 0;
};

}  // namespace deadheat::replay::live
