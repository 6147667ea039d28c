// The calls of <sanitizer/common_interface_defs.h>, <sanitizer/tsan_interface.h> and
// <sanitizer/allocator_interface.h> that neither access the program's memory nor order anything. They inform,
// and what they could say of ThreadSanitizer's reports there is nobody to ask for here.
//
// Programs may define some of them themselves (hooks and callbacks): so all are weak. They are linked into
// every executable and library that uses them, and into no other, and know nothing of the rest of the
// runtime.
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#define INTERFACE __attribute__((weak, visibility("hidden")))
#define UNUSED __attribute__((unused))

// --- Text

typedef struct Text {
  char* at;
  char* end;
} Text;

static void put_char(Text* text, char c) {
  if (text->at < text->end) *text->at++ = c;
}
static void put(Text* text, const char* string) {
  while (*string != '\0') put_char(text, *string++);
}
static void put_number(Text* text, uint64_t number, unsigned base) {
  char digits[20];
  unsigned count = 0;
  do digits[count++] = "0123456789abcdef"[number % base];
  while ((number /= base) != 0);
  while (count > 0) put_char(text, digits[--count]);
}
static void put_address(Text* text, uint64_t address) {
  put(text, "0x");
  put_number(text, address, 16);
}

// Not libc's write, which the lane would take for the program's.
static void print(const char* string, size_t size) {
  while (size > 0) {
    long const written = syscall(SYS_write, STDERR_FILENO, string, size);
    if (written <= 0) return;
    string += written;
    size -= (size_t)written;
  }
}

// --- Which code is this?

typedef struct Place {
  Dl_info info;
  char program[4096];  // the path of the executable, whose name there is what it was called by
  const char* module;  // null if it is in none
  uintptr_t offset;    // in the module's file
} Place;

static void find_place(const void* address, Place* place) {
  struct link_map* map = NULL;
  place->module = NULL;
  place->info.dli_sname = NULL;
  if (dladdr1(address, &place->info, (void**)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) return;
  place->offset = (uintptr_t)address - map->l_addr;
  place->module = map->l_name;
  if (place->module != NULL && place->module[0] != '\0') return;
  place->module = place->info.dli_fname;
  long const length = syscall(SYS_readlink, "/proc/self/exe", place->program, sizeof place->program - 1);
  if (length <= 0) return;
  place->program[length] = '\0';
  place->module = place->program;
}

static void put_module(Text* text, const Place* place, const void* address) {
  put_char(text, '(');
  if (place->module != NULL) {
    put(text, place->module);
    put_char(text, '+');
    put_address(text, place->offset);
  } else {
    put_address(text, (uintptr_t)address);
  }
  put_char(text, ')');
}

static void put_function(Text* text, const Place* place, const void* address) {
  put(text, place->info.dli_sname != NULL ? place->info.dli_sname : "??");
  if (place->info.dli_sname == NULL) return;
  put_char(text, '+');
  put_address(text, (uintptr_t)address - (uintptr_t)place->info.dli_saddr);
}

static const char* last_component(const char* path) {
  const char* last = path;
  for (; *path != '\0'; ++path)
    if (*path == '/') last = path + 1;
  return last;
}

// The letters of the format that the header refers to. Lines are not known inside the program.
static void put_formatted(Text* text, const char* format, const void* address) {
  Place place;
  find_place(address, &place);
  for (; *format != '\0'; ++format) {
    if (*format != '%' || format[1] == '\0') {
      put_char(text, *format);
      continue;
    }
    switch (*++format) {
      case 'p':
        put_address(text, (uintptr_t)address);
        break;
      case 'F':
        put(text, "in ");
        put_function(text, &place, address);
        break;
      case 'f':
      case 'g':
        put(text, place.info.dli_sname != NULL ? place.info.dli_sname : "??");
        break;
      case 'q':
      case 'o':
        put_address(text, place.module != NULL ? place.offset : 0);
        break;
      case 'm':
        put(text, place.module != NULL ? last_component(place.module) : "??");
        break;
      case 'L':
      case 'M':
      case 'S':
        put_module(text, &place, address);
        break;
      case 's':
        put(text, "??");
        break;
      case 'l':
      case 'c':
      case 'n':
        put_char(text, '0');
        break;
      default:
        put_char(text, *format);
    }
  }
}

// What was found, and an empty string behind it: there may be several, and it is the last.
static void symbolize(const void* address, const char* format, char* out, size_t size) {
  if (size == 0) return;
  Text text = {out, out + (size < 2 ? 0 : size - 2)};
  put_formatted(&text, format, address);
  *text.at++ = '\0';
  if (size >= 2) *text.at = '\0';
}

INTERFACE void __sanitizer_symbolize_pc(void* pc, const char* format, char* out, size_t size) {
  symbolize(pc, format, out, size);
}
INTERFACE void __sanitizer_symbolize_global(void* data, const char* format, char* out, size_t size) {
  symbolize(data, format, out, size);
}
INTERFACE int __sanitizer_get_module_and_offset_for_pc(void* pc, char* path, size_t size, void** offset) {
  Place place;
  find_place(pc, &place);
  if (place.module == NULL) return 0;
  if (path != NULL && size > 0) {
    Text text = {path, path + size - 1};
    put(&text, place.module);
    *text.at = '\0';
  }
  if (offset != NULL) *offset = (void*)place.offset;
  return 1;
}

typedef struct Walk {
  uintptr_t caller;  // 0 once it was found
  unsigned frames;
} Walk;

static _Unwind_Reason_Code print_frame(struct _Unwind_Context* context, void* argument) {
  Walk* const walk = argument;
  uintptr_t const pc = _Unwind_GetIP(context);
  if (pc == 0) return _URC_END_OF_STACK;
  if (walk->caller != 0 && pc != walk->caller) return _URC_NO_REASON;
  walk->caller = 0;
  // The call, not what comes after it.
  const void* const address = (const void*)(pc - 1);
  Place place;
  find_place(address, &place);
  char line[4500];
  Text text = {line, line + sizeof line};
  put(&text, "    #");
  put_number(&text, walk->frames++, 10);
  put_char(&text, ' ');
  put_address(&text, (uintptr_t)address);
  put(&text, " in ");
  put_function(&text, &place, address);
  put_char(&text, ' ');
  put_module(&text, &place, address);
  put_char(&text, '\n');
  print(line, (size_t)(text.at - line));
  return _URC_NO_REASON;
}

INTERFACE __attribute__((noinline)) void __sanitizer_print_stack_trace(void) {
  Walk walk = {(uintptr_t)__builtin_return_address(0), 0};
  _Unwind_Backtrace(print_frame, &walk);
  print("\n", 1);
}

// --- Reports: Deadheat writes its own, as it was told when the program was started, and never ends the
// program.

INTERFACE void __sanitizer_set_report_path(const char* path UNUSED) {}
INTERFACE void __sanitizer_set_report_fd(void* descriptor UNUSED) {}
INTERFACE const char* __sanitizer_get_report_path(void) { return "stderr"; }
INTERFACE void __sanitizer_sandbox_on_notify(void* arguments UNUSED) {}
INTERFACE void __sanitizer_set_death_callback(void (*callback)(void) UNUSED) {}
INTERFACE void __sanitizer_report_error_summary(const char* summary) {
  size_t size = 0;
  while (summary[size] != '\0') ++size;
  print(summary, size);
  print("\n", 1);
}
// In this executable or library: the first caller is told that it is.
INTERFACE int __sanitizer_acquire_crash_state(void) {
  static int taken;
  return __atomic_exchange_n(&taken, 1, __ATOMIC_RELAXED) == 0;
}

// --- The allocator: libc's

INTERFACE size_t __sanitizer_get_estimated_allocated_size(size_t size) { return size; }
INTERFACE size_t __sanitizer_get_current_allocated_bytes(void) {
  struct mallinfo2 const all = mallinfo2();
  return all.uordblks + all.hblkhd;
}
INTERFACE size_t __sanitizer_get_heap_size(void) {
  struct mallinfo2 const all = mallinfo2();
  return all.arena + all.hblkhd;
}
INTERFACE size_t __sanitizer_get_free_bytes(void) { return mallinfo2().fordblks; }
INTERFACE size_t __sanitizer_get_unmapped_bytes(void) { return 0; }
INTERFACE void __sanitizer_purge_allocator(void) { malloc_trim(0); }
// 0: there is no room for more hooks.
INTERFACE int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t)
                                                            UNUSED,
                                                        void (*on_free)(const volatile void*) UNUSED) {
  return 0;
}

