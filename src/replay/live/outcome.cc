#include "replay/live/outcome.h"

#include <fmt/format.h>

#include <cstring>

namespace deadheat::replay::live {

const char* to_string(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kExited:
      return "exited";
    case OutcomeKind::kSignal:
      return "signal";
    case OutcomeKind::kMemoryError:
      return "memory error";
    case OutcomeKind::kDeadlock:
      return "deadlock";
    case OutcomeKind::kSteps:
      return "out of steps";
    case OutcomeKind::kTime:
      return "out of time";
    case OutcomeKind::kUnknownMemory:
      return "unknown memory";
    case OutcomeKind::kLeft:
      return "left the known world";
    case OutcomeKind::kRegionsEnded:
      return "regions ended";
    case OutcomeKind::kFailed:
      return "failed";
  }
  return "?";
}

bool is_verdict(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kExited:
    case OutcomeKind::kSignal:
    case OutcomeKind::kMemoryError:
    case OutcomeKind::kDeadlock:
      return true;
    default:
      return false;
  }
}

std::string LiveResult::text() const {
  std::string text;
  switch (kind) {
    case OutcomeKind::kExited:
      text = fmt::format("exited with code {}", code);
      break;
    case OutcomeKind::kSignal:
      text = fmt::format("ended by signal {} ({})", code, strsignal(static_cast<int>(code)));
      break;
    case OutcomeKind::kMemoryError:
      return fmt::format("{}, thread {}, {}", what, thread.value(), place);
    case OutcomeKind::kSteps:
      return fmt::format("still running after {} steps; thread {}: {}", steps, thread.value(), place);
    case OutcomeKind::kDeadlock:
      text = "deadlock";
      for (const ThreadPlace& at : threads)
        if (at.state.starts_with("waits"))
          text += fmt::format("; thread {} {}, {}", at.thread.value(), at.state, at.place);
      return text;
    default:
      text = to_string(kind);
  }
  if (!what.empty()) text += ": " + what;
  if (kind != OutcomeKind::kExited && !place.empty())
    text += fmt::format(", thread {}, {}", thread.value(), place);
  return text;
}

namespace {

// Numbers as 8 bytes, texts and lists behind their lengths. Both ends are the same program.
class Writer {
 public:
  void put(std::uint64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void put(const std::string& text) {
    put(text.size());
    bytes_ += text;
  }
  void put(const MemoryState& state) {
    put(state.digest);
    put(state.count);
    put(state.changes.size());
    for (const MemoryChange& change : state.changes) {
      put(change.address.value());
      put(change.before);
      put(change.after);
      put(change.known_before);
      put(change.known_after);
      put(change.name);
    }
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Scanner {
 public:
  explicit Scanner(const std::string& bytes) : bytes_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    if (bytes_.size() - at_ < sizeof value) {
      is_short_ = true;
      return 0;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (bytes_.size() - at_ < size) {
      is_short_ = true;
      return {};
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  MemoryState state() {
    MemoryState state;
    state.digest = number();
    state.count = number();
    for (std::uint64_t left = number(); left != 0 && !is_short_; --left) {
      MemoryChange change;
      change.address = Address(number());
      change.before = number();
      change.after = number();
      change.known_before = static_cast<std::uint8_t>(number());
      change.known_after = static_cast<std::uint8_t>(number());
      change.name = text();
      state.changes.push_back(std::move(change));
    }
    return state;
  }
  bool is_short() const { return is_short_; }

 private:
  const std::string& bytes_;
  std::size_t at_ = 0;
  bool is_short_ = false;
};

}  // namespace

std::string encode(const LiveResult& result) {
  Writer to;
  to.put(static_cast<std::uint64_t>(result.kind));
  to.put(static_cast<std::uint64_t>(result.code));
  to.put(result.what);
  to.put(result.thread.value());
  to.put(result.place);
  to.put(result.output);
  to.put(result.output_bytes);
  to.put(result.steps);
  to.put(result.uninitialised_reads);
  to.put(result.guessed_bytes);
  to.put(result.threads.size());
  for (const ThreadPlace& thread : result.threads) {
    to.put(thread.thread.value());
    to.put(thread.state);
    to.put(thread.place);
  }
  to.put(std::uint64_t{result.regions_ended});
  to.put(result.after_regions);
  to.put(result.at_end);
  return to.take();
}

Result<LiveResult> decode(const std::string& bytes) {
  Scanner from(bytes);
  LiveResult result;
  const std::uint64_t kind = from.number();
  result.kind = static_cast<OutcomeKind>(kind);
  result.code = static_cast<std::int64_t>(from.number());
  result.what = from.text();
  result.thread = ThreadId(static_cast<std::uint32_t>(from.number()));
  result.place = from.text();
  result.output = from.text();
  result.output_bytes = from.number();
  result.steps = from.number();
  result.uninitialised_reads = from.number();
  result.guessed_bytes = from.number();
  for (std::uint64_t left = from.number(); left != 0 && !from.is_short(); --left) {
    ThreadPlace thread;
    thread.thread = ThreadId(static_cast<std::uint32_t>(from.number()));
    thread.state = from.text();
    thread.place = from.text();
    result.threads.push_back(std::move(thread));
  }
  result.regions_ended = from.number() != 0;
  result.after_regions = from.state();
  result.at_end = from.state();
  if (from.is_short() || kind > static_cast<std::uint64_t>(OutcomeKind::kFailed))
    return Error{"live world: expected its outcome, found " + std::to_string(bytes.size()) + " bytes of it"};
  return result;
}

}  // namespace deadheat::replay::live
