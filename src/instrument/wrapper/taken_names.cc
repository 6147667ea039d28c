#include "instrument/wrapper/taken_names.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace deadheat::instrument::wrapper {
namespace {

using std::string_view;
using Names = std::set<std::string, std::less<>>;

template <size_t N>
bool is_one_of(string_view word, const std::array<string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Of the C library, besides what begins as below. Allocators belong together.
constexpr auto kOfIsoC = std::to_array<string_view>({"aligned_alloc",
                                                     "asctime",
                                                     "atof",
                                                     "atoi",
                                                     "atol",
                                                     "atoll",
                                                     "c16rtomb",
                                                     "c32rtomb",
                                                     "call_once",
                                                     "calloc",
                                                     "cfree",
                                                     "ctime",
                                                     "fclose",
                                                     "fflush",
                                                     "fgetc",
                                                     "fgetpos",
                                                     "fgets",
                                                     "fgetwc",
                                                     "fgetws",
                                                     "fopen",
                                                     "fprintf",
                                                     "fputc",
                                                     "fputs",
                                                     "fputwc",
                                                     "fputws",
                                                     "fread",
                                                     "free",
                                                     "freopen",
                                                     "frexp",
                                                     "frexpf",
                                                     "frexpl",
                                                     "fscanf",
                                                     "fseek",
                                                     "fsetpos",
                                                     "fwprintf",
                                                     "fwrite",
                                                     "fwscanf",
                                                     "getc",
                                                     "getchar",
                                                     "getenv",
                                                     "gets",
                                                     "getwc",
                                                     "getwchar",
                                                     "gmtime",
                                                     "localtime",
                                                     "malloc",
                                                     "malloc_usable_size",
                                                     "mblen",
                                                     "mbrlen",
                                                     "mbrtowc",
                                                     "mbsrtowcs",
                                                     "mbstowcs",
                                                     "mbtowc",
                                                     "mktime",
                                                     "modf",
                                                     "modff",
                                                     "modfl",
                                                     "nan",
                                                     "nanf",
                                                     "nanl",
                                                     "perror",
                                                     "posix_memalign",
                                                     "printf",
                                                     "putc",
                                                     "putchar",
                                                     "puts",
                                                     "putwc",
                                                     "putwchar",
                                                     "pvalloc",
                                                     "qsort",
                                                     "quick_exit",
                                                     "raise",
                                                     "realloc",
                                                     "reallocarray",
                                                     "remove",
                                                     "remquo",
                                                     "remquof",
                                                     "remquol",
                                                     "rename",
                                                     "rewind",
                                                     "scanf",
                                                     "setlocale",
                                                     "signal",
                                                     "snprintf",
                                                     "sprintf",
                                                     "sscanf",
                                                     "swprintf",
                                                     "swscanf",
                                                     "system",
                                                     "time",
                                                     "timespec_get",
                                                     "tmpnam",
                                                     "ungetc",
                                                     "ungetwc",
                                                     "valloc",
                                                     "vfprintf",
                                                     "vfscanf",
                                                     "vfwprintf",
                                                     "vfwscanf",
                                                     "vprintf",
                                                     "vscanf",
                                                     "vsnprintf",
                                                     "vsprintf",
                                                     "vsscanf",
                                                     "vswprintf",
                                                     "vswscanf",
                                                     "vwprintf",
                                                     "vwscanf",
                                                     "wcrtomb",
                                                     "wctomb",
                                                     "wmemchr",
                                                     "wmemcmp",
                                                     "wmemcpy",
                                                     "wmemmove",
                                                     "wmemset",
                                                     "wprintf",
                                                     "wscanf"});
// What the runtime itself calls by these names, or another of its functions does.
constexpr auto kCalledByRuntime = std::to_array<string_view>(
    {"dlclose", "dlopen", "execv", "execve", "fileno_unlocked", "sigaction", "vasprintf", "vdprintf"});
constexpr auto kReservedPrefixes =
    std::to_array<string_view>({"_", "str", "mem", "wcs", "pthread_", "mtx_", "cnd_", "thrd_", "omp_",
                                "ompt_", "Annotate", "WTFAnnotate", "RunningOnValgrind"});

// The C and C++ libraries and what is of one piece with them: what they define is what is interposed.
constexpr auto kSystemLibraries = std::to_array<string_view>(
    {"c",      "m",      "pthread", "rt",     "dl",           "anl",       "resolv",
     "util",   "crypt",  "nsl",     "mvec",   "BrokenLocale", "thread_db", "stdc++",
     "c++",    "c++abi", "unwind",  "supc++", "gcc",          "gcc_s",     "gcc_eh",
     "atomic", "omp",    "omp5",    "iomp5",  "gomp",         "quadmath",  "gfortran"});

constexpr auto kDefaultFolders = std::to_array<string_view>(
    {"/usr/local/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
     "/usr/local/lib", "/lib64", "/usr/lib64", "/lib", "/usr/lib"});

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      void* const at = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (at != MAP_FAILED) text_ = {static_cast<const char*>(at), static_cast<size_t>(status.st_size)};
    }
    if (file >= 0) close(file);
  }
  ~MappedFile() {
    if (!text_.empty()) munmap(const_cast<char*>(text_.data()), text_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  string_view text() const { return text_; }

 private:
  string_view text_;
};

// The parts of an object file that are looked at. All that is read is inside of it.
class Object {
 public:
  explicit Object(string_view text) : text_(text) {
    Elf64_Ehdr header;
    if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64)
      return;
    for (unsigned i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section;
      if (!read(header.e_shoff + i * sizeof section, section)) break;
      sections_.push_back(section);
    }
  }

  // Calls `visit(symbol, name, offset of the symbol)` for all of a table of this type.
  template <class Visit>
  void symbols(unsigned type, Visit visit) const {
    for (const Elf64_Shdr& table : sections_) {
      if (table.sh_type != type || table.sh_link >= sections_.size()) continue;
      const Elf64_Shdr& names = sections_[table.sh_link];
      if (names.sh_offset > text_.size() || names.sh_size > text_.size() - names.sh_offset) continue;
      const string_view strings = text_.substr(names.sh_offset, names.sh_size);
      for (size_t at = table.sh_offset; at - table.sh_offset + sizeof(Elf64_Sym) <= table.sh_size;
           at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        if (!read(at, symbol)) break;
        if (symbol.st_name >= strings.size()) continue;
        const string_view rest = strings.substr(symbol.st_name);
        visit(symbol, rest.substr(0, rest.find('\0')), at);
      }
    }
  }

 private:
  template <class T>
  bool read(size_t offset, T& into) const {
    if (offset > text_.size() || sizeof(T) > text_.size() - offset) return false;
    std::memcpy(&into, text_.data() + offset, sizeof(T));
    return true;
  }

  string_view text_;
  std::vector<Elf64_Shdr> sections_;
};

