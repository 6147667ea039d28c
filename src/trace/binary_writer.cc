#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "trace/binary.h"
#include "trace/file.h"
#include "trace/format.h"

namespace deadheat {
namespace {

using namespace format;

constexpr std::size_t kNamesChunkBytes = std::size_t{1} << 20;

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

template <class T>
std::uint64_t hash_before_last(const T& header) {
  return XXH3_64bits(&header, sizeof(T) - sizeof(std::uint64_t));
}

void append_number(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::uint64_t zigzag(std::uint64_t value) {
  return value << 1 ^ static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >> 63);
}

std::uint8_t width_for(std::uint64_t largest) {
  if (largest == 0) return 0;
  if (largest < 1u << 8) return 1;
  if (largest < 1u << 16) return 2;
  return largest >> 32 == 0 ? 4 : 8;
}

class Column {
 public:
  void clear() {
    numbers_.clear();
    all_bits_ = 0;
  }
  void push(std::uint64_t number) {
    numbers_.push_back(number);
    all_bits_ |= number;
  }
  std::uint8_t width() const { return width_for(all_bits_); }
  void append_to(std::string& out) const {
    const std::uint8_t width = this->width();
    for (const std::uint64_t number : numbers_) out.append(reinterpret_cast<const char*>(&number), width);
  }

 private:
  std::vector<std::uint64_t> numbers_;
  std::uint64_t all_bits_ = 0;
};

// A file, or a string.
class Output {
 public:
  virtual ~Output() = default;
  virtual Status write(std::string_view bytes) = 0;
  virtual Status close() = 0;
};

class FileOutput final : public Output {
 public:
  explicit FileOutput(OutputFile file) : file_(std::move(file)) {}
  Status write(std::string_view bytes) override { return file_.write(bytes); }
  Status close() override { return file_.close(); }

 private:
  OutputFile file_;
};

class StringOutput final : public Output {
 public:
  explicit StringOutput(std::string& bytes) : bytes_(bytes) {}
  Status write(std::string_view bytes) override {
    bytes_.append(bytes);
    return Nothing{};
  }
  Status close() override { return Nothing{}; }

 private:
  std::string& bytes_;
};

class BinarySink final : public TraceSink {
 public:
  BinarySink(std::unique_ptr<Output> file, int level)
      : file_(std::move(file)), level_(level), context_(ZSTD_createCCtx()) {
    DEADHEAT_CHECK(context_ != nullptr);
  }
  ~BinarySink() override { ZSTD_freeCCtx(context_); }

  Status start() {
    FileHeader header{};
    std::memcpy(header.magic, kMagic, sizeof(kMagic));
    header.version = kVersion;
    header.hash = hash_before_last(header);
    return put(bytes_of(header));
  }

  Status write(const Names& names, std::span<const Event> events) override {
    while (!events.empty()) {
      const std::size_t count = std::min<std::size_t>(events.size(), kMaxEventsPerChunk - pending_.size());
      pending_.insert(pending_.end(), events.begin(), events.begin() + static_cast<std::ptrdiff_t>(count));
      events = events.subspan(count);
      if (pending_.size() == kMaxEventsPerChunk) {
        if (Status status = flush(names); !status.ok()) return status;
      }
    }
    return Nothing{};
  }

  Status close(const Names& names) override {
    if (Status status = flush(names); !status.ok()) return status;
    raw_.clear();
    for (const IndexEntry& entry : index_) raw_.append(bytes_of(entry));
    Trailer trailer{};
    trailer.index_offset = offset_;
    if (Status status = put_chunk(ChunkType::kIndex, static_cast<std::uint32_t>(index_.size()));
        !status.ok()) {
      return status;
    }
    trailer.events = written_;
    std::reverse_copy(kMagic, kMagic + sizeof(kMagic), trailer.magic);
    trailer.hash = hash_before_last(trailer);
    if (Status status = put(bytes_of(trailer)); !status.ok()) return status;
    return file_->close();
  }

 private:
  Status put(std::string_view bytes) {
    offset_ += bytes.size();
    return file_->write(bytes);
  }

  // Writes raw_ as a chunk.
  Status put_chunk(ChunkType type, std::uint32_t count) {
    if (raw_.size() > kMaxChunkBytes) {
      return Error{"expected at most " + std::to_string(kMaxChunkBytes) + " bytes in a chunk, found " +
                   std::to_string(raw_.size())};
    }
    ChunkHeader header{};
    header.magic = kChunkMagic;
    header.type = type;
    header.raw_bytes = static_cast<std::uint32_t>(raw_.size());
    header.count = count;
    header.first = written_;
    std::string_view payload = raw_;
    header.compression = Compression::kNone;
    if (level_ > 0) {
      stored_.resize(ZSTD_compressBound(raw_.size()));
      const std::size_t packed =
          ZSTD_compressCCtx(context_, stored_.data(), stored_.size(), raw_.data(), raw_.size(), level_);
      if (!ZSTD_isError(packed) && packed < raw_.size()) {
        payload = std::string_view(stored_).substr(0, packed);
        header.compression = Compression::kZstd;
      }
    }
    header.stored_bytes = static_cast<std::uint32_t>(payload.size());
    header.payload_hash = XXH3_64bits(payload.data(), payload.size());
    header.hash = hash_before_last(header);
    if (type != ChunkType::kIndex) index_.push_back(IndexEntry{offset_, written_, count, type, {}});
    if (Status status = put(bytes_of(header)); !status.ok()) return status;
    return put(payload);
  }

