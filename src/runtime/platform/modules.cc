#include "runtime/platform/modules.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "runtime/platform/c_strings.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/signal_mask.h"
#include "runtime/platform/spinlock.h"
#include "runtime/platform/syscalls.h"

namespace deadheat::platform {
namespace {

// Innermost of all: whoever holds it waits for nobody.
Spinlock lock;
constexpr unsigned kMaxModules = 4096;
Module* modules;
unsigned module_count;

// Lines of this thread's maps, read through a fixed buffer. Not /proc/self/maps: that is the main thread's,
// and empty once the main thread has ended by pthread_exit while others live on.
class MapsReader {
 public:
  MapsReader() : fd_(static_cast<int>(sys_open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC, 0))) {}
  bool is_open() const { return fd_ >= 0; }
  ~MapsReader() {
    if (fd_ >= 0) sys_close(fd_);
  }

  bool next_line(char* line, unsigned max) {
    unsigned length = 0;
    for (;;) {
      if (at_ == have_) {
        long const n = fd_ < 0 ? 0 : sys_read(fd_, buffer_, sizeof buffer_);
        if (n <= 0) return false;
        have_ = static_cast<unsigned>(n);
        at_ = 0;
      }
      // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): the kernel has written it.
      char const c = buffer_[at_++];
      if (c == '\n') break;
      if (length + 1 < max) line[length++] = c;
    }
    line[length] = '\0';
    return true;
  }

 private:
  int fd_;
  unsigned at_ = 0;
  unsigned have_ = 0;
  char buffer_[4096];
};

uint64_t parse_hex(const char** p) {
  uint64_t value = 0;
  for (;; ++*p) {
    char const c = **p;
    if (c >= '0' && c <= '9')
      value = value * 16 + static_cast<uint64_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      value = value * 16 + static_cast<uint64_t>(c - 'a' + 10);
    else
      return value;
  }
}

uintptr_t load_bias(uintptr_t begin) {
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(begin);
  if (header->e_ident[0] != 0x7f || header->e_ident[1] != 'E' || header->e_type == ET_EXEC) return 0;
  const auto* const segment = reinterpret_cast<const Elf64_Phdr*>(begin + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segment[i].p_type == PT_LOAD) return begin - (segment[i].p_vaddr & ~uintptr_t{4095});
  }
  return begin;
}

const char* keep(const char* path) {
  size_t const length = length_of(path);
  auto* const kept = static_cast<char*>(allocate(length + 1));
  copy(kept, path, length + 1);
  return kept;
}

// Where the module's variables end, those without initial values included, which no file backs.
uintptr_t image_end(uintptr_t begin, uintptr_t bias) {
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(begin);
  if (header->e_ident[0] != 0x7f || header->e_ident[1] != 'E') return 0;
  const auto* const segment = reinterpret_cast<const Elf64_Phdr*>(begin + header->e_phoff);
  uintptr_t last = 0;
  for (int i = 0; i < header->e_phnum; ++i) {
    uintptr_t const end = bias + segment[i].p_vaddr + segment[i].p_memsz;
    if (segment[i].p_type == PT_LOAD && end > last) last = end;
  }
  return last;
}

uint64_t parse_decimal(const char** p) {
  uint64_t value = 0;
  for (; **p >= '0' && **p <= '9'; ++*p) value = value * 10 + static_cast<uint64_t>(**p - '0');
  return value;
}

bool is_deleted(const char* path) {
  static const char kMark[] = " (deleted)";
  size_t const length = length_of(path);
  return length >= sizeof kMark && is_same(path + length - (sizeof kMark - 1), kMark);
}

// A file that is there no more is another module: what its path names now is not what is mapped. But a path
// that only reads differently, because the program has another root now, is the one that is known.
bool is_of(const Module& module, const char* path, uint64_t device, uint64_t number) {
  return is_same(module.path, path) ||
         (number != 0 && module.device == device && module.number == number && !is_deleted(path));
}

Module* known_module(uintptr_t begin, const char* path, uint64_t device, uint64_t number) {
  for (unsigned i = 0; i < module_count; ++i) {
    if (is_of(modules[i], path, device, number) && begin >= modules[i].begin &&
        begin - modules[i].begin < (uintptr_t{1} << 31))
      return &modules[i];
  }
  return nullptr;
}

void make_list() {
  if (modules == nullptr) modules = static_cast<Module*>(allocate(kMaxModules * sizeof(Module)));
}

// Whoever looks without the lock sees all of it or nothing.
void add(const Module& module) {
  modules[module_count] = module;
  __atomic_store_n(&module_count, module_count + 1, __ATOMIC_RELEASE);
}

// False if there is no /proc.
bool read_maps() {
  MapsReader maps;
  if (!maps.is_open()) return false;
  char line[4352];
  // A module is a file with an executable mapping, which follows the one of its beginning. Other mapped files
  // are data: they are not looked into, since one that was cut short would fault.
  char candidate[4352] = "";
  uintptr_t candidate_begin = 0;
  while (maps.next_line(line, sizeof line)) {
    const char* p = line;
    uintptr_t const begin = parse_hex(&p);
    ++p;
    uintptr_t const end = parse_hex(&p);
    ++p;
    bool const readable = *p == 'r';
    bool const executable = *p != '\0' && p[1] != '\0' && p[2] == 'x';
    p += 5;
    uint64_t const offset = parse_hex(&p);
    ++p;
    uint64_t const major = parse_hex(&p);
    ++p;
    uint64_t const device = major << 32 | parse_hex(&p);
    ++p;
    uint64_t const number = parse_decimal(&p);
    while (*p != '\0' && *p != '/') ++p;
    if (*p != '/') continue;
    if (Module* const known = known_module(begin, p, device, number)) {
      if (end > known->end) known->end = end;
      continue;
    }
    // Code may stand on the file's first page, too (lld's libraries), which is then mapped once more.
    bool const goes_on = executable && is_same(candidate, p);
    if (readable && offset == 0 && !goes_on) {
      copy(candidate, p, static_cast<size_t>(line + sizeof line - p));
      candidate_begin = begin;
    }
    if (!executable || !is_same(candidate, p) || module_count == kMaxModules) continue;
    uintptr_t const bias = load_bias(candidate_begin);
    uintptr_t const last = image_end(candidate_begin, bias);
    add({bias, candidate_begin, last > end ? last : end, keep(p), device, number});
  }
  return true;
}

