// Reading .dht. Every number that comes from the file is checked before it is used: sizes against fixed
// limits, ids against the names read so far. Detectors can then index flat arrays by the ids of an event
// without checking them again.
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "base/check.h"
#include "trace/binary.h"
#include "trace/file.h"
#include "trace/format.h"
#include "trace/std_parser.h"

static_assert(std::endian::native == std::endian::little, "columns are read as they are stored");

namespace deadheat {
namespace {

using namespace format;

// A fuzzer cannot guess hashes; it is to look at what comes after them.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr bool kCompareHashes = false;
#else
constexpr bool kCompareHashes = true;
#endif

template <class T>
bool hash_matches(const T& header) {
  return !kCompareHashes || XXH3_64bits(&header, sizeof(T) - sizeof(std::uint64_t)) == header.hash;
}

// A file, bytes in memory, or a stream that is read once, from its start to its end.
class Input {
 public:
  explicit Input(InputFile file) : file_(std::make_unique<InputFile>(std::move(file))) {}
  explicit Input(std::string bytes) : bytes_(std::move(bytes)) {}

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> out) {
    if (file_ != nullptr && file_->is_stream()) {
      DEADHEAT_CHECK(offset == position_);
      Result<std::size_t> got = file_->read(out);
      if (got.ok()) position_ += *got;
      return got;
    }
    if (file_ != nullptr) return file_->read_at(offset, out);
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(out.size(), bytes_.size() - offset);
    std::copy_n(bytes_.data() + offset, count, out.data());
    return count;
  }
  std::uint64_t size() const { return file_ != nullptr ? file_->size() : bytes_.size(); }

