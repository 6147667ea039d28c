#include "runtime/monitor/unwind.h"

#include <elf.h>
#include <link.h>

namespace deadheat::monitor {

namespace {

// --- The description of the function around an address: .eh_frame_hdr

struct Header {  // in the only form linkers write
  uint8_t version;
  uint8_t frame_encoding;
  uint8_t count_encoding;
  uint8_t table_encoding;
};
constexpr uint8_t kPcRelative4 = 0x1b;    // DW_EH_PE_pcrel | DW_EH_PE_sdata4
constexpr uint8_t kUnsigned4 = 0x03;      // DW_EH_PE_udata4
constexpr uint8_t kDataRelative4 = 0x3b;  // DW_EH_PE_datarel | DW_EH_PE_sdata4

struct Entry {
  int32_t begin;
  int32_t description;
};

struct Search {
  uintptr_t address;
  uintptr_t header;
};

int find_header(dl_phdr_info* info, size_t, void* argument) {
  auto* const search = static_cast<Search*>(argument);
  uintptr_t header = 0;
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    uintptr_t const begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && search->address >= begin && search->address - begin < segment.p_memsz)
      inside = true;
    if (segment.p_type == PT_GNU_EH_FRAME) header = begin;
  }
  if (!inside) return 0;
  search->header = header;
  return 1;
}

struct Described {
  uintptr_t begin;             // of the function, or 0
  const uint8_t* description;  // an FDE
};

