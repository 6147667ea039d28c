// What was loaded: the modules' IR and addresses go into the recording's folder, and the set of instrumented
// functions answers whether a call's target is visible.
#include "runtime/record/modules.h"

#include "runtime/platform/memory.h"
#include "runtime/platform/print.h"
#include "runtime/platform/spinlock.h"
#include "runtime/platform/syscalls.h"
#include "runtime/record/stream.h"

namespace deadheat::record {
namespace {

// Open addressing; a full table is replaced by a larger one, and the old one stays for those who still read
// it.
struct Table {
  uint64_t mask;
  uint64_t count;
  uint64_t entries[];
};
Table* table;
platform::Spinlock table_lock;

uint64_t slot_of(uint64_t address) { return address * UINT64_C(0x9E3779B97F4A7C15) >> 20; }

Table* make_table(uint64_t size) {
  auto* const made = static_cast<Table*>(platform::map_pages(sizeof(Table) + size * sizeof(uint64_t),
                                                             "the addresses of instrumented functions"));
  made->mask = size - 1;
  return made;
}

// An entry is an address and, in its highest bit, whether the function returns nothing.
uint64_t address_of(uint64_t entry) { return entry & ~kDhReturnsNothing; }

void insert(Table* into, uint64_t made) {
  for (uint64_t i = slot_of(address_of(made));; ++i) {
    uint64_t& entry = into->entries[i & into->mask];
    if (entry != 0 && address_of(entry) != address_of(made)) continue;
    if (entry == 0) ++into->count;
    // After a library has gone, another function may be there.
    __atomic_store_n(&entry, made, __ATOMIC_RELEASE);
    return;
  }
}
void add(uint64_t entry) {
  Table* current = table;
  if (current == nullptr || current->count * 2 > current->mask) {
    Table* const larger = make_table(current == nullptr ? 4096 : (current->mask + 1) * 4);
    for (uint64_t i = 0; current != nullptr && i <= current->mask; ++i)
      if (current->entries[i] != 0) insert(larger, current->entries[i]);
    __atomic_store_n(&table, larger, __ATOMIC_RELEASE);
    current = larger;
  }
  insert(current, entry);
}

// The entry of a function; 0 if it is not visible.
uint64_t find(uint64_t address) {
  const Table* const current = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
  if (current == nullptr) return 0;
  for (uint64_t i = slot_of(address);; ++i) {
    uint64_t const entry = __atomic_load_n(&current->entries[i & current->mask], __ATOMIC_ACQUIRE);
    if (entry == 0 || address_of(entry) == address) return entry;
  }
}

bool write_all(int fd, const void* data, size_t size) {
  for (size_t done = 0; done < size;) {
    long const written = platform::sys_write(fd, static_cast<const uint8_t*>(data) + done, size - done);
    if (written == -EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<size_t>(written);
  }
  return true;
}

bool write_file(const char* path, const void* data, size_t size) {
  long const fd = platform::sys_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (platform::failed(fd)) return false;
  bool const done = write_all(static_cast<int>(fd), data, size);
  platform::sys_close(static_cast<int>(fd));
  return done;
}

const char* folder;
unsigned maps;

void hex16(platform::Text& text, uint64_t value) {
  for (int shift = 60; shift >= 0; shift -= 4) text.append_char("0123456789abcdef"[value >> shift & 15]);
}

bool save(const DhRecordModule* const* begin, const DhRecordModule* const* end, const DhRecordFunction* first,
          const DhRecordFunction* last) {
  platform::Text map;
  for (const DhRecordModule* const* at = begin; at != end; ++at) {
    const DhRecordModule& module = **at;
    platform::Text path;
    path.append("%s/modules/", folder);
    hex16(path, module.id);
    path.append(".bc");
    if (!write_file(path.c_str(), module.ir, module.ir_size)) return false;
    map.append("module ");
    hex16(map, module.id);
    map.append(" %llu\nglobals", static_cast<unsigned long long>(module.global_count));
    for (uint64_t i = 0; i < module.global_count; ++i)
      map.append(" %llx", static_cast<unsigned long long>(reinterpret_cast<uint64_t>(module.globals[i])));
    map.append("\n");
  }
  for (const DhRecordFunction* at = first; at != last; ++at) {
    map.append("function ");
    hex16(map, at->module->id);
    map.append(" %llu %llx\n", static_cast<unsigned long long>(at->index & ~kDhReturnsNothing),
               static_cast<unsigned long long>(reinterpret_cast<uint64_t>(at->address)));
  }
  platform::Text path;
  path.append("%s/modules/%u.map", folder, maps++);
  if (write_file(path.c_str(), map.data(), map.size())) return true;
  platform::syscall6(SYS_unlink, reinterpret_cast<long>(path.c_str()));  // half of one
  return false;
}

}  // namespace

void set_module_folder(const char* path) {
  folder = path;
  if (path == nullptr) return;
  // The program may go elsewhere before it loads its last library.
  static char absolute[4096];
  platform::Text full;
  if (path[0] != '/' &&
      !platform::failed(platform::syscall6(SYS_getcwd, reinterpret_cast<long>(absolute), sizeof absolute)))
    full.append("%s/", absolute);
  full.append("%s", path);
  if (full.size() >= sizeof absolute) return;
  platform::copy(absolute, full.c_str(), full.size() + 1);
  folder = absolute;
  platform::Text modules;
  modules.append("%s/modules", folder);
  platform::syscall6(SYS_mkdir, reinterpret_cast<long>(folder), 0777);
  platform::syscall6(SYS_mkdir, reinterpret_cast<long>(modules.c_str()), 0777);
}

}  // namespace deadheat::record

using namespace deadheat;
using namespace deadheat::record;

void __dh_rec_modules(uint32_t abi_version, const DhRecordModule* const* begin,
                      const DhRecordModule* const* end, const DhRecordFunction* first,
                      const DhRecordFunction* last) {
  if (abi_version != DEADHEAT_RECORD_ABI_VERSION)
    platform::die(70,
                  "this program was instrumented for record interface %u, the runtime linked with it has %u; "
                  "rebuild it with one version of Deadheat",
                  abi_version, DEADHEAT_RECORD_ABI_VERSION);
  Inside const inside(__dh_record);
  platform::SpinGuard const guard(table_lock);
  for (const DhRecordFunction* at = first; at != last; ++at)
    add(reinterpret_cast<uint64_t>(at->address) | (at->index & kDhReturnsNothing));
  for (const DhRecordModule* const* at = begin; at != end; ++at)
    if ((*at)->has_fences != 0) __atomic_store_n(&__dh_rec_has_fences, 1u, __ATOMIC_SEQ_CST);
  if (arena == nullptr || folder == nullptr) return;
  if (!save(begin, end, first, last)) {
    platform::warn("%s: the program's modules cannot be saved there: recording stopped", folder);
    __atomic_store_n(&arena->stop, kDhStopDisk, __ATOMIC_RELEASE);
    // At once: nobody could replay what this thread does in them.
    end_stream(__dh_record, kStopped, 0);
    folder = nullptr;
  }
}

uint32_t __dh_rec_is_visible_slow(const void* target, uint64_t* cache) {
  auto const address = reinterpret_cast<uint64_t>(target);
  uint64_t const entry = find(address);
  uint32_t const is = entry == 0                         ? 0
                      : (entry & kDhReturnsNothing) != 0 ? kDhTargetVisible | kDhTargetReturnsNothing
                                                         : kDhTargetVisible;
  *cache = address | static_cast<uint64_t>(is) << 62;
  return is;
}
