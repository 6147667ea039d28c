#include "report/raw.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "report/names.h"

namespace deadheat::report {
namespace {

using Json = nlohmann::json;

// A race line holds a few stacks of a few hundred frames: kilobytes. Anything near this size is not ours.
constexpr std::size_t kMaxLine = 16u << 20;
// The runtime bounds its stacks too; a hostile log must not make us symbolise a million frames.
constexpr std::size_t kMaxFrames = 4096;
constexpr std::size_t kMaxAccesses = 64;
constexpr std::size_t kMaxLocks = 1024;

// Thrown inside this file only: from deep in a line to `RawParser::line`, which counts it.
struct Damage {
  std::string what;
};

const Json& field(const Json& object, const char* key) {
  static const Json kNull;
  auto it = object.find(key);
  return it == object.end() ? kNull : *it;
}

std::string text_of(const Json& object, const char* key) {
  const Json& value = field(object, key);
  if (value.is_null()) return {};
  if (!value.is_string()) throw Damage{std::string("\"") + key + "\": expected a string"};
  return value.get<std::string>();
}

std::optional<std::uint64_t> number_of(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer() && value.get<std::int64_t>() >= 0) return value.get<std::uint64_t>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() < 3 || text.size() > 18 || text[0] != '0' || text[1] != 'x') return std::nullopt;
  std::uint64_t result = 0;
  for (char c : std::string_view(text).substr(2)) {
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) return std::nullopt;
    result = result << 4 | static_cast<std::uint64_t>(digit);
  }
  return result;
}

std::uint64_t number_of(const Json& object, const char* key, std::uint64_t otherwise) {
  const Json& value = field(object, key);
  if (value.is_null()) return otherwise;
  auto number = number_of(value);
  if (!number) throw Damage{std::string("\"") + key + "\": expected a number or \"0x...\""};
  return *number;
}

std::uint32_t small_of(const Json& object, const char* key, std::uint32_t otherwise) {
  std::uint64_t number = number_of(object, key, otherwise);
  if (number > UINT32_MAX) throw Damage{std::string("\"") + key + "\": expected at most 32 bits"};
  return static_cast<std::uint32_t>(number);
}

bool truth_of(const Json& object, const char* key) {
  const Json& value = field(object, key);
  if (value.is_null()) return false;
  if (!value.is_boolean()) throw Damage{std::string("\"") + key + "\": expected true or false"};
  return value.get<bool>();
}

RawStack stack_of(const Json& object, const char* key) {
  const Json& value = field(object, key);
  if (value.is_null()) return {};
  if (!value.is_array()) throw Damage{std::string("\"") + key + "\": expected an array of addresses"};
  RawStack stack;
  for (const Json& entry : value) {
    if (stack.size() == kMaxFrames) break;
    auto pc = number_of(entry);
    if (!pc) throw Damage{std::string("\"") + key + "\": expected an array of addresses"};
    stack.push_back(*pc);
  }
  return stack;
}

// Values are shown, never computed with: a number or a string, kept as text.
std::optional<std::string> value_of(const Json& object, const char* key) {
  const Json& value = field(object, key);
  if (value.is_null()) return std::nullopt;
  if (value.is_string()) return value.get<std::string>();
  return value.dump();
}

RawVariable variable_of(const Json& object) {
  RawVariable variable;
  if (object.is_null()) return variable;
  if (!object.is_object()) throw Damage{"\"var\": expected an object"};
  variable.kind = variable_kind_named(text_of(object, "kind")).value_or(VariableKind::kUnknown);
  variable.name = text_of(object, "name");
  variable.function = text_of(object, "function");
  variable.file = text_of(object, "file");
  variable.line = static_cast<int>(std::min<std::uint64_t>(number_of(object, "line", 0), 1u << 30));
  variable.address = number_of(object, "addr", 0);
  variable.size = number_of(object, "size", 0);
  if (object.contains("thread")) variable.thread = small_of(object, "thread", 0);
  variable.stack = stack_of(object, "stack");
  variable.freed = stack_of(object, "freed");
  variable.module = number_of(object, "module", 0);
  return variable;
}

RawAccess access_of(const Json& object, std::uint64_t address) {
  if (!object.is_object()) throw Damage{"\"accesses\": expected objects"};
  RawAccess access;
  access.thread = small_of(object, "thread", 0);
  auto operation = operation_named(text_of(object, "op"));
  if (!operation) throw Damage{"\"op\": expected read, write, atomic-read, atomic-write or free"};
  access.operation = *operation;
  access.size = small_of(object, "size", 0);
  access.address = number_of(object, "addr", address);
  access.stack = stack_of(object, "stack");
  access.value = value_of(object, "value");
  access.before = value_of(object, "before");
  const Json& locks = field(object, "locks");
  if (!locks.is_null() && !locks.is_array()) throw Damage{"\"locks\": expected an array"};
  for (const Json& lock : locks) {
    if (access.locks.size() == kMaxLocks) break;
    if (!lock.is_object()) throw Damage{"\"locks\": expected objects"};
    access.locks.push_back({number_of(lock, "addr", 0), truth_of(lock, "shared"), stack_of(lock, "stack")});
  }
  return access;
}

