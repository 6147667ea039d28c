#include "recording/log_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "recording/format.h"

namespace deadheat::recording {

struct LogWriter::Buffers {
  explicit Buffers(int level)
      : context(ZSTD_createCCtx()), chunk(sizeof(ChunkHeader) + ZSTD_compressBound(kMaxChunkBytes)) {
    DEADHEAT_CHECK(context != nullptr);
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  }
  ~Buffers() { ZSTD_freeCCtx(context); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  ZSTD_CCtx* context;
  std::vector<char> chunk;  // header and stored bytes, written at once
};

LogWriter::LogWriter() = default;
LogWriter::~LogWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::unique_ptr<LogWriter>> LogWriter::create(const std::string& path, int level) {
  std::unique_ptr<LogWriter> writer(new LogWriter);
  writer->path_ = path;
  writer->descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (writer->descriptor_ < 0) return Error{path + ": cannot be created: " + std::strerror(errno)};
  // Readers can tell that there is more to come. A file system without locks is no reason to stop.
  ::flock(writer->descriptor_, LOCK_EX | LOCK_NB);
  writer->buffers_ = std::make_unique<Buffers>(level);
  LogHeader header{};
  std::memcpy(header.magic, kLogMagic, sizeof kLogMagic);
  header.version = kVersion;
  if (Status status = writer->write({reinterpret_cast<const char*>(&header), sizeof header}); !status) {
    return status.error();
  }
  return writer;
}

Status LogWriter::write(std::span<const char> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(bytes_ + done));
    if (count > 0) {
      done += static_cast<std::size_t>(count);
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    const int error = count < 0 ? errno : ENOSPC;
    // Half a chunk would be no harm; none is better. If this fails too, it stays.
    [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, static_cast<off_t>(bytes_));
    return Error{path_ + ": cannot be written: " + std::strerror(error)};
  }
  bytes_ += bytes.size();
  return Nothing{};
}

void LogWriter::set_level(int level) {
  ZSTD_CCtx_setParameter(buffers_->context, ZSTD_c_compressionLevel, level);
}

Status LogWriter::append(ThreadId thread, std::uint64_t offset, std::span<const char> raw) {
  DEADHEAT_CHECK(!raw.empty() && raw.size() <= kMaxChunkBytes);
  std::vector<char>& chunk = buffers_->chunk;
  char* const stored = chunk.data() + sizeof(ChunkHeader);
  std::size_t size =
      ZSTD_compress2(buffers_->context, stored, chunk.size() - sizeof(ChunkHeader), raw.data(), raw.size());
  if (ZSTD_isError(size) != 0 || size >= raw.size()) {
    std::memcpy(stored, raw.data(), raw.size());
    size = raw.size();
  }
  ChunkHeader header{};
  header.magic = kChunkMagic;
  header.thread = thread.value();
  header.offset = offset;
  header.raw_bytes = static_cast<std::uint32_t>(raw.size());
  header.stored_bytes = static_cast<std::uint32_t>(size);
  // The hash leaves itself out: of the fields before it, then of what is behind it, as if they were
  // neighbours.
  std::memcpy(chunk.data(), &header, sizeof header);
  XXH3_state_t* state = XXH3_createState();
  DEADHEAT_CHECK(state != nullptr);
  XXH3_64bits_reset(state);
  XXH3_64bits_update(state, chunk.data(), offsetof(ChunkHeader, hash));
  XXH3_64bits_update(state, stored, size);
  header.hash = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  std::memcpy(chunk.data(), &header, sizeof header);
  if (Status status = write({chunk.data(), sizeof header + size}); !status) return status;
  raw_bytes_ += raw.size();
  return Nothing{};
}

}  // namespace deadheat::recording
