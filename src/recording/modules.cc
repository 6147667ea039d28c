#include "recording/modules.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "recording/whole_file.h"

namespace deadheat::recording {
namespace {

namespace fs = std::filesystem;

// The files grow with the program, not with the run; beyond this something is wrong.
constexpr std::uint64_t kMaxMapBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxBitcodeBytes = std::uint64_t{4} << 30;

// One line's words, one after another.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  std::string_view next() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    const std::size_t length = std::min(rest_.find(' '), rest_.size());
    std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return word;
  }

 private:
  std::string_view rest_;
};

bool parse(std::string_view word, int base, std::uint64_t& out) {
  if (base == 16 && word.starts_with("0x")) word.remove_prefix(2);
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out, base);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

class MapParser {
 public:
  MapParser(std::string path, ModuleLoading& loading) : path_(std::move(path)), loading_(loading) {}

  Status parse(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      const std::size_t length = text.find('\n');
      if (length == std::string_view::npos) return fail("a whole line", "half of one");
      if (Status status = parse_line(text.substr(0, length)); !status) return status;
      text.remove_prefix(length + 1);
    }
    if (!loading_.modules.empty() && wanted_globals_ != loading_.modules.back().globals.size()) {
      return fail(
          fmt::format("{} globals of module {}", wanted_globals_, to_string(loading_.modules.back().id)),
          fmt::format("{}", loading_.modules.back().globals.size()));
    }
    return Nothing{};
  }

 private:
  Status fail(const std::string& expected, std::string_view found) const {
    return Error{fmt::format("{}: line {}: expected {}, found {}", path_, line_, expected, found)};
  }

  Status parse_line(std::string_view line) {
    Words words(line);
    const std::string_view kind = words.next();
    if (kind == "module") return parse_module(words);
    if (kind == "globals") return parse_globals(words);
    if (kind == "function") return parse_function(words);
    if (kind.empty()) return Nothing{};
    return fail("\"module\", \"globals\" or \"function\"", fmt::format("\"{}\"", kind.substr(0, 40)));
  }

  Status parse_module(Words& words) {
    if (!loading_.modules.empty() && wanted_globals_ != loading_.modules.back().globals.size()) {
      return fail(
          fmt::format("{} globals of module {}", wanted_globals_, to_string(loading_.modules.back().id)),
          fmt::format("{}", loading_.modules.back().globals.size()));
    }
    const std::string_view id = words.next(), count = words.next();
    std::uint64_t number = 0;
    if (id.size() != 16 || !recording::parse(id, 16, number))
      return fail("a module's id of 16 hex digits", fmt::format("\"{}\"", id));
    if (!recording::parse(count, 10, wanted_globals_))
      return fail("a number of globals", fmt::format("\"{}\"", count));
    Module module;
    module.id = ModuleId(number);
    module.bitcode = (fs::path(path_).parent_path() / (to_string(module.id) + ".bc")).string();
    loading_.modules.push_back(std::move(module));
    return Nothing{};
  }

  Status parse_globals(Words& words) {
    if (loading_.modules.empty()) return fail("\"module\" before \"globals\"", "none");
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      std::uint64_t address = 0;
      if (!recording::parse(word, 16, address)) return fail("an address in hex", fmt::format("\"{}\"", word));
      loading_.modules.back().globals.push_back(Address(address));
    }
    if (loading_.modules.back().globals.size() > wanted_globals_) {
      return fail(fmt::format("{} globals", wanted_globals_), "more");
    }
    return Nothing{};
  }

  Status parse_function(Words& words) {
    const std::string_view id = words.next(), index = words.next(), address = words.next();
    std::uint64_t module = 0, at = 0;
    ModuleFunction function;
    if (!recording::parse(id, 16, module))
      return fail("a module's id of 16 hex digits", fmt::format("\"{}\"", id));
    if (!recording::parse(index, 10, function.index))
      return fail("a function's index", fmt::format("\"{}\"", index));
    if (!recording::parse(address, 16, at)) return fail("an address in hex", fmt::format("\"{}\"", address));
    function.module = ModuleId(module);
    function.address = Address(at);
    loading_.functions.push_back(function);
    return Nothing{};
  }

  std::string path_;
  ModuleLoading& loading_;
  std::uint64_t line_ = 0;
  std::uint64_t wanted_globals_ = 0;
};

}  // namespace

std::string to_string(ModuleId id) { return fmt::format("{:016x}", id.value()); }

Status parse_map(std::string_view text, const std::string& path, ModuleLoading& loading) {
  return MapParser(path, loading).parse(text);
}

Result<std::vector<ModuleLoading>> read_modules(const std::string& folder) {
  const std::string modules = folder + "/" + kModulesFolder;
  std::vector<ModuleLoading> loadings;
  std::error_code error;
  fs::directory_iterator entries(modules, error);
  // A program that was killed at once had no modules yet.
  if (error == std::errc::no_such_file_or_directory) return loadings;
  if (error) return Error{fmt::format("{}: cannot be read: {}", modules, error.message())};
  for (const fs::directory_entry& entry : entries) {
    const fs::path& path = entry.path();
    std::uint64_t number = 0;
    if (path.extension() != ".map" || !parse(path.stem().string(), 10, number) || number > UINT32_MAX)
      continue;
    ModuleLoading loading;
    loading.number = static_cast<std::uint32_t>(number);
    auto text = read_whole_file(path.string(), kMaxMapBytes);
    if (!text) return text.error();
    if (Status status = parse_map(*text, path.string(), loading); !status) return status.error();
    for (const Module& module : loading.modules) {
      struct stat there{};
      if (stat(module.bitcode.c_str(), &there) != 0) {
        return Error{fmt::format("{}: missing: expected the bitcode of a module that {} names",
                                 module.bitcode, path.string())};
      }
    }
    loadings.push_back(std::move(loading));
  }
  std::sort(loadings.begin(), loadings.end(),
            [](const ModuleLoading& a, const ModuleLoading& b) { return a.number < b.number; });
  for (std::size_t i = 0; i < loadings.size(); ++i) {
    if (loadings[i].number != i)
      return Error{fmt::format("{}/{}.map: missing: expected the modules of all loadings, found {}.map",
                               modules, i, loadings[i].number)};
  }
  return loadings;
}

Result<std::string> read_bitcode(const Module& module) {
  auto bytes = read_whole_file(module.bitcode, kMaxBitcodeBytes);
  if (!bytes) return bytes.error();
  const ModuleId found(XXH3_64bits(bytes->data(), bytes->size()));
  if (found != module.id) {
    return Error{fmt::format("{}: damaged: expected bitcode with the hash {}, found {}", module.bitcode,
                             to_string(module.id), to_string(found))};
  }
  return bytes;
}

}  // namespace deadheat::recording
