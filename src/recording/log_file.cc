// Chunks are verified twice: when the log is opened, because a bad one ends the recording for every thread
// (what follows could not be ordered), and when one is read, because the file may have changed since. XXH3 is
// an order of magnitude faster than decompression, so the second time costs next to nothing.
#include "recording/log_file.h"

#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "recording/format.h"

static_assert(std::endian::native == std::endian::little, "numbers are read as they are stored");

namespace deadheat::recording {
namespace {

// A fuzzer cannot guess hashes; it is to look at what comes after them.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr bool kCompareHashes = false;
#else
constexpr bool kCompareHashes = true;
#endif

// One per thread of the tool, not one per stream: a replay has thousands of streams.
struct Scratch {
  Scratch() : context(ZSTD_createDCtx()) { DEADHEAT_CHECK(context != nullptr); }
  ~Scratch() { ZSTD_freeDCtx(context); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::vector<char> stored;
  ZSTD_DCtx* context;
};
Scratch& scratch() {
  thread_local Scratch scratch;
  return scratch;
}

template <class T>
std::span<char> bytes_of(T& value) {
  return {reinterpret_cast<char*>(&value), sizeof(T)};
}

std::uint64_t hash_of(const ChunkHeader& header, std::span<const char> stored) {
  XXH3_state_t* state = XXH3_createState();
  DEADHEAT_CHECK(state != nullptr);
  XXH3_64bits_reset(state);
  XXH3_64bits_update(state, &header, offsetof(ChunkHeader, hash));
  XXH3_64bits_update(state, stored.data(), stored.size());
  const std::uint64_t hash = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return hash;
}

bool has_sane_sizes(const ChunkHeader& header) {
  return header.raw_bytes >= 1 && header.raw_bytes <= kMaxChunkBytes && header.stored_bytes >= 1 &&
         header.stored_bytes <= header.raw_bytes;
}

}  // namespace

Result<std::shared_ptr<LogFile>> LogFile::open(const std::string& path) {
  std::shared_ptr<LogFile> log(new LogFile(path));
  Result<InputFile> file = InputFile::open(path);
  if (!file) return file.error();
  log->file_.emplace(std::move(*file));
  if (Status status = log->index(); !status) return status.error();
  return log;
}

Result<std::shared_ptr<LogFile>> LogFile::of_bytes(std::string bytes, std::string name) {
  std::shared_ptr<LogFile> log(new LogFile(std::move(name)));
  log->bytes_ = std::move(bytes);
  if (Status status = log->index(); !status) return status.error();
  return log;
}

std::uint64_t LogFile::size() const { return file_ ? file_->size() : bytes_.size(); }

Result<std::size_t> LogFile::read_at(std::uint64_t offset, std::span<char> out) const {
  if (file_) return file_->read_at(offset, out);
  if (offset >= bytes_.size()) return std::size_t{0};
  const std::size_t count = std::min<std::size_t>(out.size(), bytes_.size() - offset);
  std::memcpy(out.data(), bytes_.data() + offset, count);
  return count;
}

void LogFile::end_here(Completeness completeness, std::uint64_t position, const std::string& what) {
  completeness_ = completeness;
  note_ = name_ + ": " + (completeness == Completeness::kDamaged ? "damaged" : "cut short") + " at byte " +
          std::to_string(position) + ": " + what;
}

Status LogFile::index() {
  LogHeader header{};
  Result<std::size_t> got = read_at(0, bytes_of(header));
  if (!got) return got.error();
  if (std::memcmp(header.magic, kLogMagic, std::min(*got, sizeof kLogMagic)) != 0) {
    return Error{name_ + ": byte 0: expected the log of a recording (\"DHLOG\"), found something else"};
  }
  if (*got < sizeof header) {
    end_here(Completeness::kCutShort, 0, "half a header");
    return Nothing{};
  }
  if (header.version < kOldestVersion || header.version > kVersion) {
    return Error{name_ + ": byte 8: expected format version " + std::to_string(kVersion) + ", found " +
                 std::to_string(header.version) +
                 (header.version > kVersion ? ": written by a newer deadheat" : "")};
  }
  version_ = header.version;
  const std::uint64_t size = this->size();
  std::uint64_t position = readable_bytes_ = sizeof header;
  std::map<ThreadId, std::uint64_t> ends;
  while (position < size) {
    ChunkHeader chunk{};
    std::span<char> stored;
    if (Status status = read_stored(position, stored, chunk); !status) {
      // Half a chunk is what a killed writer leaves; anything else is damage.
      const bool half =
          size - position < sizeof chunk || (chunk.magic == kChunkMagic && has_sane_sizes(chunk) &&
                                             size - position < sizeof chunk + chunk.stored_bytes);
      end_here(half ? Completeness::kCutShort : Completeness::kDamaged, position,
               half ? "half a chunk" : status.error().message);
      break;
    }
    std::uint64_t& expected = ends[ThreadId(chunk.thread)];
    if (chunk.offset != expected) {
      end_here(Completeness::kDamaged, position,
               "expected byte " + std::to_string(expected) + " of thread " + std::to_string(chunk.thread) +
                   "'s stream, found byte " + std::to_string(chunk.offset));
      break;
    }
    expected += chunk.raw_bytes;
    threads_[ThreadId(chunk.thread)].push_back({position, chunk.offset, chunk.raw_bytes, chunk.stored_bytes});
    ++chunk_count_;
    position += sizeof chunk + chunk.stored_bytes;
    readable_bytes_ = position;
  }
  return Nothing{};
}

Status LogFile::read_stored(std::uint64_t position, std::span<char>& stored, ChunkHeader& header) const {
  Result<std::size_t> got = read_at(position, bytes_of(header));
  if (!got) return got.error();
  if (*got < sizeof header) return Error{"expected a chunk, found the end of the file"};
  if (header.magic != kChunkMagic) return Error{"expected a chunk (\"DHCK\"), found other bytes"};
  if (!has_sane_sizes(header)) {
    return Error{"expected a chunk of 1 to " + std::to_string(kMaxChunkBytes) +
                 " bytes, stored in no more, found " + std::to_string(header.raw_bytes) + ", stored in " +
                 std::to_string(header.stored_bytes)};
  }
  std::vector<char>& buffer = scratch().stored;
  if (buffer.size() < header.stored_bytes) buffer.resize(header.stored_bytes);
  stored = std::span(buffer).first(header.stored_bytes);
  got = read_at(position + sizeof header, stored);
  if (!got) return got.error();
  if (*got < stored.size()) return Error{"expected a whole chunk, found the end of the file"};
  if (kCompareHashes && hash_of(header, stored) != header.hash) {
    return Error{"expected a chunk with the hash in its header, found changed bytes"};
  }
  return Nothing{};
}

Status LogFile::read_chunk(ThreadId thread, const Chunk& chunk, std::span<unsigned char> out) const {
  auto error = [&](const std::string& what) {
    return Error{name_ + ": byte " + std::to_string(chunk.position) + ": " + what};
  };
  ChunkHeader header{};
  std::span<char> stored;
  if (Status status = read_stored(chunk.position, stored, header); !status)
    return error(status.error().message);
  if (header.thread != thread.value() || header.offset != chunk.offset ||
      header.raw_bytes != chunk.raw_bytes || out.size() != chunk.raw_bytes) {
    return error("expected the chunk that was there when the recording was opened, found another");
  }
  if (header.stored_bytes == header.raw_bytes) {
    std::memcpy(out.data(), stored.data(), out.size());
    return Nothing{};
  }
  const std::size_t size =
      ZSTD_decompressDCtx(scratch().context, out.data(), out.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0 || size != out.size()) {
    return error("expected " + std::to_string(out.size()) + " bytes in zstd form, found " +
                 (ZSTD_isError(size) != 0 ? std::string(ZSTD_getErrorName(size)) : std::to_string(size)));
  }
  return Nothing{};
}

}  // namespace deadheat::recording