RawRace race_of(const Json& object) {
  RawRace race;
  if (object.contains("id")) race.id = number_of(object, "id", 0);
  race.detector = text_of(object, "detector");
  race.address = number_of(object, "addr", 0);
  race.variable = variable_of(field(object, "var"));
  race.why = text_of(object, "why");
  const Json& accesses = field(object, "accesses");
  if (!accesses.is_array() || accesses.size() < 2 || accesses.size() > kMaxAccesses) {
    throw Damage{"\"accesses\": expected two or more"};
  }
  for (const Json& access : accesses) race.accesses.push_back(access_of(access, race.address));
  return race;
}

}  // namespace

std::uint64_t RawLog::instances_of(const RawRace& race) const {
  auto it = race.id ? instances.find(*race.id) : instances.end();
  return it == instances.end() ? 1 : std::max<std::uint64_t>(1, it->second);
}

const RawModule* RawLog::module_of(std::uint64_t address) const {
  // Newest first: what was loaded last is what is there.
  for (auto it = modules.rbegin(); it != modules.rend(); ++it) {
    if (address >= it->begin && address < it->end) return &*it;
  }
  return nullptr;
}

RawParser::RawParser(std::function<void(const RawLog&, const RawRace&)> on_race)
    : logs_(1), on_race_(std::move(on_race)) {}

void RawParser::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    std::size_t end = bytes.find('\n');
    std::string_view piece = bytes.substr(0, end);
    if (!skipping_ && partial_.size() + piece.size() > kMaxLine) {
      skipping_ = true;
      partial_.clear();
      partial_.shrink_to_fit();
    }
    if (end == std::string_view::npos) {
      if (!skipping_) partial_.append(piece);
      return;
    }
    bytes.remove_prefix(end + 1);
    lines_++;
    if (skipping_) {
      skipping_ = false;
      damage("expected a line of at most 16 MiB");
    } else if (partial_.empty()) {
      line(piece);
    } else {
      partial_.append(piece);
      line(partial_);
      partial_.clear();
    }
  }
}

void RawParser::damage(std::string_view what) {
  if (log().damaged++ == 0) log().first_damage = "line " + std::to_string(lines_) + ": " + std::string(what);
}

void RawParser::line(std::string_view text) {
  if (text.empty()) return;
  Json object = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return damage("expected a JSON object");
  try {
    std::string type = text_of(object, "t");
    if (type == "start") {
      std::uint64_t format = number_of(object, "deadheat", 0);
      if (format != kRawFormat) {
        return damage("expected raw format " + std::to_string(kRawFormat) + ", found " +
                      std::to_string(format));
      }
      if (log().started) logs_.emplace_back();
      log().started = true;
      log().pid = number_of(object, "pid", 0);
      log().version = text_of(object, "version");
      log().mode = text_of(object, "mode");
      log().suppressions = text_of(object, "suppressions");
      for (const Json& argument : field(object, "argv")) {
        if (argument.is_string()) log().argv.push_back(argument.get<std::string>());
      }
    } else if (type == "module") {
      RawModule module;
      module.id = small_of(object, "id", 0);
      module.path = text_of(object, "path");
      module.base = number_of(object, "base", 0);
      module.begin = number_of(object, "begin", module.base);
      module.end = number_of(object, "end", 0);
      module.build_id = text_of(object, "build_id");
      log().modules.push_back(std::move(module));
    } else if (type == "thread") {
      RawThread thread;
      thread.id = small_of(object, "id", 0);
      if (!field(object, "parent").is_null()) thread.parent = small_of(object, "parent", 0);
      if (thread.parent == thread.id) thread.parent.reset();
      thread.name = text_of(object, "name");
      thread.stack = stack_of(object, "stack");
      thread.os_id = number_of(object, "os", 0);
      log().threads[thread.id] = std::move(thread);
    } else if (type == "race") {
      RawRace race = race_of(object);
      if (on_race_) {
        on_race_(log(), race);
      } else {
        log().races.push_back(std::move(race));
      }
    } else if (type == "instances") {
      log().instances[number_of(object, "race", 0)] = number_of(object, "count", 1);
    } else if (type == "note") {
      log().notes.push_back(text_of(object, "text"));
    } else if (type == "end") {
      log().ended = true;
      const Json& exit = field(object, "exit");
      if (exit.is_number_integer()) log().exit = exit.get<int>();
      const Json& statistics = field(object, "statistics");
      if (statistics.is_object()) {
        for (auto it = statistics.begin(); it != statistics.end(); ++it)
          log().statistics[it.key()] = it->dump();
      }
    }
    // Other types are of a newer runtime: nothing we promised to know.
  } catch (const Damage& found) {
    damage(found.what);
  } catch (const nlohmann::json::exception& found) {  // dump() of text that is not UTF-8
    damage(found.what());
  }
}

Result<std::vector<RawLog>> read_raw_file(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (!file) return Error{path + ": cannot be read: " + std::strerror(errno)};
  RawParser parser;
  char buffer[1 << 16];
  while (std::feof(file.get()) == 0 && std::ferror(file.get()) == 0)
    parser.feed({buffer, std::fread(buffer, 1, sizeof buffer, file.get())});
  if (std::ferror(file.get())) return Error{path + ": cannot be read: " + std::strerror(errno)};
  return std::move(parser).take();
}

}  // namespace deadheat::report