// --- What a program may define for a sanitizer to call. Nobody calls it here; programs call it now and then.

INTERFACE void __sanitizer_malloc_hook(const volatile void* block UNUSED, size_t size UNUSED) {}
INTERFACE void __sanitizer_free_hook(const volatile void* block UNUSED) {}
INTERFACE int __sanitizer_ignore_free_hook(const volatile void* block UNUSED) { return 0; }
INTERFACE void __sanitizer_weak_hook_memcmp(void* pc UNUSED, const void* a UNUSED, const void* b UNUSED,
                                            size_t n UNUSED, int result UNUSED) {}
INTERFACE void __sanitizer_weak_hook_strncmp(void* pc UNUSED, const char* a UNUSED, const char* b UNUSED,
                                             size_t n UNUSED, int result UNUSED) {}
INTERFACE void __sanitizer_weak_hook_strncasecmp(void* pc UNUSED, const char* a UNUSED, const char* b UNUSED,
                                                 size_t n UNUSED, int result UNUSED) {}
INTERFACE void __sanitizer_weak_hook_strcmp(void* pc UNUSED, const char* a UNUSED, const char* b UNUSED,
                                            int result UNUSED) {}
INTERFACE void __sanitizer_weak_hook_strcasecmp(void* pc UNUSED, const char* a UNUSED, const char* b UNUSED,
                                                int result UNUSED) {}
INTERFACE void __sanitizer_weak_hook_strstr(void* pc UNUSED, const char* a UNUSED, const char* b UNUSED,
                                            char* result UNUSED) {}
INTERFACE void __sanitizer_weak_hook_strcasestr(void* pc UNUSED, const char* a UNUSED, const char* b UNUSED,
                                                char* result UNUSED) {}
INTERFACE void __sanitizer_weak_hook_memmem(void* pc UNUSED, const void* a UNUSED, size_t size_a UNUSED,
                                            const void* b UNUSED, size_t size_b UNUSED, void* result UNUSED) {
}
INTERFACE const char* __tsan_default_options(void) { return ""; }
INTERFACE const char* __tsan_default_suppressions(void) { return ""; }

// --- ThreadSanitizer's reports, which debuggers look into: there is none at present, and nothing is found in
// it.

INTERFACE void* __tsan_get_current_report(void) { return NULL; }
#define FINDS_NOTHING(name) \
  INTERFACE int name(void* report UNUSED) { return 0; }
FINDS_NOTHING(__tsan_get_report_data)
FINDS_NOTHING(__tsan_get_report_stack)
FINDS_NOTHING(__tsan_get_report_mop)
FINDS_NOTHING(__tsan_get_report_loc)
FINDS_NOTHING(__tsan_get_report_mutex)
FINDS_NOTHING(__tsan_get_report_thread)
FINDS_NOTHING(__tsan_get_report_unique_tid)