Described description_around(uintptr_t address) {
  Search search{address, 0};
  dl_iterate_phdr(find_header, &search);
  if (search.header == 0) return {0, nullptr};
  auto const* const header = reinterpret_cast<const Header*>(search.header);
  if (header->version != 1 || header->frame_encoding != kPcRelative4 ||
      header->count_encoding != kUnsigned4 || header->table_encoding != kDataRelative4)
    return {0, nullptr};
  uint32_t count = 0;
  __builtin_memcpy(&count, reinterpret_cast<const char*>(search.header) + 8, sizeof count);
  auto const* const entries = reinterpret_cast<const Entry*>(search.header + 12);
  auto const wanted = static_cast<int64_t>(address - search.header);
  uint32_t low = 0;
  uint32_t high = count;
  while (low < high) {
    uint32_t const middle = low + (high - low) / 2;
    if (entries[middle].begin <= wanted)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return {0, nullptr};
  const Entry& entry = entries[low - 1];
  return {search.header + static_cast<uintptr_t>(static_cast<int64_t>(entry.begin)),
          reinterpret_cast<const uint8_t*>(search.header +
                                           static_cast<uintptr_t>(static_cast<int64_t>(entry.description)))};
}

// --- What a description says of one address: .eh_frame

enum class Kind : uint8_t { kFromStackPointer, kFromFramePointer, kGuess, kEnd };

struct Rule {
  Kind kind;
  uint32_t end;      // words from the register to the frame's end
  uint32_t pointer;  // words from there back to the caller's rbp; 0: it is still in rbp
};
constexpr Rule kGuessed{Kind::kGuess, 2, 2};
constexpr uint32_t kMostWords = (1u << 13) - 1;

// Numbers of registers in the tables.
constexpr uint64_t kRbp = 6;
constexpr uint64_t kRsp = 7;
constexpr uint64_t kReturnAddress = 16;

class Reader {
 public:
  Reader(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}
  bool is_done() const { return at_ >= end_; }
  bool ok() const { return at_ <= end_; }
  const uint8_t* at() const { return at_; }
  void skip(uint64_t bytes) {
    at_ = !ok() || bytes > static_cast<uint64_t>(end_ - at_) ? end_ + 1 : at_ + bytes;
  }
  template <class T>
  T take() {
    T value{};
    if (!ok() || static_cast<size_t>(end_ - at_) < sizeof value) {
      at_ = end_ + 1;
      return value;
    }
    __builtin_memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      auto const byte = take<uint8_t>();
      value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
  int64_t sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63;) {
      auto const byte = take<uint8_t>();
      value |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) == 0) {
        if ((byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
        break;
      }
    }
    return static_cast<int64_t>(value);
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

// A row of the table that the instructions build: how to find the frame's end, rbp, and the return address.
struct Row {
  uint64_t base = kRsp;
  int64_t offset = 8;
  int64_t rbp = 0;  // from the frame's end; 0: untouched
  int64_t return_address = -8;
  bool ends_here = false;     // there is no caller
  bool is_beyond_us = false;  // an expression, or a register elsewhere
};

struct Common {  // of a CIE
  uint64_t code_factor;
  int64_t data_factor;
};

class Program {
 public:
  Program(Common common, uintptr_t begin, uintptr_t wanted)
      : common_(common), location_(begin), wanted_(wanted) {}

  void set_offset(uint64_t reg, int64_t offset) {
    if (reg == kRbp) row_.rbp = offset;
    if (reg == kReturnAddress) row_.return_address = offset;
  }
  void set_elsewhere(uint64_t reg) {
    if (reg == kRbp || reg == kReturnAddress) row_.is_beyond_us = true;
  }
  void restore(uint64_t reg) {
    if (reg == kRbp) row_.rbp = initial_.rbp;
    if (reg == kReturnAddress) row_.return_address = initial_.return_address;
  }

  // False where the tables say something that is never said for x86-64.
  bool run(Reader& code, bool is_initial) {
    while (!code.is_done() && location_ <= wanted_) {
      if (!step(code)) return false;
    }
    if (is_initial) initial_ = row_;
    return code.ok();
  }
  // The row before the location passed the one that is wanted.
  const Row& row() const { return location_ <= wanted_ ? row_ : before_; }

 private:
  void advance(uint64_t delta) {
    before_ = row_;
    location_ += delta * common_.code_factor;
  }
  int64_t factored(uint64_t value) const { return static_cast<int64_t>(value) * common_.data_factor; }

  bool step(Reader& code) {
    auto const byte = code.take<uint8_t>();
    uint64_t const low = byte & 0x3f;
    switch (byte & 0xc0) {
      case 0x40:
        advance(low);
        return true;
      case 0x80:
        set_offset(low, factored(code.uleb()));
        return true;
      case 0xc0:
        restore(low);
        return true;
      default:
        return extended(byte, code);
    }
  }

  bool extended(uint8_t byte, Reader& code) {
    switch (byte) {
      case 0x00:  // nop
        return true;
      case 0x02:
        advance(code.take<uint8_t>());
        return true;
      case 0x03:
        advance(code.take<uint16_t>());
        return true;
      case 0x04:
        advance(code.take<uint32_t>());
        return true;
      case 0x05: {  // offset_extended
        uint64_t const reg = code.uleb();
        set_offset(reg, factored(code.uleb()));
        return true;
      }
      case 0x06:  // restore_extended
        restore(code.uleb());
        return true;
      case 0x07:  // undefined
        if (code.uleb() == kReturnAddress) row_.ends_here = true;
        return true;
      case 0x08:  // same_value
        if (code.uleb() == kRbp) row_.rbp = 0;
        return true;
      case 0x09:  // register
        set_elsewhere(code.uleb());
        code.uleb();
        return true;
      case 0x0a:  // remember_state
        if (remembered_ == kDepth) return false;
        memory_[remembered_++] = row_;
        return true;
      case 0x0b:  // restore_state
        if (remembered_ == 0) return false;
        row_ = memory_[--remembered_];
        return true;
      case 0x0c:  // def_cfa
        row_.base = code.uleb();
        row_.offset = static_cast<int64_t>(code.uleb());
        return true;
      case 0x0d:  // def_cfa_register
        row_.base = code.uleb();
        return true;
      case 0x0e:  // def_cfa_offset
        row_.offset = static_cast<int64_t>(code.uleb());
        return true;
      case 0x0f:  // def_cfa_expression
        row_.is_beyond_us = true;
        code.skip(code.uleb());
        return true;
      case 0x10:  // expression
      case 0x16:  // val_expression
        set_elsewhere(code.uleb());
        code.skip(code.uleb());
        return true;
      case 0x11: {  // offset_extended_sf
        uint64_t const reg = code.uleb();
        set_offset(reg, code.sleb() * common_.data_factor);
        return true;
      }
      case 0x12:  // def_cfa_sf
        row_.base = code.uleb();
        row_.offset = code.sleb() * common_.data_factor;
        return true;
      case 0x13:  // def_cfa_offset_sf
        row_.offset = code.sleb() * common_.data_factor;
        return true;
      case 0x14:  // val_offset
      case 0x15:
        set_elsewhere(code.uleb());
        code.uleb();
        return true;
      case 0x2e:  // GNU_args_size
        code.uleb();
        return true;
      default:
        return false;
    }
  }

  static constexpr unsigned kDepth = 4;
  Common common_;
  uintptr_t location_;
  uintptr_t wanted_;
  Row row_;
  Row before_;
  Row initial_;
  Row memory_[kDepth];
  unsigned remembered_ = 0;
};

unsigned pointer_size(uint8_t encoding) {
  switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
      return 8;
    case 0x03:
    case 0x0b:
      return 4;
    case 0x02:
    case 0x0a:
      return 2;
    default:
      return 0;
  }
}

// Reads the part of a CIE before its instructions. `has_size`: descriptions say how long their own part is.
bool read_common(Reader& reader, Common* common, bool* has_size) {
  auto const version = reader.take<uint8_t>();
  if (version != 1 && version != 3) return false;
  auto const* const letters = reinterpret_cast<const char*>(reader.at());
  while (reader.take<uint8_t>() != 0) {
    if (!reader.ok()) return false;
  }
  common->code_factor = reader.uleb();
  common->data_factor = reader.sleb();
  uint64_t const return_register = version == 1 ? reader.take<uint8_t>() : reader.uleb();
  if (return_register != kReturnAddress) return false;
  *has_size = letters[0] == 'z';
  if (!*has_size) return false;  // no linker's tables without it
  uint64_t const size = reader.uleb();
  const uint8_t* const instructions = reader.at() + size;
  bool is_relative = false;
  for (const char* letter = letters + 1; *letter != '\0'; ++letter) {
    if (*letter == 'R') {
      is_relative = reader.take<uint8_t>() == kPcRelative4;
    } else if (*letter == 'L') {
      reader.take<uint8_t>();
    } else if (*letter == 'P') {
      unsigned const bytes = pointer_size(reader.take<uint8_t>());
      if (bytes == 0) return false;
      reader.skip(bytes);
    } else {
      return false;  // 'S', a signal's frame, and whatever comes
    }
  }
  if (!reader.ok() || instructions < reader.at()) return false;
  reader.skip(static_cast<uint64_t>(instructions - reader.at()));
  return is_relative && reader.ok();
}

uint32_t length_at(const uint8_t* record) {
  uint32_t length = 0;
  __builtin_memcpy(&length, record, sizeof length);
  return length;
}

Rule rule_of(const Row& row) {
  if (row.ends_here) return {Kind::kEnd, 0, 0};
  if (row.is_beyond_us || row.return_address != -8 || (row.base != kRsp && row.base != kRbp)) return kGuessed;
  if (row.offset < 8 || row.offset % 8 != 0 || row.rbp > 0 || row.rbp % 8 != 0) return kGuessed;
  auto const end = static_cast<uint64_t>(row.offset) / 8;
  auto const pointer = static_cast<uint64_t>(-row.rbp) / 8;
  if (end > kMostWords || pointer > kMostWords) return kGuessed;
  return {row.base == kRsp ? Kind::kFromStackPointer : Kind::kFromFramePointer, static_cast<uint32_t>(end),
          static_cast<uint32_t>(pointer)};
}

Rule interpret(uintptr_t address) {
  Described const found = description_around(address);
  if (found.begin == 0) return kGuessed;
  uint32_t const length = length_at(found.description);
  if (length == 0 || length == ~0u) return kGuessed;
  const uint8_t* const back = found.description + 4;
  Reader description(back, back + length);
  const uint8_t* const common_record = back - description.take<uint32_t>();
  Reader reader(common_record + 8, common_record + 4 + length_at(common_record));
  Common common{};
  bool has_size = false;
  if (!read_common(reader, &common, &has_size)) return kGuessed;
  description.take<int32_t>();  // where the function begins, which the header has said
  uint64_t const size = description.take<uint32_t>();
  if (address - found.begin >= size) return kGuessed;  // between functions
  description.skip(description.uleb());
  Program program(common, found.begin, address);
  if (!program.run(reader, true) || !program.run(description, false)) return kGuessed;
  return rule_of(program.row());
}

// --- What was interpreted before

// 63..29 return address / 4096   28..27 kind   26..14 end   13..1 pointer   0 set
constexpr unsigned kRules = 4096;
uint64_t rules[kRules];

Rule rule_for(uintptr_t return_address) {
  uintptr_t const page = return_address / kRules;
  uint64_t& entry = rules[(return_address ^ page) % kRules];
  uint64_t const word = __atomic_load_n(&entry, __ATOMIC_RELAXED);
  if (__builtin_expect(word >> 29 == page && (word & 1) != 0, 1))
    return {static_cast<Kind>(word >> 27 & 3), static_cast<uint32_t>(word >> 14 & kMostWords),
            static_cast<uint32_t>(word >> 1 & kMostWords)};
  // The call, not what comes after it: that may be another function.
  Rule const rule = interpret(return_address - 1);
  __atomic_store_n(&entry,
                   page << 29 | static_cast<uint64_t>(rule.kind) << 27 | uint64_t{rule.end} << 14 |
                       uint64_t{rule.pointer} << 1 | 1,
                   __ATOMIC_RELAXED);
  return rule;
}

}  // namespace

uintptr_t function_around(uintptr_t address) { return description_around(address).begin; }

unsigned walk(Caller from, uintptr_t stack_high, uintptr_t* pcs, unsigned max) {
  constexpr uintptr_t kAddressEnd = uintptr_t{1} << 47;
  pcs[0] = from.pc;
  unsigned count = 1;
  while (count < max) {
    Rule const rule = rule_for(from.pc);
    if (rule.kind == Kind::kEnd) break;
    uintptr_t const end =
        (rule.kind == Kind::kFromStackPointer ? from.sp : from.bp) + uintptr_t{rule.end} * sizeof(uintptr_t);
    if (end % 8 != 0 || end <= from.sp || end > stack_high) break;
    auto const* const words = reinterpret_cast<const uintptr_t*>(end);
    uintptr_t const caller = words[-1];
    if (caller < 4096 || caller >= kAddressEnd) break;
    pcs[count++] = caller;
    if (rule.pointer != 0) {
      if (end - uintptr_t{rule.pointer} * sizeof(uintptr_t) < from.sp) break;
      from.bp = *(words - rule.pointer);
    }
    from.sp = end;
    from.pc = caller;
  }
  return count;
}

}  // namespace deadheat::monitor
