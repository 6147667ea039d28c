// One item of a thread's stream, decoded: what FORMAT.md calls value, sequencer, call-back, ...
//
// Plain data; only the members that belong to `tag` mean something.
#pragma once

#include <cstdint>
#include <span>

#include "base/strong_id.h"
#include "recording/format.h"

namespace deadheat::recording {

// An address in the recorded program. Never dereferenced.
using Address = StrongId<struct RecordedAddressTag, std::uint64_t>;
// A sequencer's number: its place in the order of all sequencers of the process.
using SequencerNumber = StrongId<struct SequencerNumberTag, std::uint64_t>;

struct Sequencer {
  SequencerKind kind;
  std::uint64_t hash;      // of the thread's stores so far, the highest `hash_bits` bits
  SequencerNumber number;  // absolute
  Address object;          // absolute
  std::uint64_t extra;
  std::uint8_t hash_bits = 0;  // 0: nothing was stored since the thread's last sequencer
  bool reads_object = false;   // a library call read the object's first byte just before

  // What `extra` says, by kind.
  bool is_shared() const { return (extra & 1) != 0; }                                    // kLockAcquired
  Address lock_pc() const { return Address(extra >> 1); }                                // kLockAcquired
  ThreadId other_thread() const { return ThreadId(static_cast<std::uint32_t>(extra)); }  // kThread...
  // Atomics: a DhAtomic of runtime/record_abi.h, a memory order as C++ numbers them.
  unsigned operation() const {
    return static_cast<unsigned>(kind) - static_cast<unsigned>(SequencerKind::kAtomic);
  }
  unsigned order() const { return is_atomic(kind) ? extra & 15 : static_cast<unsigned>(extra); }  // or kFence
  unsigned size() const { return static_cast<unsigned>(extra >> 4 & 31); }
  bool succeeded() const { return (extra >> 9 & 1) != 0; }  // compare-exchange
};

struct Callback {
  Address function;
  // All of them, further words included. Valid until the stream's next item.
  std::span<const std::uint64_t> words;
};

struct LibraryAccess {
  AccessKind kind;
  Address address;
  std::uint64_t size;
  Address pc;
};

struct Note {
  NoteKind kind;
  std::uint64_t a;
  std::uint64_t b;
  Address pc;
};

struct End {
  EndKind kind;
  bool is_written;  // false: the stream stops without one, so the reader made it up (kCutOff)
  std::int64_t status;
};

struct Item {
  Tag tag = Tag::kEnd;
  std::uint64_t predicted = 0;  // values that were predicted between the item before and this one
  std::uint64_t value = 0;      // kValue1 to kValue8
  std::uint64_t number = 0;     // kLanded: depth; kJumped: address of the environment
  Sequencer sequencer{};
  Callback callback{};
  LibraryAccess access{};
  Note note{};
  End end{};
};

}  // namespace deadheat::recording