const char* absolute(const char* path) {
  if (path[0] == '/') return keep(path);
  char folder[4096];
  long const size = syscall6(SYS_getcwd, reinterpret_cast<long>(folder), sizeof folder);
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the kernel has written it.
  if (size <= 0 || folder[0] != '/') return keep(path);
  size_t const length = length_of(path);
  auto const folder_length = static_cast<size_t>(size) - 1;
  auto* const kept = static_cast<char*>(allocate(folder_length + length + 2));
  copy(kept, folder, folder_length);
  kept[folder_length] = '/';
  copy(kept + folder_length + 1, path, length + 1);
  return kept;
}

int add_loaded(dl_phdr_info* info, size_t, void*) {
  uintptr_t begin = UINTPTR_MAX;
  uintptr_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    uintptr_t const from = info->dlpi_addr + segment.p_vaddr;
    if (from < begin) begin = from;
    if (from + segment.p_memsz > end) end = from + segment.p_memsz;
  }
  begin &= ~uintptr_t{4095};
  const char* path = info->dlpi_name;
  // Only the executable has no name: this is what it was started by.
  if (path == nullptr || path[0] == '\0') path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  bool has_folder = false;
  for (const char* p = path; p != nullptr && *p != '\0'; ++p) has_folder |= *p == '/';
  if (!has_folder || end == 0 || module_count == kMaxModules) return 0;  // of the kernel's, without a file
  SpinGuard const guard(lock);
  const char* const full = absolute(path);
  if (known_module(begin, full, 0, 0) == nullptr) add({info->dlpi_addr, begin, end, full, 0, 0});
  return 0;
}

}  // namespace

unsigned read_modules() {
  SpinGuard const guard(lock);
  make_list();
  read_maps();
  return module_count;
}

void remember_modules() {
  // A handler that reports would wait for what this thread holds.
  uint64_t mask = 0;
  block_all_signals(&mask);
  bool is_read;
  {
    SpinGuard const guard(lock);
    make_list();
    is_read = read_maps();
  }
  if (!is_read) dl_iterate_phdr(add_loaded, nullptr);
  set_signal_mask(mask);
}

void modules_fork_child() { lock.reset(); }

const Module* module_at(uintptr_t address) {
  // The newest first: a library may have been loaded where another was before.
  for (unsigned i = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE); i-- > 0;) {
    if (address >= modules[i].begin && address < modules[i].end) return &modules[i];
  }
  return nullptr;
}

const Module& module_number(unsigned index) { return modules[index]; }

namespace {
uintptr_t told_begin;
uintptr_t told_end;
}  // namespace

void let_order_by_itself(uintptr_t address) {
  if (module_at(address) == nullptr) read_modules();
  const Module* const module = module_at(address);
  if (module == nullptr) return;
  __atomic_store_n(&told_begin, module->begin, __ATOMIC_RELAXED);
  __atomic_store_n(&told_end, module->end, __ATOMIC_RELEASE);
}

bool orders_by_itself(uintptr_t address) {
  static uintptr_t loader_begin = 0;
  static uintptr_t loader_end = 0;  // 1 if there is none: a static executable
  uintptr_t end = __atomic_load_n(&loader_end, __ATOMIC_ACQUIRE);
  if (__builtin_expect(end == 0, 0)) {
    uintptr_t const begin = getauxval(AT_BASE);
    end = 1;
    if (begin != 0) {
      const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(begin);
      const auto* const segment = reinterpret_cast<const Elf64_Phdr*>(begin + header->e_phoff);
      for (int i = 0; i < header->e_phnum; ++i) {
        uintptr_t const segment_end = begin + segment[i].p_vaddr + segment[i].p_memsz;
        if (segment[i].p_type == PT_LOAD && segment_end > end) end = segment_end;
      }
    }
    __atomic_store_n(&loader_begin, begin, __ATOMIC_RELAXED);
    __atomic_store_n(&loader_end, end, __ATOMIC_RELEASE);
  }
  if (address < end && address >= __atomic_load_n(&loader_begin, __ATOMIC_RELAXED)) return true;
  return address < __atomic_load_n(&told_end, __ATOMIC_ACQUIRE) &&
         address >= __atomic_load_n(&told_begin, __ATOMIC_RELAXED);
}

ThreadLocals executables_thread_locals(uintptr_t thread_pointer) {
  const auto* const segment = reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR));
  uint64_t const count = segment != nullptr ? getauxval(AT_PHNUM) : 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (segment[i].p_type != PT_TLS || segment[i].p_memsz == 0) continue;
    uintptr_t const align = segment[i].p_align != 0 ? segment[i].p_align : 1;
    uintptr_t const first = -segment[i].p_vaddr & (align - 1);
    uintptr_t const below = ((segment[i].p_memsz - first + align - 1) & ~(align - 1)) + first;
    return {thread_pointer - below, segment[i].p_memsz};
  }
  return {thread_pointer, 0};
}

}  // namespace deadheat::platform