bool defines(const Elf64_Sym& symbol) {
  const unsigned binding = ELF64_ST_BIND(symbol.st_info), type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (binding == STB_GLOBAL || binding == STB_WEAK) &&
         (type == STT_FUNC || type == STT_OBJECT || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

bool exists(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

bool is_system_library(string_view path) {
  string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with("lib")) return false;
  name.remove_prefix(3);
  return is_one_of(name.substr(0, name.find(".so")), kSystemLibraries);
}

class Search {
 public:
  Search(const std::vector<std::string>& folders, std::vector<std::string>& found)
      : folders_(folders), found_(found) {
    for (const string_view folder : kDefaultFolders) folders_.emplace_back(folder);
  }

  void add(const NamedLibrary& library) {
    if (library.is_path) return add_path(library.name, /*may_be_script=*/true);
    if (library.name.starts_with(":")) return add_file(library.name.substr(1));
    if (!is_one_of(library.name, kSystemLibraries)) add_library(library.name);
  }

 private:
  void add_library(const std::string& name) {
    for (const std::string& folder : folders_) {
      const std::string path = in(folder, "lib" + name);
      if (exists(path + ".so")) return add_path(path + ".so", true);
      if (exists(path + ".a")) return;
    }
  }

  void add_file(const std::string& name) {
    for (const std::string& folder : folders_)
      if (const std::string path = in(folder, name); exists(path)) return add_path(path, true);
  }

  static std::string in(std::string folder, string_view name) { return folder.append("/").append(name); }

  void add_path(const std::string& path, bool may_be_script) {
    if (is_system_library(path)) return;
    const MappedFile file(path);
    if (file.text().starts_with(ELFMAG)) {
      found_.push_back(path);
    } else if (may_be_script && file.text().size() < 4096) {
      add_script(file.text());
    }
  }

  // A linker script in place of a library: GROUP ( /lib/libfoo.so.1 -lbar ).
  void add_script(string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find_first_of(" \t\r\n(),"), text.size());
      const std::string word(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (word.starts_with("-l") && !is_one_of(string_view(word).substr(2), kSystemLibraries)) {
        add_library(word.substr(2));
      } else if (word.find(".so") != std::string::npos) {
        word.starts_with("/") ? add_path(word, false) : add_file(word);
      }
    }
  }

  std::vector<std::string> folders_;
  std::vector<std::string>& found_;
};

}  // namespace

