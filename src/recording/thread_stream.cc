// Decoding a thread's items.
//
// The buffer holds a whole chunk behind whatever the chunk before left unfinished, and kMaxItemBytes zeros
// behind that. No item is longer than that, and every loop here has a fixed bound, so an item is decoded
// without looking at the buffer's end; whether it went beyond is asked once, when it is decoded.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "recording/log_file.h"
#include "recording/reader.h"

namespace deadheat::recording {
namespace {

using Byte = unsigned char;

// False if it does not fit 64 bits.
bool read_long_varint(const Byte*& at, std::uint64_t& out) {
  out = 0;
  for (unsigned shift = 0; shift < 63; shift += 7) {
    const Byte next = *at++;
    out |= static_cast<std::uint64_t>(next & 0x7f) << shift;
    if (next < 0x80) return true;
  }
  const Byte last = *at++;
  out |= static_cast<std::uint64_t>(last) << 63;
  return last <= 1;
}

inline bool read_varint(const Byte*& at, std::uint64_t& out) {
  if (*at < 0x80) [[likely]] {
    out = *at++;
    return true;
  }
  return read_long_varint(at, out);
}

// How many tags a version has.
unsigned tags_of(std::uint32_t version) {
  return version < 2   ? static_cast<unsigned>(Tag::kCodedSequencer)
         : version < 3 ? static_cast<unsigned>(Tag::kReadAndSequencer)
                       : kTags;
}

std::uint64_t from_zigzag(std::uint64_t number) { return (number >> 1) ^ (~(number & 1) + 1); }

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class T>
T load(const Byte*& at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  at += sizeof value;
  return value;
}

}  // namespace

ThreadStream::ThreadStream(std::shared_ptr<const LogFile> log, ThreadId thread,
                           const std::vector<Chunk>* chunks)
    : log_(std::move(log)), thread_(thread), chunks_(chunks), tags_(tags_of(log_->version())) {}
ThreadStream::ThreadStream(ThreadStream&&) noexcept = default;
ThreadStream& ThreadStream::operator=(ThreadStream&&) noexcept = default;
ThreadStream::~ThreadStream() = default;

std::uint64_t ThreadStream::raw_bytes() const {
  return chunks_->empty() ? 0 : chunks_->back().offset + chunks_->back().raw_bytes;
}

std::string ThreadStream::position() const {
  const std::uint64_t here = offset();
  auto after =
      std::upper_bound(chunks_->begin(), chunks_->end(), here,
                       [](std::uint64_t offset, const Chunk& chunk) { return offset < chunk.offset; });
  const std::uint64_t chunk = after == chunks_->begin() ? 0 : std::prev(after)->position;
  return fmt::format("thread {}, byte {} of its stream (chunk at byte {} of {})", thread_.value(), here,
                     chunk, log_->name());
}

bool ThreadStream::fail(const std::string& expected, const std::string& found) {
  status_ = Error{fmt::format("{}: {}: expected {}, found {}", log_->name(), position(), expected, found)};
  stop();
  return false;
}

// Nothing more comes, whatever is left in the buffer.
void ThreadStream::stop() {
  ended_ = true;
  limit_ = at_;
}

// The stream is over; what there is of a last item is not whole.
bool ThreadStream::finish(Item& item) {
  stop();
  item.tag = Tag::kEnd;
  item.predicted = 0;
  item.end = {EndKind::kCutOff, false, 0};
  return true;
}

// Appends the next chunk to what is left in the buffer; false if there is none, or on an error.
bool ThreadStream::refill() {
  if (next_chunk_ == chunks_->size()) return false;
  const Chunk& chunk = (*chunks_)[next_chunk_++];
  const auto left = static_cast<std::size_t>(limit_ - at_);
  const std::size_t needed = left + chunk.raw_bytes + kMaxItemBytes;
  buffer_offset_ += static_cast<std::uint64_t>(at_ - buffer_.get());
  if (needed > capacity_) {
    std::unique_ptr<Byte[]> larger(new Byte[needed]);
    if (left != 0) std::memcpy(larger.get(), at_, left);
    buffer_ = std::move(larger);
    capacity_ = needed;
  } else {
    std::memmove(buffer_.get(), at_, left);
  }
  at_ = buffer_.get();
  limit_ = at_ + left;
  Byte* const to = buffer_.get() + left;
  const double start = processor_seconds();
  const Status status = log_->read_chunk(thread_, chunk, {to, chunk.raw_bytes});
  reading_seconds_ += processor_seconds() - start;
  if (!status) {
    status_ = status;
    stop();
    return false;
  }
  limit_ = to + chunk.raw_bytes;
  std::memset(to + chunk.raw_bytes, 0, kMaxItemBytes);
  return true;
}

// Makes the next item whole, if the stream has all of it. False on an error.
bool ThreadStream::fill() {
  while (static_cast<std::size_t>(limit_ - at_) < kMaxItemBytes && refill()) {
  }
  return status_.ok();
}

bool ThreadStream::next_slow(Item& item) {
  if (!ended_) {
    if (!fill()) return false;
    return at_ == limit_ ? finish(item) : decode(item);
  }
  if (status_.ok()) {
    // Thousands of threads may have ended before a replay does.
    buffer_offset_ = offset();
    buffer_.reset();
    capacity_ = 0;
    coding_.reset();
    at_ = limit_ = nullptr;
  }
  return false;
}

bool ThreadStream::decode(Item& item) {
  const Byte* at = at_;
  const Byte first = *at++;
  const unsigned number = first & kTagMask;
  if (number >= tags_ || number == static_cast<unsigned>(Tag::kMoreWords)) {
    return fail("an item's tag", fmt::format("{}", number));
  }
  item.tag = static_cast<Tag>(number);
  std::uint64_t run = first >> kTagBits;
  bool fits = true;  // every number its 64 bits
  if (run == kLongRun) {
    std::uint64_t rest = 0;
    fits &= read_varint(at, rest) && rest + kLongRun >= kLongRun;
    run = rest + kLongRun;
  }
  item.predicted = run;
  std::uint64_t a = 0, b = 0, c = 0;
  switch (item.tag) {
    case Tag::kValue1:
    case Tag::kValue2:
    case Tag::kValue4:
    case Tag::kValue8:
      std::memcpy(&item.value, at, sizeof item.value);
      item.value &= kValueMask[number];
      at += std::size_t{1} << number;
      break;
    case Tag::kSequencer: {
      const Byte kind = *at++;
      fits &= read_varint(at, a) && read_varint(at, b);
      item.sequencer.hash = load<std::uint16_t>(at);
      item.sequencer.hash_bits = 16;
      fits &= read_varint(at, c);
      if (at > limit_) break;
      item.sequencer.kind = static_cast<SequencerKind>(kind);
      if (!is_known(item.sequencer.kind)) return fail("a kind of sequencer", fmt::format("{}", kind));
      if (fits && ((a == 0 && any_sequencer_) || last_number_ + a < last_number_)) {
        return fail(fmt::format("a sequencer's number above {}", last_number_),
                    fmt::format("{}", last_number_ + a));
      }
      any_sequencer_ = true;
      last_number_ += a;
      last_object_ += from_zigzag(b);
      item.sequencer.number = SequencerNumber(last_number_);
      item.sequencer.object = Address(last_object_);
      item.sequencer.extra = c;
      item.sequencer.reads_object = false;
      break;
    }
    case Tag::kCodedSequencer:
    case Tag::kReadAndSequencer:
      if (!fits) break;
      return decode_coded(item, at);
    case Tag::kCallback:
      if (!fits) break;
      return decode_callback(item, at);
    case Tag::kUnwound:
      break;
    case Tag::kLanded:
    case Tag::kJumped:
      fits &= read_varint(at, item.number);
      break;
    case Tag::kAccess:
    case Tag::kNote: {
      const Byte kind = *at++;
      fits &= read_varint(at, a) && read_varint(at, b) && read_varint(at, c);
      if (at > limit_) break;
      const bool is_note = item.tag == Tag::kNote;
      if (kind >= (is_note ? kNoteKinds : 2)) {
        return fail(is_note ? "a kind of note" : "a read (0) or a write (1)", fmt::format("{}", kind));
      }
      if (is_note) {
        item.note = {static_cast<NoteKind>(kind), a, b, Address(c)};
      } else {
        last_object_ += from_zigzag(a);
        item.access = {static_cast<AccessKind>(kind), Address(last_object_), b, Address(c)};
      }
      break;
    }
    case Tag::kEnd: {
      const Byte kind = *at++;
      fits &= read_varint(at, a);
      if (at > limit_) break;
      if (kind >= kEndKinds) return fail("a kind of end", fmt::format("{}", kind));
      item.end = {static_cast<EndKind>(kind), true, static_cast<std::int64_t>(from_zigzag(a))};
      if (!fits) break;
      at_ = at;  // not to be used below: the buffer may move
      const bool is_last = at_second_end();
      stop();
      if (is_last) return true;
      return status_.ok() ? fail("the stream's end behind an end item", "more items") : false;
    }
    case Tag::kMoreWords:
      break;  // refused above
  }
  if (at > limit_) return finish(item);
  if (!fits) return fail("numbers of 64 bits", "a longer one");
  at_ = at;
  return true;
}

// `at` is behind the tag and run.
// REQUIRES: item.tag is one of the two.
bool ThreadStream::decode_coded(Item& item, const Byte* at) {
  item.sequencer.reads_object = item.tag == Tag::kReadAndSequencer;
  if (coding_ == nullptr) coding_ = std::make_unique<DhCoding>();
  DhCoding& coding = *coding_;
  const unsigned flags = *at++;
  bool fits = true;
  std::uint64_t step = flags >> kDhStepShift;
  if (step == kDhLongStep) {
    std::uint64_t rest = 0;
    fits &= read_varint(at, rest) && rest + kDhLongStep >= kDhLongStep;
    step = rest + kDhLongStep;
  }
  std::uint64_t kind = dh_predicted(&coding)->kind;
  std::uint64_t extra = dh_predicted(&coding)->extra;
  if ((flags & kDhKindPredicted) == 0) {
    kind = *at++;
    fits &= read_varint(at, extra);
  }
  std::uint64_t object = last_object_;
  switch (flags & kDhObjectMask) {
    case kDhObjectExplicit: {
      std::uint64_t difference = 0;
      fits &= read_varint(at, difference);
      object += from_zigzag(difference);
      break;
    }
    case kDhObjectPredicted:
      object = dh_predicted(&coding)->object;
      break;
    case kDhObjectHeld:
      object = coding.held[0];
      break;
    default:
      break;
  }
  Sequencer& sequencer = item.sequencer;
  sequencer.kind = static_cast<SequencerKind>(kind);
  sequencer.hash_bits = 0;
  sequencer.hash = 0;
  if ((flags & kDhHashFollows) != 0) {
    const bool is_whole = sequencer.kind == SequencerKind::kThreadFinishing ||
                          (sequencer.kind == SequencerKind::kAcquire && extra != 0);
    sequencer.hash_bits = is_whole ? 64 : 8;
    sequencer.hash = is_whole ? load<std::uint64_t>(at) : *at++;
  }
  if (at > limit_) return finish(item);
  if (!fits) return fail("numbers of 64 bits", "a longer one");
  if (!is_known(sequencer.kind)) return fail("a kind of sequencer", fmt::format("{}", kind));
  const std::uint64_t least = any_sequencer_ ? last_number_ + 1 : 0;
  if (least + step < least || (any_sequencer_ && least == 0))
    return fail(fmt::format("a sequencer's number above {}", last_number_), fmt::format("{}", least + step));
  any_sequencer_ = true;
  last_number_ = least + step;
  last_object_ = object;
  dh_coding_advance(&coding, kind, object, extra);
  item.tag = Tag::kSequencer;
  sequencer.number = SequencerNumber(last_number_);
  sequencer.object = Address(object);
  sequencer.extra = extra;
  at_ = at;
  return true;
}

// Behind an end item: whether nothing is left. A thread that logged its end and was killed before it could
// say so in its slot gets a second one from the writer; the first one counts.
bool ThreadStream::at_second_end() {
  if (next_chunk_ == chunks_->size() && at_ == limit_) return true;
  if (!fill() || next_chunk_ != chunks_->size()) return false;
  const Byte* at = at_;
  std::uint64_t number = 0;
  if ((*at & kTagMask) != static_cast<unsigned>(Tag::kEnd)) return false;
  const bool has_long_run = *at >> kTagBits == kLongRun;
  ++at;
  if (has_long_run && !read_varint(at, number)) return false;
  ++at;
  return read_varint(at, number) && at == limit_;
}

// Joins the items that a call-back with many arguments is made of. `at` is behind the first one's tag and
// run.
bool ThreadStream::decode_callback(Item& item, const Byte* at) {
  std::uint64_t function = 0, count = 0;
  bool fits = read_varint(at, function) && read_varint(at, count);
  if (at > limit_) return finish(item);
  if (!fits) return fail("numbers of 64 bits", "a longer one");
  if (count > kMaxWords) {
    return fail(fmt::format("a call-back with at most {} words", kMaxWords), fmt::format("{}", count));
  }
  words_.clear();
  std::uint64_t part = std::min<std::uint64_t>(count, kWordsPerItem);
  while (true) {
    if (at + part * sizeof(std::uint64_t) > limit_) return finish(item);
    for (std::uint64_t i = 0; i < part; ++i) words_.push_back(load<std::uint64_t>(at));
    at_ = at;
    if (words_.size() == count) break;
    if (!fill()) return false;
    if (at_ == limit_) return finish(item);
    at = at_;
    const Byte first = *at++;
    if (first != static_cast<Byte>(Tag::kMoreWords)) {
      return fail(fmt::format("{} more words of a call-back", count - words_.size()),
                  fmt::format("an item with first byte {}", first));
    }
    fits = read_varint(at, part);
    if (at > limit_) return finish(item);
    if (!fits || part == 0 || part > kWordsPerItem || part > count - words_.size()) {
      return fail(fmt::format("1 to {} further words", std::min(kWordsPerItem, count - words_.size())),
                  fmt::format("{}", part));
    }
  }
  item.callback.function = Address(function);
  item.callback.words = words_;
  return true;
}

}  // namespace deadheat::recording
