// Writing items: what the writer adds to a stream itself (its end), and the streams of tests.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "recording/item.h"
#include "runtime/sequencer_coding.h"

namespace deadheat::recording {

void append_varint(std::string& out, std::uint64_t number);
void append_svarint(std::string& out, std::int64_t number);
// An item's first byte and, if the run is long, the rest of it.
void append_tag(std::string& out, Tag tag, std::uint64_t predicted);
// Of one byte; the difference is to the last object.
void append_read(std::string& out, std::uint64_t predicted, std::uint64_t address_difference);
void append_end(std::string& out, std::uint64_t predicted, EndKind kind, std::int64_t status);

// Sequencers are written as differences: a stream's encoder remembers the last one.
class Encoder {
 public:
  // Of 1, 2, 4 or 8 bytes.
  void value(std::uint64_t predicted, std::uint64_t value, unsigned size);
  // With 16 bits of its hash, whatever hash_bits says.
  void sequencer(std::uint64_t predicted, const Sequencer& sequencer);
  // In the short form; hash_bits is 0 or what its kind has, 8 or 64.
  void coded_sequencer(std::uint64_t predicted, const Sequencer& sequencer);
  void callback(std::uint64_t predicted, Address function, std::span<const std::uint64_t> words);
  void unwound(std::uint64_t predicted) { append_tag(bytes_, Tag::kUnwound, predicted); }
  void landed(std::uint64_t predicted, std::uint64_t depth);
  void jumped(std::uint64_t predicted, Address environment);
  void access(std::uint64_t predicted, const LibraryAccess& access);
  void note(std::uint64_t predicted, const Note& note);
  void end(std::uint64_t predicted, EndKind kind, std::int64_t status) {
    append_end(bytes_, predicted, kind, status);
  }

  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }  // of the bytes; differences go on

 private:
  std::string bytes_;
  std::uint64_t last_number_ = 0;
  std::uint64_t last_object_ = 0;
  bool any_sequencer_ = false;
  std::shared_ptr<DhCoding> coding_;  // null until needed
};

}  // namespace deadheat::recording
