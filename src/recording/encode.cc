#include "recording/encode.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace deadheat::recording {
namespace {

template <class T>
void append_raw(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_byte(std::string& out, unsigned byte) { out.push_back(static_cast<char>(byte)); }

}  // namespace

void append_varint(std::string& out, std::uint64_t number) {
  while (number >= 0x80) {
    append_byte(out, static_cast<unsigned>(number & 0x7f) | 0x80);
    number >>= 7;
  }
  append_byte(out, static_cast<unsigned>(number));
}

void append_svarint(std::string& out, std::int64_t number) {
  append_varint(out, (static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63));
}

void append_tag(std::string& out, Tag tag, std::uint64_t predicted) {
  const std::uint64_t run = std::min<std::uint64_t>(predicted, kLongRun);
  append_byte(out, static_cast<unsigned>(tag) | static_cast<unsigned>(run << kTagBits));
  if (run == kLongRun) append_varint(out, predicted - kLongRun);
}

void append_read(std::string& out, std::uint64_t predicted, std::uint64_t address_difference) {
  append_tag(out, Tag::kAccess, predicted);
  append_byte(out, static_cast<unsigned>(AccessKind::kRead));
  append_svarint(out, static_cast<std::int64_t>(address_difference));
  append_varint(out, 1);
  append_varint(out, 0);
}

void append_end(std::string& out, std::uint64_t predicted, EndKind kind, std::int64_t status) {
  append_tag(out, Tag::kEnd, predicted);
  append_byte(out, static_cast<unsigned>(kind));
  append_svarint(out, status);
}

void Encoder::value(std::uint64_t predicted, std::uint64_t value, unsigned size) {
  DEADHEAT_CHECK(size <= 8 && std::has_single_bit(size));
  append_tag(bytes_, static_cast<Tag>(std::countr_zero(size)), predicted);
  bytes_.append(reinterpret_cast<const char*>(&value), size);
}

void Encoder::sequencer(std::uint64_t predicted, const Sequencer& sequencer) {
  append_tag(bytes_, Tag::kSequencer, predicted);
  append_byte(bytes_, static_cast<unsigned>(sequencer.kind));
  append_varint(bytes_, sequencer.number.value() - last_number_);
  append_svarint(bytes_, static_cast<std::int64_t>(sequencer.object.value() - last_object_));
  append_raw(bytes_, static_cast<std::uint16_t>(sequencer.hash));
  append_varint(bytes_, sequencer.extra);
  last_number_ = sequencer.number.value();
  last_object_ = sequencer.object.value();
  any_sequencer_ = true;
}

void Encoder::coded_sequencer(std::uint64_t predicted, const Sequencer& sequencer) {
  if (coding_ == nullptr) coding_ = std::make_shared<DhCoding>();
  const DhCodedSequencer& guess = *dh_predicted(coding_.get());
  const auto kind = static_cast<std::uint64_t>(sequencer.kind);
  const std::uint64_t object = sequencer.object.value();
  const std::uint64_t step = sequencer.number.value() - (any_sequencer_ ? last_number_ + 1 : 0);
  const bool is_kind_predicted = guess.kind == kind && guess.extra == sequencer.extra;
  const unsigned object_is = guess.object == object       ? kDhObjectPredicted
                             : coding_->held[0] == object ? kDhObjectHeld
                             : last_object_ == object     ? kDhObjectLast
                                                          : kDhObjectExplicit;
  append_tag(bytes_, sequencer.reads_object ? Tag::kReadAndSequencer : Tag::kCodedSequencer, predicted);
  append_byte(bytes_, object_is | (is_kind_predicted ? kDhKindPredicted : 0u) |
                          (sequencer.hash_bits != 0 ? kDhHashFollows : 0u) |
                          static_cast<unsigned>(std::min<std::uint64_t>(step, kDhLongStep)) << kDhStepShift);
  if (step >= kDhLongStep) append_varint(bytes_, step - kDhLongStep);
  if (!is_kind_predicted) {
    append_byte(bytes_, static_cast<unsigned>(kind));
    append_varint(bytes_, sequencer.extra);
  }
  if (object_is == kDhObjectExplicit)
    append_svarint(bytes_, static_cast<std::int64_t>(object - last_object_));
  if (sequencer.hash_bits != 0)
    bytes_.append(reinterpret_cast<const char*>(&sequencer.hash), sequencer.hash_bits / 8);
  dh_coding_advance(coding_.get(), kind, object, sequencer.extra);
  last_number_ = sequencer.number.value();
  last_object_ = object;
  any_sequencer_ = true;
}

void Encoder::callback(std::uint64_t predicted, Address function, std::span<const std::uint64_t> words) {
  append_tag(bytes_, Tag::kCallback, predicted);
  append_varint(bytes_, function.value());
  append_varint(bytes_, words.size());
  bool first = true;
  do {
    const auto part = words.first(std::min(words.size(), kWordsPerItem));
    if (!first) {
      append_tag(bytes_, Tag::kMoreWords, 0);
      append_varint(bytes_, part.size());
    }
    for (std::uint64_t word : part) append_raw(bytes_, word);
    words = words.subspan(part.size());
    first = false;
  } while (!words.empty());
}

void Encoder::landed(std::uint64_t predicted, std::uint64_t depth) {
  append_tag(bytes_, Tag::kLanded, predicted);
  append_varint(bytes_, depth);
}

void Encoder::jumped(std::uint64_t predicted, Address environment) {
  append_tag(bytes_, Tag::kJumped, predicted);
  append_varint(bytes_, environment.value());
}

void Encoder::access(std::uint64_t predicted, const LibraryAccess& access) {
  append_tag(bytes_, Tag::kAccess, predicted);
  append_byte(bytes_, static_cast<unsigned>(access.kind));
  append_svarint(bytes_, static_cast<std::int64_t>(access.address.value() - last_object_));
  last_object_ = access.address.value();
  append_varint(bytes_, access.size);
  append_varint(bytes_, access.pc.value());
}

void Encoder::note(std::uint64_t predicted, const Note& note) {
  append_tag(bytes_, Tag::kNote, predicted);
  append_byte(bytes_, static_cast<unsigned>(note.kind));
  append_varint(bytes_, note.a);
  append_varint(bytes_, note.b);
  append_varint(bytes_, note.pc.value());
}

}  // namespace deadheat::recording