 private:
  std::unique_ptr<InputFile> file_;
  std::string bytes_;
  std::uint64_t position_ = 0;  // in a stream
};

class Cursor {
 public:
  explicit Cursor(std::span<const char> bytes) : bytes_(bytes) {}
  bool byte(std::uint8_t& out) {
    if (bytes_.empty()) return false;
    out = static_cast<std::uint8_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    return true;
  }
  bool number(std::uint64_t& out) {
    out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      std::uint8_t next = 0;
      if (!byte(next)) return false;
      out |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if ((next & 0x80) == 0) return true;
    }
    return false;
  }
  bool bytes(std::uint64_t size, std::string_view& out) {
    if (size > bytes_.size()) return false;
    out = std::string_view(bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return true;
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const char> bytes_;
};

template <class Number>
std::uint64_t load(const char* from) {
  Number number;
  std::memcpy(&number, from, sizeof(Number));
  return number;
}

std::uint64_t load_number(const char* column, std::uint8_t width, std::size_t i) {
  switch (width) {
    case 1:
      return load<std::uint8_t>(column + i);
    case 2:
      return load<std::uint16_t>(column + i * 2);
    case 4:
      return load<std::uint32_t>(column + i * 4);
    case 8:
      return load<std::uint64_t>(column + i * 8);
    default:
      return 0;
  }
}

// Calls store(i, number) for a range of a column; the width is decided once, outside the loop.
template <class Store>
void for_column(const char* column, std::uint8_t width, std::size_t from, std::size_t count,
                const Store& store) {
  switch (width) {
    case 1:
      for (std::size_t i = 0; i < count; ++i) store(i, load<std::uint8_t>(column + from + i));
      break;
    case 2:
      for (std::size_t i = 0; i < count; ++i) store(i, load<std::uint16_t>(column + (from + i) * 2));
      break;
    case 4:
      for (std::size_t i = 0; i < count; ++i) store(i, load<std::uint32_t>(column + (from + i) * 4));
      break;
    case 8:
      for (std::size_t i = 0; i < count; ++i) store(i, load<std::uint64_t>(column + (from + i) * 8));
      break;
    default:
      for (std::size_t i = 0; i < count; ++i) store(i, 0);
  }
}

bool is_width(std::uint8_t width) { return width <= 2 || width == 4 || width == 8; }

class Source final : public BinarySource {
 public:
  Source(Input input, std::string name)
      : input_(std::move(input)), name_(std::move(name)), context_(ZSTD_createDCtx()) {
    DEADHEAT_CHECK(context_ != nullptr && chunks_ != nullptr);
    XXH3_64bits_reset(chunks_.get());
  }
  ~Source() override { ZSTD_freeDCtx(context_); }

  const Names& names() const override { return names_; }
  std::string note() const override { return note_; }
  std::optional<std::uint64_t> total_events() const override {
    return trailer_.hash == 0 ? std::nullopt : std::optional(trailer_.events);
  }
  double progress() const override {
    return input_.size() == 0 ? -1 : static_cast<double>(offset_) / static_cast<double>(input_.size());
  }

  Status start() {
    FileHeader header;
    Result<std::size_t> got = input_.read_at(0, as_bytes(header));
    if (!got.ok()) return got.error();
    if (*got < sizeof(header) || std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
      return Error{name_ + ": expected a binary trace, found something else"};
    }
    if (!hash_matches(header))
      return Error{name_ + ": byte 24: expected the hash of the header, found another"};
    if (header.version != kVersion) {
      return Error{name_ + ": expected format version " + std::to_string(kVersion) + ", found " +
                   std::to_string(header.version) +
                   (header.version > kVersion ? ": written by a newer deadheat" : ", which never was one")};
    }
    if (header.flags != 0 || header.reserved != 0) {
      return Error{name_ + ": byte 12: expected flags and a reserved number that are 0, found " +
                   std::to_string(header.flags) + " and " + std::to_string(header.reserved)};
    }
    offset_ = sizeof(header);
    Trailer trailer{};
    const std::uint64_t size = input_.size();
    if (size >= sizeof(header) + sizeof(trailer)) {
      got = input_.read_at(size - sizeof(trailer), as_bytes(trailer));
      if (!got.ok()) return got.error();
      unsigned char magic[sizeof(kMagic)];
      std::reverse_copy(kMagic, kMagic + sizeof(kMagic), magic);
      if (*got == sizeof(trailer) && std::memcmp(trailer.magic, magic, sizeof(magic)) == 0 &&
          hash_matches(trailer)) {
        trailer_ = trailer;
      }
    }
    return Nothing{};
  }

  Result<std::size_t> read(std::span<Event> out) override {
    std::size_t filled = 0;
    while (filled < out.size()) {
      if (position_ == count_) {
        Result<bool> more = next_events_chunk();
        if (!more.ok()) return more.error();
        if (!*more) break;
      }
      const std::size_t some = std::min<std::size_t>(out.size() - filled, count_ - position_);
      if (Status status = decode(out.subspan(filled, some)); !status.ok()) return status.error();
      filled += some;
    }
    return filled;
  }

  Status seek(EventIndex event) override {
    const std::uint64_t wanted = event.value();
    std::uint64_t offset = sizeof(FileHeader);
    std::uint64_t number = 0;
    note_.clear();
    ended_ = false;
    in_order_ = false;
    while (true) {
      offset_ = offset;
      ChunkHeader header;
      Result<bool> there = read_header(header);
      if (!there.ok()) return there.error();
      if (!*there || header.type == ChunkType::kIndex) break;
      if (header.type == ChunkType::kNames && offset >= names_read_to_) {
        if (Status status = read_payload(header); !status.ok()) return status;
        if (ended_) break;
        if (Status status = read_names(header); !status.ok()) return status;
      }
      if (header.type == ChunkType::kEvents) {
        if (header.first != number) return out_of_order(header.first, number);
        if (wanted < header.first + header.count) {
          number_ = header.first;
          count_ = position_ = 0;
          Result<bool> more = next_events_chunk();
          if (!more.ok()) return more.error();
          if (!*more) break;
          // Values have a column of their own: skip those of the events before.
          while (position_ < wanted - header.first) skip_one();
          return Nothing{};
        }
        number += header.count;
      }
      offset += sizeof(header) + header.stored_bytes;
    }
    if (wanted == number) {
      count_ = position_ = 0;
      number_ = number;
      return Nothing{};
    }
    return Error{name_ + ": expected at least " + std::to_string(wanted) + " events, found " +
                 std::to_string(number)};
  }

 private:
  template <class T>
  static std::span<char> as_bytes(T& value) {
    return {reinterpret_cast<char*>(&value), sizeof(T)};
  }

  Error at(std::uint64_t offset, const std::string& message) const {
    return Error{name_ + ": byte " + std::to_string(offset) + ": " + message + "; readable up to event " +
                 std::to_string(number_)};
  }
  Error out_of_order(std::uint64_t found, std::uint64_t expected) const {
    return at(offset_, "expected a chunk that starts with event " + std::to_string(expected) + ", found " +
                           std::to_string(found));
  }

  Result<bool> cut_short(const std::string& what) {
    note_ = name_ + ": cut short at byte " + std::to_string(offset_) + " (" + what + "): read up to event " +
            std::to_string(number_);
    ended_ = true;
    return false;
  }

  // The header of the chunk at offset_; false if the file ends here. Does not move offset_.
  Result<bool> read_header(ChunkHeader& header) {
    Result<std::size_t> got = input_.read_at(offset_, as_bytes(header));
    if (!got.ok()) return got.error();
    if (*got < sizeof(header)) return cut_short(*got == 0 ? "no index at the end" : "half a chunk header");
    if (!hash_matches(header))
      return at(offset_, "expected a chunk header with its hash, found something else");
    const bool sane = header.magic == kChunkMagic && header.stored_bytes <= kMaxChunkBytes &&
                      header.raw_bytes <= kMaxChunkBytes && header.reserved == 0 && header.reserved2 == 0 &&
                      (header.compression == Compression::kZstd ||
                       (header.compression == Compression::kNone && header.stored_bytes == header.raw_bytes));
    if (!sane) return at(offset_, "expected a chunk header of format version 1, found other numbers");
    return true;
  }

  // Reads the payload of the chunk at offset_ into raw_.
  Status read_payload(const ChunkHeader& header) {
    stored_.resize(header.stored_bytes);
    Result<std::size_t> got = input_.read_at(offset_ + sizeof(header), stored_);
    if (!got.ok()) return got.error();
    if (*got < stored_.size()) {
      (void)cut_short("half a chunk");
      return Nothing{};
    }
    if (kCompareHashes && XXH3_64bits(stored_.data(), stored_.size()) != header.payload_hash) {
      return at(offset_, "expected a chunk with the hash in its header, found damaged bytes");
    }
    if (header.compression == Compression::kNone) {
      raw_.swap(stored_);
      return Nothing{};
    }
    raw_.resize(header.raw_bytes);
    const std::size_t size =
        ZSTD_decompressDCtx(context_, raw_.data(), raw_.size(), stored_.data(), stored_.size());
    if (ZSTD_isError(size) || size != raw_.size()) {
      return at(offset_,
                "expected " + std::to_string(raw_.size()) + " bytes of zstd data, found something else");
    }
    return Nothing{};
  }

  Result<bool> next_events_chunk() {
    while (!ended_) {
      ChunkHeader header;
      Result<bool> there = read_header(header);
      if (!there.ok() || !*there) return there;
      const bool known_names = header.type == ChunkType::kNames && offset_ < names_read_to_;
      if (!known_names && header.type != ChunkType::kIndex) {
        if (Status status = read_payload(header); !status.ok()) return status.error();
        if (ended_) return false;
      }
      switch (header.type) {
        case ChunkType::kNames:
          if (!known_names) {
            if (Status status = read_names(header); !status.ok()) return status.error();
          }
          break;
        case ChunkType::kEvents:
          if (Status status = start_columns(header); !status.ok()) return status.error();
          break;
        case ChunkType::kIndex:
          ended_ = true;
          if (Status status = read_end(header); !status.ok()) return status.error();
          return false;
        default:
          return at(offset_, "expected a chunk of type 1, 2 or 3, found " +
                                 std::to_string(static_cast<int>(header.type)));
      }
      const IndexEntry entry{offset_, header.first, header.count, header.type, {}};
      XXH3_64bits_update(chunks_.get(), &entry, sizeof(entry));
      offset_ += sizeof(header) + header.stored_bytes;
      if (position_ < count_) return true;
    }
    return false;
  }

  // Index and trailer, the first being at offset_. Every event has been read and was intact, so damage here
  // is something to know of, but takes nothing away; what follows the end is an error: nobody would look at
  // it.
  Status read_end(const ChunkHeader& header) {
    auto damaged = [&](std::uint64_t offset, const std::string& what) {
      note_ = name_ + ": byte " + std::to_string(offset) + ": damaged " + what + "; all " +
              std::to_string(number_) + " events before it are intact";
    };
    if (Status status = read_payload(header); !status.ok()) {
      damaged(offset_, "index");
    } else if (!note_.empty()) {
      return Nothing{};  // cut short
    } else if (header.count * sizeof(IndexEntry) != raw_.size() ||
               (kCompareHashes && in_order_ &&
                XXH3_64bits(raw_.data(), raw_.size()) != XXH3_64bits_digest(chunks_.get()))) {
      damaged(offset_, "index: it lists other chunks");
    }
    const std::uint64_t end = offset_ + sizeof(header) + header.stored_bytes;
    char last[sizeof(Trailer) + 1];
    Result<std::size_t> got = input_.read_at(end, last);
    if (!got.ok()) return got.error();
    if (*got < sizeof(Trailer)) {
      offset_ = end;
      (void)cut_short(*got == 0 ? "no trailer at the end" : "half a trailer");
      return Nothing{};
    }
    if (*got > sizeof(Trailer)) {
      return at(end + sizeof(Trailer), "expected the end of the file after its trailer, found more");
    }
    Trailer trailer;
    std::memcpy(&trailer, last, sizeof(trailer));
    unsigned char magic[sizeof(kMagic)];
    std::reverse_copy(kMagic, kMagic + sizeof(kMagic), magic);
    if (std::memcmp(trailer.magic, magic, sizeof(magic)) != 0 || !hash_matches(trailer)) {
      damaged(end, "trailer");
      return Nothing{};
    }
    if (trailer.events != number_ || trailer.index_offset != offset_) {
      return at(end, "expected a trailer for " + std::to_string(number_) + " events and an index at byte " +
                         std::to_string(offset_) + ", found " + std::to_string(trailer.events) + " and " +
                         std::to_string(trailer.index_offset));
    }
    return Nothing{};
  }

  Status read_names(const ChunkHeader& header) {
    try {
      return read_names_into_memory(header);
    } catch (const std::bad_alloc&) {
      return at(offset_, "expected memory for the names of the trace, found " +
                             std::to_string(names_.bytes()) + " bytes of them and no more memory");
    }
  }

  Status read_names_into_memory(const ChunkHeader& header) {
    NameTable* tables[kNameTables] = {&names_.threads,  &names_.locations, &names_.locks,
                                      &names_.messages, &names_.functions, &names_.sites};
    Cursor cursor(raw_);
    std::vector<ObjectId> members;
    for (std::uint32_t i = 0; i < header.count; ++i) {
      std::uint8_t table = 0;
      std::uint64_t size = 0;
      if (!cursor.byte(table) || table > kNameTables || !cursor.number(size)) return bad_name(i);
      if (table < kNameTables) {
        std::string_view name;
        if (size == 0 || size > kMaxNameBytes || !cursor.bytes(size, name)) return bad_name(i);
        const bool good = table == static_cast<int>(Table::kSites)     ? is_place(name)
                          : table == static_cast<int>(Table::kThreads) ? is_thread_name(name)
                                                                       : is_name(name);
        if (!good) return bad_name(i);
        if (names_.bytes() + size > kMaxNameBytesInAll || (table == 0 && tables[0]->size() == kMaxThreads)) {
          return too_many_names();
        }
        // Two things of one name would be one after a conversion to text.
        if (const std::uint32_t id = tables[table]->size(); tables[table]->intern(name) != id) {
          return at(offset_, "expected each name once, found '" + std::string(name.substr(0, 40)) +
                                 "' again in record " + std::to_string(i));
        }
        continue;
      }
      if (size > cursor.left()) return bad_name(i);
      members.clear();
      std::uint64_t last = 0;
      for (std::uint64_t k = 0; k < size; ++k) {
        std::uint64_t step = 0;
        if (!cursor.number(step) || (k > 0 && step == 0)) return bad_name(i);
        last += step;
        if (step > names_.locations.size() || last >= names_.locations.size()) return bad_name(i);
        members.push_back(ObjectId(last));
      }
      if (names_.bytes() + size * sizeof(ObjectId) > kMaxNameBytesInAll) return too_many_names();
      names_.reachable.append(members);
    }
    if (cursor.left() != 0) return bad_name(header.count);
    names_read_to_ = offset_ + 1;
    return Nothing{};
  }
  Error too_many_names() const {
    return at(offset_, "expected at most " + std::to_string(kMaxNameBytesInAll) +
                           " bytes of names and of sets of locations, and " + std::to_string(kMaxThreads) +
                           " threads, found more");
  }
  Error bad_name(std::uint32_t record) const {
    return at(offset_,
              "expected a name or a set in record " + std::to_string(record) + ", found something else");
  }

  Status start_columns(const ChunkHeader& header) {
    if (header.first != number_) return out_of_order(header.first, number_);
    const auto bad = [&] { return at(offset_, "expected columns of events, found other sizes"); };
    if (header.count == 0 || header.count > kMaxEventsPerChunk || raw_.size() < sizeof(EventColumns))
      return bad();
    std::memcpy(&columns_, raw_.data(), sizeof(columns_));
    for (const std::uint8_t width :
         {columns_.thread_width, columns_.object_width, columns_.site_width, columns_.value_width}) {
      if (!is_width(width)) return bad();
    }
    const std::uint64_t count = header.count;
    const std::uint64_t size =
        sizeof(EventColumns) +
        count * (1 + std::uint64_t{columns_.thread_width} + columns_.object_width + columns_.site_width) +
        std::uint64_t{columns_.values} * columns_.value_width;
    if (size != raw_.size()) return bad();
    kinds_ = raw_.data() + sizeof(EventColumns);
    threads_ = kinds_ + count;
    objects_ = threads_ + count * columns_.thread_width;
    sites_ = objects_ + count * columns_.object_width;
    values_ = sites_ + count * columns_.site_width;
    std::uint64_t values = 0;
    for (std::size_t i = 0; i < count; ++i) values += has_value(kinds_[i]);
    if (values != columns_.values) return bad();
    count_ = header.count;
    position_ = 0;
    value_position_ = 0;
    for (int kind = 0; kind < 16; ++kind) {
      limits_[kind] = 0;
      if (kind >= kEventKinds) continue;
      const NameTable* table = names_.table(static_cast<EventKind>(kind));
      limits_[kind] = table == nullptr ? 1 : table->size();
    }
    return Nothing{};
  }

  static bool has_value(char kind) {
    return (static_cast<std::uint8_t>(kind) & kHasValue) != 0 ||
           static_cast<std::uint8_t>(kind) == static_cast<std::uint8_t>(EventKind::kEnter);
  }
  void skip_one() {
    value_position_ += has_value(kinds_[position_]);
    ++position_;
    ++number_;
  }

  // The next out.size() events of the chunk.
  Status decode(std::span<Event> out) {
    const std::size_t from = position_;
    const std::size_t count = out.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t kind = static_cast<std::uint8_t>(kinds_[from + i]);
      Event& event = out[i];
      event.kind = static_cast<EventKind>(kind & 0x7f);
      event.has_value = (kind & kHasValue) != 0;
      event.reserved = 0;
      event.value = 0;
      event.line = 0;
    }
    for_column(threads_, columns_.thread_width, from, count, [&](std::size_t i, std::uint64_t number) {
      out[i].thread = ThreadId(static_cast<std::uint32_t>(number));
    });
    for_column(objects_, columns_.object_width, from, count,
               [&](std::size_t i, std::uint64_t number) { out[i].object = ObjectId(number); });
    for_column(sites_, columns_.site_width, from, count, [&](std::size_t i, std::uint64_t number) {
      out[i].site = SiteId(static_cast<std::uint32_t>(number));
    });

    const std::uint32_t threads = names_.threads.size();
    const std::uint32_t sites = names_.sites.size();
    bool good = columns_.thread_width <= 4 && columns_.site_width <= 4;
    for (std::size_t i = 0; i < count; ++i) {
      const Event& event = out[i];
      const unsigned kind = static_cast<unsigned>(event.kind);
      good &= kind < kEventKinds;
      good &= event.object.value() < limits_[kind & 15];
      good &= event.thread.value() < threads;
      good &= event.site.value() < sites;
    }
    if (columns_.values != 0) {
      for (std::size_t i = 0; i < count; ++i) {
        if (!has_value(kinds_[from + i])) continue;
        const std::uint64_t folded = load_number(values_, columns_.value_width, value_position_++);
        out[i].value = folded >> 1 ^ (~(folded & 1) + 1);
        if (out[i].kind == EventKind::kEnter) {
          good &= !out[i].has_value && out[i].value < names_.reachable.size();
        } else {
          good &= is_access(out[i].kind);
        }
      }
    }
    if (!good) {
      return at(offset_,
                "expected events with known kinds and names in the chunk before this byte, found others");
    }
    position_ += count;
    number_ += count;
    return Nothing{};
  }

  Input input_;
  std::string name_;
  ZSTD_DCtx* context_;
  Names names_;
  std::string note_;
  Trailer trailer_{};
  std::uint64_t offset_ = 0;         // of the next chunk
  std::uint64_t names_read_to_ = 0;  // chunks of names before this offset are in names_
  std::uint64_t number_ = 0;         // of the next event
  bool ended_ = false;
  bool in_order_ = true;  // read from the start: chunks_ has seen every chunk
  struct FreeState {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, FreeState> chunks_{
      XXH3_createState()};  // the hash of what the index must say

  std::vector<char> stored_;
  std::vector<char> raw_;
  EventColumns columns_{};
  std::uint32_t count_ = 0;  // events in the current chunk
  std::size_t position_ = 0;
  std::size_t value_position_ = 0;
  const char* kinds_ = nullptr;
  const char* threads_ = nullptr;
  const char* objects_ = nullptr;
  const char* sites_ = nullptr;
  const char* values_ = nullptr;
  std::uint64_t limits_[16] = {};
};

Result<std::unique_ptr<BinarySource>> started(Input input, std::string name) {
  auto source = std::make_unique<Source>(std::move(input), std::move(name));
  if (Status status = source->start(); !status.ok()) return status.error();
  return std::unique_ptr<BinarySource>(std::move(source));
}

}  // namespace

Result<bool> starts_binary_trace(InputFile& stream) {
  Result<std::string_view> start = stream.peek(sizeof(kMagic));
  if (!start.ok()) return start.error();
  return starts_binary_trace(*start);
}

bool starts_binary_trace(std::string_view bytes) {
  return !bytes.empty() &&
         std::memcmp(bytes.data(), kMagic, std::min<std::size_t>(bytes.size(), sizeof(kMagic))) == 0;
}

bool is_binary_trace(const std::string& path) {
  Result<InputFile> file = InputFile::open(path);
  if (!file.ok() || file->size() == 0) return false;
  char start[sizeof(kMagic)];
  Result<std::size_t> got = file->read_at(0, start);
  return got.ok() && starts_binary_trace(std::string_view(start, *got));
}

Result<std::unique_ptr<BinarySource>> open_binary(const std::string& path, const std::string& shown) {
  Result<InputFile> file = InputFile::open(path);
  if (!file.ok()) return file.error();
  return started(Input(std::move(*file)), shown.empty() ? path : shown);
}

Result<std::unique_ptr<BinarySource>> open_binary(InputFile file, const std::string& shown) {
  return started(Input(std::move(file)), shown);
}

Result<std::unique_ptr<BinarySource>> binary_source_of(std::string bytes, std::string name) {
  return started(Input(std::move(bytes)), std::move(name));
}

}  // namespace deadheat