  Status put_new_names(const Names& names) {
    // No reader would take more.
    if (names.bytes() > kMaxNameBytesInAll) {
      return Error{"expected at most " + std::to_string(kMaxNameBytesInAll) +
                   " bytes of names and of sets of locations in a trace, found " +
                   std::to_string(names.bytes())};
    }
    const NameTable* tables[kNameTables] = {&names.threads,  &names.locations, &names.locks,
                                            &names.messages, &names.functions, &names.sites};
    raw_.clear();
    std::uint32_t count = 0;
    auto full = [&]() -> Status {
      if (raw_.size() < kNamesChunkBytes) return Nothing{};
      Status status = put_chunk(ChunkType::kNames, count);
      raw_.clear();
      count = 0;
      return status;
    };
    for (int t = 0; t < kNameTables; ++t) {
      for (std::uint32_t& id = names_written_[t]; id < tables[t]->size(); ++id) {
        const std::string_view name = tables[t]->name(id);
        raw_ += static_cast<char>(t);
        append_number(raw_, name.size());
        raw_.append(name);
        ++count;
        if (Status status = full(); !status.ok()) return status;
      }
    }
    for (; sets_written_ < names.reachable.size(); ++sets_written_) {
      const std::span<const ObjectId> members = names.reachable.at(sets_written_);
      raw_ += static_cast<char>(Table::kSets);
      append_number(raw_, members.size());
      std::uint64_t last = 0;
      for (const ObjectId member : members) {
        append_number(raw_, member.value() - last);
        last = member.value();
      }
      ++count;
      if (Status status = full(); !status.ok()) return status;
    }
    return count == 0 ? Status(Nothing{}) : put_chunk(ChunkType::kNames, count);
  }

  Status flush(const Names& names) {
    if (Status status = put_new_names(names); !status.ok()) return status;
    if (pending_.empty()) return Nothing{};
    EventColumns columns{};
    raw_.clear();
    threads_.clear();
    objects_.clear();
    sites_.clear();
    values_.clear();
    std::string kinds;
    kinds.reserve(pending_.size());
    for (const Event& event : pending_) {
      kinds += static_cast<char>(static_cast<std::uint8_t>(event.kind) | (event.has_value ? kHasValue : 0));
      threads_.push(event.thread.value());
      objects_.push(event.object.value());
      sites_.push(event.site.value());
      if (event.has_value || event.kind == EventKind::kEnter) {
        values_.push(zigzag(event.value));
        ++columns.values;
      }
    }
    columns.thread_width = threads_.width();
    columns.object_width = objects_.width();
    columns.site_width = sites_.width();
    columns.value_width = values_.width();
    raw_.append(bytes_of(columns));
    raw_.append(kinds);
    for (const Column* column : {&threads_, &objects_, &sites_, &values_}) column->append_to(raw_);
    const std::uint32_t count = static_cast<std::uint32_t>(pending_.size());
    if (Status status = put_chunk(ChunkType::kEvents, count); !status.ok()) return status;
    written_ += count;
    pending_.clear();
    return Nothing{};
  }

  std::unique_ptr<Output> file_;
  int level_;
  ZSTD_CCtx* context_;
  std::uint64_t offset_ = 0;
  std::uint64_t written_ = 0;  // events
  std::uint32_t names_written_[kNameTables] = {};
  std::uint32_t sets_written_ = 0;
  std::vector<Event> pending_;
  std::vector<IndexEntry> index_;
  std::string raw_;
  std::string stored_;
  Column threads_, objects_, sites_, values_;
};

}  // namespace

Result<std::unique_ptr<TraceSink>> create_binary(const std::string& path, const WriteOptions& options) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  auto sink =
      std::make_unique<BinarySink>(std::make_unique<FileOutput>(std::move(*file)), options.compression_level);
  if (Status status = sink->start(); !status.ok()) return status.error();
  return std::unique_ptr<TraceSink>(std::move(sink));
}

Status write_binary(const Trace& trace, std::string& bytes) {
  BinarySink sink(std::make_unique<StringOutput>(bytes), WriteOptions{}.compression_level);
  if (Status status = sink.start(); !status.ok()) return status;
  if (Status status = sink.write(trace.names, trace.events); !status.ok()) return status;
  return sink.close(trace.names);
}

}  // namespace deadheat
