#include "runtime/monitor/visible.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "runtime/interpose/allocator.h"
#include "runtime/monitor_abi.h"
#include "runtime/platform/modules.h"
#include "runtime/platform/spinlock.h"

// The runtime's interposers are put together by interpose.h.
extern "C" __attribute__((visibility("hidden"), weak)) const char __start_deadheat_text[];
extern "C" __attribute__((visibility("hidden"), weak)) const char __stop_deadheat_text[];

namespace deadheat::monitor {
namespace {

// --- What was decided before. Code comes and goes with shared libraries, rarely; an address that meant one
// thing and
//     later another would have to be both a function's beginning and of another kind.
struct Decided {
  uintptr_t key;  // address * 2 + visible
};
constexpr unsigned kDecided = 4096;
Decided functions[kDecided];
Decided known_functions[kDecided];
Decided returns[kDecided];

template <class Decide>
bool decided(Decided* table, uintptr_t address, Decide decide) {
  Decided& entry = table[(address * 0x9E3779B97F4A7C15ull) >> 52];
  uintptr_t const key = __atomic_load_n(&entry.key, __ATOMIC_RELAXED);
  if (key >> 1 == address) return (key & 1) != 0;
  bool const visible = decide(address);
  __atomic_store_n(&entry.key, address << 1 | (visible ? 1 : 0), __ATOMIC_RELAXED);
  return visible;
}

bool is_runtime(uintptr_t address) {
  return address >= reinterpret_cast<uintptr_t>(__start_deadheat_text) &&
         address < reinterpret_cast<uintptr_t>(__stop_deadheat_text);
}

bool starts_with(const char* text, const char* prefix) {
  while (*prefix != '\0' && *text == *prefix) ++text, ++prefix;
  return *prefix == '\0';
}

bool is_known_library(const char* path) {
  const char* name = path;
  for (const char* p = path; *p != '\0'; ++p) {
    if (*p == '/') name = p + 1;
  }
  static const char* const known[] = {"libc.so",  "libc-2",     "libm.so",    "libm-2",     "libpthread",
                                      "libdl.so", "librt.so",   "ld-linux",   "libstdc++.", "libgcc_s",
                                      "libc++.",  "libc++abi.", "linux-vdso", "libresolv."};
  for (const char* k : known) {
    if (starts_with(name, k)) return true;
  }
  return false;
}

bool has_mark(uintptr_t function) {
  // Code begins well after its file's headers, so that there is always something before a function.
  struct __attribute__((packed, may_alias)) Word {
    uint64_t value;
  };
  return function > 4096 && reinterpret_cast<const Word*>(function - 8)->value == DEADHEAT_FUNCTION_MARK;
}

bool is_in_known_library(uintptr_t address) {
  static platform::Spinlock lock;
  platform::SpinGuard const guard(lock);
  const platform::Module* module = platform::module_at(address);
  if (module == nullptr) {
    platform::read_modules();
    module = platform::module_at(address);
  }
  return module != nullptr && is_known_library(module->path);
}

// --- The function around an address
// ----------------------------------------------------------------------------------------

struct Header {  // of .eh_frame_hdr, in the only form linkers write
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

// Where the function that holds `address` begins, or 0.
uintptr_t function_around(uintptr_t address) {
  Search search{address, 0};
  dl_iterate_phdr(find_header, &search);
  if (search.header == 0) return 0;
  auto const* const header = reinterpret_cast<const Header*>(search.header);
  if (header->version != 1 || header->frame_encoding != kPcRelative4 ||
      header->count_encoding != kUnsigned4 || header->table_encoding != kDataRelative4)
    return 0;
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
  return low == 0 ? 0 : search.header + static_cast<uintptr_t>(static_cast<int64_t>(entries[low - 1].begin));
}

}  // namespace

bool is_interposer(uintptr_t address) { return is_runtime(address); }

bool is_visible_function(uintptr_t function) {
  return decided(functions, function, [](uintptr_t at) { return has_mark(at) || is_runtime(at); });
}

// Among them are those that free; of a program's own allocator we do not hear what it frees.
bool is_visible_or_library(uintptr_t function) {
  return decided(known_functions, function, [](uintptr_t at) {
    return has_mark(at) || ((is_runtime(at) || is_in_known_library(at)) && interpose::hears_of_frees());
  });
}

bool is_visible_return(uintptr_t return_address) {
  return decided(returns, return_address, [](uintptr_t at) {
    uintptr_t const function = function_around(at - 1);
    return function != 0 && has_mark(function);
  });
}

}  // namespace deadheat::monitor
