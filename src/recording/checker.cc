#include "recording/checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "recording/names.h"

namespace deadheat::recording {
namespace {

// Numbers seen so far, as a bit each. They come from one counter, so they are dense; a number far beyond what
// the log has room for is refused before it can ask for memory.
class NumberSet {
 public:
  // A sequencer takes 2 bytes.
  explicit NumberSet(std::uint64_t raw_bytes, std::uint64_t claimed)
      : most_(std::max<std::uint64_t>(raw_bytes, claimed < kMaxClaim ? claimed : 0) + kSlack) {}

  enum class Outcome { kNew, kTwice, kTooLarge };
  Outcome add(std::uint64_t number) {
    if (number >= most_) return Outcome::kTooLarge;
    if (number / 64 >= bits_.size()) bits_.resize(std::max<std::size_t>(number / 64 + 1, bits_.size() * 2));
    std::uint64_t& word = bits_[number / 64];
    const std::uint64_t bit = std::uint64_t{1} << number % 64;
    if ((word & bit) != 0) return Outcome::kTwice;
    word |= bit;
    ++count_;
    highest_ = std::max(highest_, number);
    return Outcome::kNew;
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t highest() const { return highest_; }
  std::uint64_t first_missing() const {
    std::uint64_t number = 0;
    while (number / 64 < bits_.size() && (bits_[number / 64] >> number % 64 & 1) != 0) ++number;
    return number;
  }

 private:
  static constexpr std::uint64_t kSlack = 1 << 20;
  static constexpr std::uint64_t kMaxClaim = std::uint64_t{1} << 34;  // 2 GiB of bits
  std::uint64_t most_;
  std::vector<std::uint64_t> bits_;
  std::uint64_t count_ = 0;
  std::uint64_t highest_ = 0;
};

class Checker {
 public:
  Checker(const Reader& reader, const CheckProgress& progress)
      : reader_(reader),
        progress_(progress),
        numbers_(raw_bytes_of(reader), reader.ending() != nullptr ? reader.ending()->sequencers : 0) {}

  Result<Summary> check() {
    if (reader_.completeness() == Completeness::kDamaged) return Error{reader_.note()};
    for (ThreadId thread : reader_.threads()) {
      if (Status status = check_thread(thread); !status) return status.error();
    }
    for (const Module* module : reader_.distinct_modules()) {
      if (auto bitcode = read_bitcode(*module); !bitcode) return bitcode.error();
    }
    if (numbers_.count() > 0) {
      summary_.highest_number = numbers_.highest();
      summary_.missing = numbers_.highest() + 1 - numbers_.count();
      summary_.first_missing = SequencerNumber(numbers_.first_missing());
    }
    if (Status status = check_ending(); !status) return status.error();
    return summary_;
  }

 private:
  static std::uint64_t raw_bytes_of(const Reader& reader) {
    std::uint64_t bytes = 0;
    for (ThreadId thread : reader.threads()) bytes += reader.stream(thread).raw_bytes();
    return bytes;
  }

  Status check_thread(ThreadId thread) {
    ThreadSummary summary;
    summary.thread = thread;
    for (const Chunk& chunk : reader_.chunks(thread)) {
      summary.raw_bytes += chunk.raw_bytes;
      summary.stored_bytes += chunk.stored_bytes;
    }
    ThreadStream stream = reader_.stream(thread);
    Item item;
    std::uint64_t at = 0;
    while (stream.next(item)) {
      if (Status status = check_item(stream, at, item, summary); !status) return status;
      at = stream.offset();
      if (progress_ && (summary.items & 0xffff) == 0) progress_(read_bytes_ + at);
    }
    if (!stream.status().ok()) return stream.status();
    summary.end = item.end;
    if (!item.end.is_written && reader_.completeness() == Completeness::kComplete &&
        reader_.ending()->reason != StopReason::kDiskFull) {
      return Error{
          fmt::format("{}: expected an end item at the end of the stream of a complete recording, found {}",
                      stream.position(), stream.offset() == stream.raw_bytes() ? "none" : "half an item")};
    }
    read_bytes_ += summary.raw_bytes;
    summary_.raw_bytes += summary.raw_bytes;
    summary_.stored_bytes += summary.stored_bytes;
    summary_.predicted += summary.predicted;
    summary_.values += summary.values;
    summary_.sequencers += summary.sequencers;
    summary_.threads.push_back(summary);
    return Nothing{};
  }

  Status check_item(const ThreadStream& stream, std::uint64_t at, const Item& item, ThreadSummary& summary) {
    ++summary_.tags[static_cast<unsigned>(item.tag)];
    ++summary.items;
    summary.predicted += item.predicted;
    if (is_value(item.tag)) {
      ++summary.values;
      return Nothing{};
    }
    if (item.tag != Tag::kSequencer) return Nothing{};
    ++summary.sequencers;
    if (item.sequencer.reads_object) ++summary_.tags[static_cast<unsigned>(Tag::kAccess)];
    ++summary_.kinds[static_cast<unsigned>(item.sequencer.kind)];
    const std::uint64_t number = item.sequencer.number.value();
    switch (numbers_.add(number)) {
      case NumberSet::Outcome::kNew:
        return Nothing{};
      case NumberSet::Outcome::kTwice:
        return Error{fmt::format(
            "{}: item at byte {}: expected a sequencer's number of its own, found {}, which another "
            "thread has, too",
            stream.position(), at, number)};
      case NumberSet::Outcome::kTooLarge:
        break;
    }
    return Error{fmt::format("{}: item at byte {}: expected a sequencer's number of this recording, found {}",
                             stream.position(), at, number)};
  }

  Status check_ending() const {
    const Ending* ending = reader_.ending();
    if (ending == nullptr || reader_.completeness() != Completeness::kComplete) return Nothing{};
    auto expect = [&](const char* what, std::uint64_t said, std::uint64_t found) -> Status {
      if (said == found) return Nothing{};
      return Error{fmt::format("{}/{}: expected as many {} as the log has, {}, found {}", reader_.folder(),
                               kEndFile, what, found, said)};
    };
    if (Status status = expect("raw_bytes", ending->raw_bytes, summary_.raw_bytes); !status) return status;
    // Threads that logged nothing are counted there, too.
    if (ending->threads < summary_.threads.size())
      return expect("threads", ending->threads, summary_.threads.size());
    return Nothing{};
  }

  const Reader& reader_;
  const CheckProgress& progress_;
  NumberSet numbers_;
  std::uint64_t read_bytes_ = 0;
  Summary summary_;
};

}  // namespace

Result<Summary> check(const Reader& reader, const CheckProgress& progress) {
  return Checker(reader, progress).check();
}

}  // namespace deadheat::recording
