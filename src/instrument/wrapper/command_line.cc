#include "instrument/wrapper/command_line.h"

#include <algorithm>
#include <array>

namespace deadheat::instrument::wrapper {
namespace {

using std::string_view;

template <size_t N>
bool is_one_of(string_view word, const std::array<string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Options whose value is the next argument: that argument is not an input.
constexpr auto kTakesNext = std::to_array<string_view>({"-o",
                                                        "--output",
                                                        "-I",
                                                        "-L",
                                                        "-l",
                                                        "-D",
                                                        "-U",
                                                        "-F",
                                                        "-B",
                                                        "-A",
                                                        "-T",
                                                        "-u",
                                                        "-z",
                                                        "-e",
                                                        "-b",
                                                        "-G",
                                                        "-V",
                                                        "-x",
                                                        "--language",
                                                        "-include",
                                                        "--include",
                                                        "-imacros",
                                                        "-include-pch",
                                                        "-isystem",
                                                        "-isystem-after",
                                                        "-cxx-isystem",
                                                        "-c-isystem",
                                                        "-iquote",
                                                        "-idirafter",
                                                        "-iprefix",
                                                        "-iwithprefix",
                                                        "-iwithprefixbefore",
                                                        "-iwithsysroot",
                                                        "-isysroot",
                                                        "--sysroot",
                                                        "-iframework",
                                                        "-framework",
                                                        "-ivfsoverlay",
                                                        "-vfsoverlay",
                                                        "-MF",
                                                        "-MT",
                                                        "-MQ",
                                                        "-MJ",
                                                        "-Xclang",
                                                        "-Xlinker",
                                                        "-Xassembler",
                                                        "-Xpreprocessor",
                                                        "-Xanalyzer",
                                                        "-Xopenmp-target",
                                                        "-mllvm",
                                                        "-mthread-model",
                                                        "-target",
                                                        "--target",
                                                        "-arch",
                                                        "--param",
                                                        "-aux-info",
                                                        "-gcc-toolchain",
                                                        "-resource-dir",
                                                        "-working-directory",
                                                        "-serialize-diagnostics",
                                                        "--serialize-diagnostics",
                                                        "-stdlib++-isystem",
                                                        "-undefined",
                                                        "-rpath",
                                                        "-ccc-install-dir",
                                                        "-ccc-gcc-name",
                                                        "-fmodule-name",
                                                        "-wrapper",
                                                        "-dumpdir",
                                                        "-Tbss",
                                                        "-Tdata",
                                                        "-Ttext",
                                                        "-install_name",
                                                        "--prefix",
                                                        "-dependency-file",
                                                        "-dependency-dot",
                                                        "-index-store-path",
                                                        "-fnew-alignment",
                                                        "--CLASSPATH",
                                                        "--sysroot"});

// Options after which nothing is linked.
constexpr auto kStopsBeforeLink = std::to_array<string_view>({"-c",
                                                              "-S",
                                                              "-E",
                                                              "-M",
                                                              "-MM",
                                                              "-fsyntax-only",
                                                              "--compile",
                                                              "--assemble",
                                                              "--preprocess",
                                                              "--dependencies",
                                                              "--user-dependencies",
                                                              "--analyze",
                                                              "--precompile",
                                                              "-emit-ast",
                                                              "-module-file-info",
                                                              "-emit-interface-stubs",
                                                              "-extract-api",
                                                              "-rewrite-objc",
                                                              "-verify-pch",
                                                              "-emit-pch",
                                                              "-fmodule-header",
                                                              "-ccc-print-phases",
                                                              "-dM"});

// Options that make something else than an executable, as options of the driver and of the linker.
constexpr auto kOtherOutput = std::to_array<string_view>(
    {"-shared", "--shared", "-Bshareable", "-r", "-i", "--relocatable", "-relocatable"});
constexpr auto kRelocatable = std::to_array<string_view>({"-r", "-i", "--relocatable", "-relocatable"});

// Options that leave the C library out of a link, and the ways to name it all the same.
constexpr auto kWithoutLibraries =
    std::to_array<string_view>({"-nostdlib", "--no-standard-libraries", "-nodefaultlibs", "-nolibc"});
constexpr auto kCLibrary = std::to_array<string_view>({"-lc", "-l:libc.so.6", "-l:libc.so", "-l:libc.a"});

constexpr auto kLibgcc = std::to_array<string_view>({"-lgcc", "-l:libgcc.a"});

constexpr auto kHeaderSuffixes =
    std::to_array<string_view>({"h", "hh", "hpp", "hxx", "h++", "H", "tcc", "hp"});
constexpr auto kSourceSuffixes = std::to_array<string_view>(
    {"c", "i",  "cc", "cp", "cpp", "cxx", "c++", "C",    "CC",  "CPP",  "CXX",  "C++", "ii",
     "m", "mi", "mm", "M",  "mii", "ll",  "bc",  "cppm", "ccm", "cxxm", "c++m", "ixx", "cu"});

// Sanitizers with a runtime that takes the same functions as ours. The undefined-behaviour checks have none
// of that.
constexpr auto kOtherRuntimes = std::to_array<string_view>(
    {"thread", "address", "hwaddress", "memory", "leak", "safe-stack", "scudo", "dataflow"});

string_view suffix_of(string_view path) {
  const size_t slash = path.rfind('/');
  const string_view name = slash == string_view::npos ? path : path.substr(slash + 1);
  const size_t dot = name.rfind('.');
  return dot == string_view::npos ? string_view() : name.substr(dot + 1);
}

// Splits a response file as the GNU tools do: white space separates, quotes and backslashes keep it.
std::vector<std::string> split_response(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && std::isspace(static_cast<unsigned char>(c))) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
      continue;
    }
    in_word = true;
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
    } else if (quote != 0) {
      c == quote ? static_cast<void>(quote = 0) : word.push_back(c);
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else {
      word += c;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

// Response files may name response files; nobody nests them deeper than this on purpose.
constexpr int kMaxNesting = 20;

void expand(const Environment& environment, const std::vector<std::string>& arguments, int depth,
            std::vector<std::string>& expanded) {
  for (const std::string& argument : arguments) {
    std::string contents;
    // A name that cannot be read is an argument like any other, as for clang.
    if (depth < kMaxNesting && argument.size() > 1 && argument[0] == '@' &&
        environment.read_file(argument.substr(1), contents))
      expand(environment, split_response(contents), depth + 1, expanded);
    else
      expanded.push_back(argument);
  }
}

bool list_has(string_view list, string_view word) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// One of these words, to the driver or to the linker.
template <size_t N>
bool says_linker(string_view option, string_view next, const std::array<string_view, N>& words) {
  if (is_one_of(option, words)) return true;
  if (option == "-Xlinker") return is_one_of(next, words);
  return option.starts_with("-Wl,") && std::any_of(words.begin(), words.end(), [option](string_view word) {
           return list_has(option.substr(4), word);
         });
}

// --no-undefined, or -z defs, in all the ways that a linker's option can be written.
bool forbids_undefined(string_view option, string_view next) {
  constexpr auto kForbids = std::to_array<string_view>({"--no-undefined", "-no-undefined", "-zdefs", "defs"});
  if (option == "-Xlinker" || option == "-z") return is_one_of(next, kForbids);
  if (option == "-zdefs") return true;
  if (!option.starts_with("-Wl,")) return false;
  for (string_view word : kForbids)
    if (list_has(option.substr(4), word)) return true;
  return false;
}

class Reader {
 public:
  explicit Reader(Request& request) : request_(request) {}

  Status read(const std::vector<std::string>& arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const string_view argument = arguments[i];
      if (argument == "--") {
        for (++i; i < arguments.size(); ++i) read_input(arguments[i]);
        break;
      }
      if (argument == "-" || argument[0] != '-') {
        read_input(argument);
        continue;
      }
      string_view next = i + 1 < arguments.size() ? string_view(arguments[i + 1]) : string_view();
      read_option(argument, next);
      if (is_one_of(argument, kTakesNext) || argument.starts_with("-Xarch_")) ++i;
    }
    for (size_t i = 0; i < kOtherRuntimes.size(); ++i)
      if (sanitizers_[i])
        return Error{"-fsanitize=" + std::string(kOtherRuntimes[i]) +
                     ": cannot be combined with Deadheat, both replace the allocator and the thread "
                     "functions; expected one "
                     "of them (--deadheat-mode=off leaves it to the sanitizer)"};
    if (is_tls_emulated_ && request_.compiles)
      return Error{
          "-femulated-tls: cannot be combined with Deadheat, whose hooks find the thread in thread-local "
          "storage "
          "of the usual kind; expected -fno-emulated-tls (--deadheat-mode=off does without Deadheat)"};
    if (is_32_bit_) return Error{"-m32: expected a 64-bit target; only x86-64 programs can be watched"};
    request_.passes_through = !has_input_;
    request_.links = has_input_ && !stops_before_link_ && !only_headers_;
    request_.links_executable = request_.links && !other_output_;
    if (request_.links_executable && !without_libraries_.empty() && !names_c_library_)
      return Error{
          without_libraries_ +
          ": an executable without the C library cannot be watched, because the runtime is part of it and "
          "needs one; expected -lc among its libraries (--deadheat-mode=off does without Deadheat)"};
    return Nothing{};
  }

 private:
  void read_input(string_view path) {
    if (path.empty()) return;
    const bool first = !has_input_;
    has_input_ = true;
    const string_view suffix = suffix_of(path);
    const bool is_header =
        language_.empty() ? is_one_of(suffix, kHeaderSuffixes) : language_.ends_with("-header");
    only_headers_ = (first || only_headers_) && is_header;
    const string_view name = path.substr(path.rfind('/') + 1);
    if (name.starts_with("libc.")) names_c_library_ = true;
    if (name.ends_with(".so") || name.find(".so.") != string_view::npos)
      request_.libraries.push_back({std::string(path), /*is_path=*/true});
    if (language_.empty() ? suffix == "ll" || suffix == "bc" : language_ == "ir")
      request_.options.is_marked = false;
    if (language_.empty())
      request_.compiles |= is_one_of(suffix, kSourceSuffixes) || is_header;
    else
      request_.compiles |= !language_.starts_with("assembler");
  }

  void read_option(string_view option, string_view next) {
    if (option == "-x" || option == "--language") return set_language(next);
    if (option.starts_with("-x")) return set_language(option.substr(2));
    if (option.starts_with("--language=")) return set_language(option.substr(11));
    if (is_one_of(option, kStopsBeforeLink)) stops_before_link_ = true;
    other_output_ |= says_linker(option, next, kOtherOutput);
    request_.is_relocatable |= says_linker(option, next, kRelocatable);
    if (forbids_undefined(option, next)) request_.forbids_undefined = true;
    if (option == "-static" || option == "--static" || option == "-static-pie") request_.is_static = true;
    if (option == "-static-libstdc++") request_.has_static_cxx = true;
    if (option.starts_with("-save-temps") || option.starts_with("--save-temps"))
      request_.saves_temporaries = true;
    if (option == "-flto" || option.starts_with("-flto=")) request_.uses_lto = true;
    if (option == "-fno-lto") request_.uses_lto = false;
    if (option.starts_with("-fuse-ld=") || option.starts_with("--ld-path=")) request_.chose_linker = true;
    if (option.starts_with("-l")) has_input_ = true;
    read_library(option, next);
    if (says_linker(option, next, kCLibrary) || (option == "-l" && next == "c")) names_c_library_ = true;
    if (says_linker(option, next, kLibgcc) || (option == "-l" && next == "gcc")) request_.names_libgcc = true;
    if (is_one_of(option, kWithoutLibraries)) {
      without_libraries_ = option;
      request_.names_libraries = true;
    }
    if (option == "-femulated-tls") is_tls_emulated_ = true;
    if (option == "-fno-emulated-tls") is_tls_emulated_ = false;
    if (option == "-m32" || option == "-mx32") is_32_bit_ = true;
    if (option == "-m64") is_32_bit_ = false;
    for (size_t i = 0; i < kOtherRuntimes.size(); ++i) {
      if (option.starts_with("-fsanitize=") && list_has(option.substr(11), kOtherRuntimes[i]))
        sanitizers_[i] = true;
      if (option.starts_with("-fno-sanitize=") &&
          (list_has(option.substr(14), kOtherRuntimes[i]) || list_has(option.substr(14), "all")))
        sanitizers_[i] = false;
    }
  }

  // -l and -L, to the driver or to the linker, and libraries by their paths to the linker.
  void read_library(string_view option, string_view next) {
    if (option == "-l" || option == "-L") return note_library(std::string(option).append(next));
    if (option == "-Xlinker") return note_library(next);
    if (!option.starts_with("-Wl,")) return note_library(option);
    for (option.remove_prefix(3); !option.empty();) {
      option.remove_prefix(1);
      const size_t comma = std::min(option.find(','), option.size());
      note_library(option.substr(0, comma));
      option.remove_prefix(comma);
    }
  }
  void note_library(string_view word) {
    if (word.starts_with("-l")) request_.libraries.push_back({std::string(word.substr(2))});
    if (word.starts_with("-L")) request_.library_folders.emplace_back(word.substr(2));
    if (word.starts_with("/") && word.find(".so") != string_view::npos)
      request_.libraries.push_back({std::string(word), /*is_path=*/true});
  }

  void set_language(string_view language) { language_ = language == "none" ? string_view() : language; }

  Request& request_;
  string_view language_;
  bool has_input_ = false;
  bool only_headers_ = false;
  bool stops_before_link_ = false;
  bool other_output_ = false;
  std::array<bool, kOtherRuntimes.size()> sanitizers_{};
  bool is_32_bit_ = false;
  bool is_tls_emulated_ = false;
  std::string without_libraries_;  // the option that leaves the C library out
  bool names_c_library_ = false;
};

// Takes our own flags out of the arguments.
Status read_own_flags(const std::vector<std::string>& arguments, Request& request) {
  for (const std::string& argument : arguments) {
    const string_view text = argument;
    constexpr string_view kMode = "--deadheat-mode=", kOpt = "--deadheat-opt=";
    if (text.starts_with(kMode)) {
      request.mode = text.substr(kMode.size());
    } else if (text.starts_with(kOpt)) {
      if (Status status = apply_switches(text.substr(kOpt.size()), request.options); !status.ok())
        return Error{argument + ": " + status.error().message};
    } else if (text == "--deadheat-stats") {
      request.options.statistics = true;
    } else if (text.starts_with("--deadheat")) {
      return Error{argument +
                   ": unknown option; expected --deadheat-mode=, --deadheat-opt= or --deadheat-stats"};
    } else {
      request.forwarded.push_back(argument);
    }
  }
  constexpr auto kModes = std::to_array<string_view>({"watch", "monitor", "record", "off"});
  if (!is_one_of(request.mode, kModes))
    return Error{"unknown mode '" + request.mode + "': expected watch, monitor, record or off"};
  return Nothing{};
}

std::string plugin_options(const Request& request) {
  std::string text = "mode=" + request.mode;
  if (request.options.statistics) text += ",stats";
  if (request.options.is_marked) text += ",marked";
  for (size_t i = 0; i < kOptimisationNames.size(); ++i)
    if (!request.options.enabled[i]) text.append(",-").append(kOptimisationNames[i]);
  // What is compiled and linked at once may become a library without having been asked to be fit for that.
  if (request.links && !request.links_executable) text += ",-direct";
  return text;
}

void append_linker(std::vector<std::string>& arguments, std::initializer_list<std::string> options) {
  for (const std::string& option : options) {
    arguments.push_back("-Xlinker");
    arguments.push_back(option);
  }
}

std::string archive_of(const Environment& environment, const Request& request) {
  return environment.library_folder + "/libdeadheat_" + request.mode +
         (request.is_static        ? "_static.a"
          : request.has_static_cxx ? "_static_cxx.a"
                                   : ".a");
}

// The sanitizers' common interface, after everything of the user's: what an executable or a library uses of
// it becomes part of it.
void append_sanitizer_interface(const Environment& environment, const Request& request,
                                std::vector<std::string>& arguments) {
  const std::string archive = environment.library_folder + "/libdeadheat_" + request.mode + "_sanitizer.a";
  if (environment.file_exists(archive))
    append_linker(arguments, {"--push-state", "--no-whole-archive", archive, "--pop-state"});
}

// The runtime; without what the program's shared libraries define otherwise, see taken_names.h.
std::string runtime_for(const Environment& environment, const Request& request, const std::string& archive) {
  if (request.is_static || request.libraries.empty()) return archive;
  std::vector<std::string> folders = request.library_folders;
  for (string_view rest = environment.library_path; !rest.empty();) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    folders.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  const std::vector<std::string> libraries = find_libraries(request.libraries, folders);
  std::string interposed;
  if (libraries.empty() ||
      !environment.read_file(environment.library_folder + "/interposed.list", interposed))
    return archive;
  const auto names = names_left_to_programs(interposed);
  std::set<std::string, std::less<>> taken;
  for (const std::string& library : libraries) taken.merge(defined_by(library, names));
  std::string contents;
  if (taken.empty() || !environment.read_file(archive, contents)) return archive;
  undefine(contents, taken);
  const std::string lent = environment.lend_file(contents);
  return lent.empty() ? archive : lent;
}

// The runtime, whole, after everything of the user's: -Xlinker keeps the place and no -x before it can
// mistake the archive for a source file.
Status append_runtime(const Environment& environment, const Request& request,
                      std::vector<std::string>& arguments) {
  const std::string& folder = environment.library_folder;
  const std::string archive = archive_of(environment, request);
  if (!environment.file_exists(archive))
    return Error{"mode '" + request.mode + "' cannot be linked: expected the runtime " + archive +
                 ", found no such file"};
  append_linker(arguments, {"--push-state", "--no-as-needed", "--whole-archive",
                            runtime_for(environment, request, archive), "--no-whole-archive"});
  if (request.is_static) {
    // What a static program calls inside libc cannot be interposed by name; the linker redirects it. As -Wl,
    // because clang itself would expand an argument that begins with @.
    arguments.push_back("-Wl,@" + folder + "/" + request.mode + ".wrap");
  } else {
    // Shared libraries, loaded late ones included, find hooks and interposed functions in the executable.
    append_linker(arguments, {"--dynamic-list=" + folder + "/" + request.mode + ".dynlist"});
    if (request.has_static_cxx)
      arguments.push_back("-Wl,@" + folder + "/" + request.mode + "_static_cxx.wrap");
  }
  append_linker(arguments, {"-lpthread", "-ldl", "--pop-state"});
  return Nothing{};
}

}  // namespace

Result<Request> understand(const Environment& environment, const std::vector<std::string>& arguments) {
  Request request;
  request.mode = environment.mode_variable.empty() ? "watch" : environment.mode_variable;
  if (Status status = read_own_flags(arguments, request); !status.ok()) return status.error();
  if (request.mode == "off" ||
      (!request.forwarded.empty() && request.forwarded.front().starts_with("-cc1"))) {
    request.passes_through = true;
    return request;
  }
  std::vector<std::string> expanded;
  expand(environment, request.forwarded, 0, expanded);
  // IR comes as it is; nobody has marked its functions.
  request.options.is_marked = true;
  Reader reader(request);
  if (Status status = reader.read(expanded); !status.ok()) return status.error();
  return request;
}

Result<Command> make_command(const Environment& environment, const std::vector<std::string>& arguments) {
  Result<Request> understood = understand(environment, arguments);
  if (!understood.ok()) return understood.error();
  const Request& request = *understood;

  Command command;
  command.arguments.push_back(environment.clang);
  std::vector<std::string>& out = command.arguments;
  const bool is_cc1 = !request.forwarded.empty() && request.forwarded.front().starts_with("-cc1");
  if (environment.program.ends_with("++") && !is_cc1) out.push_back("--driver-mode=g++");
  if (request.passes_through) {
    out.insert(out.end(), request.forwarded.begin(), request.forwarded.end());
    return command;
  }

  command.plugin_options = plugin_options(request);
  if (request.compiles) {
    const std::string plugin = environment.library_folder + "/deadheat_plugin.so";
    if (!environment.file_exists(plugin))
      return Error{"expected the plugin " + plugin + ", found no such file"};
    // A lane that cannot be linked is not compiled for either.
    if (const std::string archive = archive_of(environment, request); !environment.file_exists(archive))
      return Error{"mode '" + request.mode + "' is not part of this installation: expected the runtime " +
                   archive + ", found no such file"};
    // Before the user's flags, which win: lines are what a report shows, and -g0 still turns them off.
    out.insert(out.end(), {"--start-no-unused-arguments", "-gline-tables-only", "-fno-discard-value-names",
                           "-D__DEADHEAT__=1", "-fpass-plugin=" + plugin});
    // clang warns of its own assembly if that was written with lines of DWARF 5 and is read again, for a
    // source in another folder. Without our lines most programs would not see that.
    if (request.saves_temporaries) out.push_back("-gdwarf-4");
    // libstdc++'s strings, compiled into the program: src/instrument/libstdc++/bits/basic_string.tcc. The
    // record lane knows what the library's own do (replay/live/models_cxx_string.cc).
    if (request.mode == "watch")
      out.insert(out.end(), {"-isystem", environment.library_folder + "/libstdc++"});
    // For <deadheat/annotate.h>; last, so that a copy the project brings along wins.
    out.insert(out.end(), {"-idirafter", environment.library_folder + "/include"});
    // The front end alone, not the driver: see sanitizer_marks.h.
    if (request.options.is_marked) out.insert(out.end(), {"-Xclang", "-fsanitize=thread"});
    out.push_back("--end-no-unused-arguments");
  }
  // Link-time optimisation of clang's bitcode needs clang's linker.
  if (request.uses_lto && !request.chose_linker && request.links) out.push_back("-fuse-ld=lld");
  // libgcc has a function __wrap_pthread_create of its own, for split stacks. In a static program that names
  // libgcc, it would come before ours.
  const bool runtime_first = request.links_executable && request.is_static && request.names_libgcc;
  if (runtime_first)
    if (Status status = append_runtime(environment, request, out); !status.ok()) return status.error();
  out.insert(out.end(), request.forwarded.begin(), request.forwarded.end());
  if (request.links && !request.is_relocatable) append_sanitizer_interface(environment, request, out);
  if (request.links_executable && !runtime_first)
    if (Status status = append_runtime(environment, request, out); !status.ok()) return status.error();
  // Libraries that the user names may stand before the runtime, which needs more of them than the program
  // does.
  if (request.links_executable && request.is_static && request.names_libraries)
    append_linker(out, {"--start-group", "-lgcc", "-lgcc_eh", "-lc", "--end-group"});
  // The hooks are in the executable. Build systems that want libraries to be complete (Meson does) must not
  // ask for these.
  if (request.links && !request.links_executable && request.forbids_undefined)
    append_linker(out, {"-z", "undefs"});
  return command;
}

}  // namespace deadheat::instrument::wrapper
