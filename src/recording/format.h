// The format of a recording on disk, version 3. FORMAT.md says the same in prose; change both together, with
// a new version number and a stored recording of the old one in tests/recordings.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deadheat::recording {

// All numbers are little-endian. "Hash" is XXH3, 64 bits, seed 0.
inline constexpr std::uint32_t kVersion = 4;
// The oldest that is read.
inline constexpr std::uint32_t kOldestVersion = 1;

inline constexpr char kDescriptionFile[] = "recording.json";
inline constexpr char kLogFile[] = "log";
inline constexpr char kModulesFolder[] = "modules";
inline constexpr char kEndFile[] = "end.json";

// ---------------------------------------------------------------------------------------------------------
// The log: this, then chunks.
inline constexpr char kLogMagic[8] = {'D', 'H', 'L', 'O', 'G', 0, 0, 0};

struct LogHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t reserved;  // 0
};
static_assert(sizeof(LogHeader) == 16);

inline constexpr std::uint32_t kChunkMagic = 0x4b434844;  // "DHCK"

struct ChunkHeader {
  std::uint32_t magic;
  std::uint32_t thread;
  std::uint64_t offset;        // of the chunk's first byte in the thread's stream
  std::uint32_t raw_bytes;     // 1 to kMaxChunkBytes
  std::uint32_t stored_bytes;  // at most raw_bytes; equal: stored as they are, else one zstd frame
  std::uint64_t hash;          // of the 24 bytes before and of the stored bytes
};
static_assert(sizeof(ChunkHeader) == 32);

// What a reader insists on, so that a damaged number cannot ask for memory.
inline constexpr std::uint32_t kMaxChunkBytes = 1 << 20;
// What a writer aims at: replay holds one chunk a thread in memory.
inline constexpr std::uint32_t kUsualChunkBytes = 256 << 10;

// ---------------------------------------------------------------------------------------------------------
// A thread's stream: items. First byte: the tag, and the number of predicted values before the item.
inline constexpr unsigned kTagBits = 4;
inline constexpr unsigned kTagMask = 15;
inline constexpr unsigned kLongRun = 15;  // a varint with the rest follows

enum class Tag : std::uint8_t {
  kValue1 = 0,  // a value that was not predicted: 1 << tag bytes, zeros above them left out since version 3
  kValue2 = 1,
  kValue4 = 2,
  kValue8 = 3,
  kSequencer = 4,   // kind byte, varint number - previous, svarint object - previous, u16 hash, varint extra
  kCallback = 5,    // varint function, varint count, the first kWordsPerItem of `count` words
  kUnwound = 6,     // a call-back was left by unwinding
  kLanded = 7,      // varint depth
  kJumped = 8,      // varint environment
  kAccess = 9,      // kind byte, svarint (address - previous object), varint size, varint pc
  kNote = 10,       // kind byte, varint a, varint b, varint pc
  kEnd = 11,        // kind byte, svarint status; the last item of a stream
  kMoreWords = 12,  // varint count, 1 to kWordsPerItem, and as many words of the call-back before
  // Since version 2. What it stands for is an item of tag kSequencer.
  kCodedSequencer = 13,  // flags, then what they say (runtime/sequencer_coding.h)
  // Since version 3.
  kReadAndSequencer = 14,  // the same; before it, the thread read one byte of its object
};
inline constexpr unsigned kTags = 15;
inline constexpr bool is_value(Tag tag) { return tag <= Tag::kValue8; }

inline constexpr std::size_t kWordsPerItem = 16;
inline constexpr std::uint64_t kMaxWords = 1 << 16;  // of a call-back
// No item is longer (kDhRingSlack of runtime/record_abi.h): the longest is a call-back with 1 + 9 + 10 + 10 +
// 128.
inline constexpr std::size_t kMaxItemBytes = 256;

enum class SequencerKind : std::uint8_t {
  kAcquire = 0,
  kRelease = 1,
  kReleaseReplacing = 2,
  kForget = 3,
  kLockAcquired = 4,
  kLockReleasing = 5,
  kLockDestroyed = 6,
  kBarrierInitialised = 7,
  kBarrierArrive = 8,
  kBarrierLeave = 9,
  kThreadCreated = 10,
  kThreadStarted = 11,
  kThreadFinishing = 12,
  kThreadJoined = 13,
  kAllocated = 14,
  kFreeing = 15,
  kMapped = 16,
  kUnmapping = 17,
  kForked = 18,
  kExec = 19,
  kFence = 20,
  kUsable = 21,
  kAtomic = 32,  // + the operation, a DhAtomic
};
inline constexpr unsigned kPlainSequencerKinds = 22;
inline constexpr unsigned kAtomicOperations = 15;
inline constexpr bool is_atomic(SequencerKind kind) { return kind >= SequencerKind::kAtomic; }
inline constexpr bool is_known(SequencerKind kind) {
  const auto number = static_cast<unsigned>(kind);
  return number < kPlainSequencerKinds || (number >= 32 && number < 32 + kAtomicOperations);
}

enum class AccessKind : std::uint8_t { kRead = 0, kWrite = 1 };

enum class NoteKind : std::uint8_t {
  kIgnoreBegin = 0,  // a: IgnoreBits
  kIgnoreEnd = 1,
  kBenignRace = 2,      // a: address, b: size
  kThreadNamed = 3,     // a: thread, b: the first 8 bytes of the name
  kAllocationPlace = 4  // a: address, b: size; the pc is the allocation's
};
inline constexpr unsigned kNoteKinds = 5;
enum IgnoreBits : std::uint64_t { kIgnoreReads = 1, kIgnoreWrites = 2, kIgnoreSynchronisation = 4 };

enum class EndKind : std::uint8_t {
  kThreadEnded = 0,
  kProcessEnded = 1,  // status: its exit code
  kStopped = 2,       // recording was stopped (limit, full disk); the program went on
  kCutOff = 3,        // killed; status: the signal if known
};
inline constexpr unsigned kEndKinds = 4;

}  // namespace deadheat::recording
