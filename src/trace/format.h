// Deadheat's binary trace format (.dht), version 1. FORMAT.md says the same in prose; change both together,
// with a new version number and a stored trace of the old one in the tests.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deadheat::format {

// All numbers are little-endian. "Hash" is XXH3, 64 bits, seed 0.

inline constexpr unsigned char kMagic[8] = {0x89, 'D', 'H', 'T', '\r', '\n', 0x1a, '\n'};
inline constexpr std::uint32_t kVersion = 1;

struct FileHeader {
  unsigned char magic[8];
  std::uint32_t version;
  std::uint32_t flags;     // 0
  std::uint64_t reserved;  // 0
  std::uint64_t hash;      // of the 24 bytes before
};
static_assert(sizeof(FileHeader) == 32);

enum class ChunkType : std::uint8_t {
  kNames = 1,   // names and reachable sets that later events refer to
  kEvents = 2,  // events, in columns
  kIndex = 3,   // where the chunks are; the last one
};

enum class Compression : std::uint8_t { kNone = 0, kZstd = 1 };

inline constexpr std::uint32_t kChunkMagic = 0x4b434844;  // "DHCK"

struct ChunkHeader {
  std::uint32_t magic;
  ChunkType type;
  Compression compression;
  std::uint16_t reserved;  // 0
  std::uint32_t stored_bytes;
  std::uint32_t raw_bytes;  // after decompression
  std::uint32_t count;      // events, names and sets, or index entries
  std::uint32_t reserved2;  // 0
  std::uint64_t first;      // kEvents: number of the first event; else the number of events before the chunk
  std::uint64_t payload_hash;  // of the stored bytes
  std::uint64_t hash;          // of the 40 bytes before
};
static_assert(sizeof(ChunkHeader) == 48);

// Payload of kNames: `count` records. First byte: the table. Then a number (LEB128): the length of a name and
// its bytes, or, for kSets, the members' count and the members: the first one, then the differences to the
// one before, each LEB128.
enum class Table : std::uint8_t {
  kThreads = 0,
  kLocations = 1,
  kLocks = 2,
  kMessages = 3,
  kFunctions = 4,
  kSites = 5,
  kSets = 6,
};
inline constexpr int kNameTables = 6;

// Payload of kEvents: this, then the columns one after another, in this order.
struct EventColumns {
  std::uint8_t thread_width;  // bytes per number: 0 (all are 0), 1, 2, 4 or 8
  std::uint8_t object_width;
  std::uint8_t site_width;
  std::uint8_t value_width;
  std::uint32_t values;  // events that have kHasValue or are kEnter
  // u8 kind[count]: the EventKind, and kHasValue
  // thread[count], object[count], site[count]
  // value[values]: zigzag; of kEnter, the number of its reachable set
};
static_assert(sizeof(EventColumns) == 8);
inline constexpr std::uint8_t kHasValue = 0x80;

// Payload of kIndex: one per chunk before it.
struct IndexEntry {
  std::uint64_t offset;  // of the chunk's header, from the start of the file
  std::uint64_t first;   // as in the header
  std::uint32_t count;   // as in the header
  ChunkType type;
  std::uint8_t reserved[3];  // 0
};
static_assert(sizeof(IndexEntry) == 24);

// The last bytes of a complete file.
struct Trailer {
  std::uint64_t index_offset;
  std::uint64_t events;
  unsigned char magic[8];  // the file's, reversed
  std::uint64_t hash;      // of the 24 bytes before
};
static_assert(sizeof(Trailer) == 32);

// What a writer keeps to and a reader insists on, so that a damaged number cannot ask for memory.
inline constexpr std::uint32_t kMaxEventsPerChunk = 65536;
inline constexpr std::uint32_t kMaxChunkBytes = std::uint32_t{64} << 20;
// And kMaxNameBytesInAll of names.h.

}  // namespace deadheat::format