Names names_left_to_programs(string_view interposed) {
  Names names;
  while (!interposed.empty()) {
    const size_t end = std::min(interposed.find('\n'), interposed.size());
    const string_view name = interposed.substr(0, end);
    interposed.remove_prefix(std::min(end + 1, interposed.size()));
    const bool is_reserved = std::any_of(kReservedPrefixes.begin(), kReservedPrefixes.end(),
                                         [name](string_view prefix) { return name.starts_with(prefix); });
    if (!name.empty() && !is_reserved && !is_one_of(name, kOfIsoC) && !is_one_of(name, kCalledByRuntime))
      names.emplace(name);
  }
  return names;
}

std::vector<std::string> find_libraries(const std::vector<NamedLibrary>& libraries,
                                        const std::vector<std::string>& folders) {
  std::vector<std::string> found;
  Search search(folders, found);
  for (const NamedLibrary& library : libraries) search.add(library);
  return found;
}

Names defined_by(const std::string& path, const Names& names) {
  Names found;
  const MappedFile file(path);
  Object(file.text()).symbols(SHT_DYNSYM, [&](const Elf64_Sym& symbol, string_view name, size_t) {
    if (defines(symbol) && names.contains(name)) found.emplace(name);
  });
  return found;
}

void undefine(std::string& archive, const Names& names) {
  constexpr string_view kMagic = "!<arch>\n";
  constexpr size_t kHeader = 60, kSizeAt = 48, kSizeDigits = 10;
  if (!archive.starts_with(kMagic)) return;
  for (size_t at = kMagic.size(); at + kHeader <= archive.size();) {
    size_t size = 0;
    std::from_chars(&archive[at + kSizeAt], &archive[at + kSizeAt + kSizeDigits], size);
    const size_t begin = at + kHeader;
    if (size > archive.size() - begin) return;
    Object(string_view(archive).substr(begin, size))
        .symbols(SHT_SYMTAB, [&](Elf64_Sym symbol, string_view name, size_t offset) {
          if (!defines(symbol) || !names.contains(name)) return;
          // Weak as it was: nobody need have it.
          symbol.st_shndx = SHN_UNDEF;
          symbol.st_value = 0;
          symbol.st_size = 0;
          std::memcpy(&archive[begin + offset], &symbol, sizeof symbol);
        });
    at = begin + size + size % 2;
  }
}

}  // namespace deadheat::instrument::wrapper
