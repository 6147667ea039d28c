#include "recording/description.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

namespace deadheat::recording {
namespace {

using Json = nlohmann::json;

// Reads members of one object; remembers the first thing that is wrong.
class Members {
 public:
  Members(const std::string& text, const std::string& name)
      : name_(name), json_(Json::parse(text, nullptr, /*allow_exceptions=*/false)) {
    if (json_.is_discarded()) {
      fail("JSON", "something else");
    } else if (!json_.is_object()) {
      fail("a JSON object", json_.type_name());
    }
  }

  template <class Integer>
  void integer(const char* key, Integer& out) {
    const Json* member = find(key);
    if (member == nullptr) return;
    const bool fits =
        member->is_number_unsigned()
            ? member->get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<Integer>::max())
            : member->is_number_integer() && std::numeric_limits<Integer>::is_signed &&
                  member->get<std::int64_t>() >=
                      static_cast<std::int64_t>(std::numeric_limits<Integer>::min());
    if (!fits) return fail_member(key, "an integer", *member);
    out = member->get<Integer>();
  }
  void number(const char* key, double& out) {
    const Json* member = find(key);
    if (member == nullptr) return;
    if (!member->is_number()) return fail_member(key, "a number", *member);
    out = member->get<double>();
  }
  void boolean(const char* key, bool& out) {
    const Json* member = find(key);
    if (member == nullptr) return;
    if (!member->is_boolean()) return fail_member(key, "true or false", *member);
    out = member->get<bool>();
  }
  void string(const char* key, std::string& out) {
    const Json* member = find(key);
    if (member == nullptr) return;
    if (!member->is_string()) return fail_member(key, "a string", *member);
    out = member->get<std::string>();
  }
  void strings(const char* key, std::vector<std::string>& out) {
    const Json* member = find(key);
    if (member == nullptr) return;
    if (!member->is_array()) return fail_member(key, "an array of strings", *member);
    for (const Json& element : *member) {
      if (!element.is_string()) return fail_member(key, "an array of strings", element);
      out.push_back(element.get<std::string>());
    }
  }
  // "format": a version that we do not read is the first thing to say about a file.
  void version() {
    std::uint64_t version = 0;
    if (error_.empty() && find("format") == nullptr) return fail("a member \"format\"", "none");
    integer("format", version);
    if (error_.empty() && (version < kOldestVersion || version > kVersion)) {
      error_ = fmt::format("{}: expected format version {}, found {}{}", name_, kVersion, version,
                           version > kVersion ? ": written by a newer deadheat" : "");
    }
  }
  void fail_member(const char* key, const char* expected, const Json& found) {
    fail(fmt::format("{} as \"{}\"", expected, key),
         found.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 40));
  }

  const std::string& error() const { return error_; }

 private:
  const Json* find(const char* key) const {
    if (!error_.empty()) return nullptr;
    auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  void fail(const std::string& expected, const std::string& found) {
    if (error_.empty()) error_ = fmt::format("{}: expected {}, found {}", name_, expected, found);
  }

  std::string name_;
  Json json_;
  std::string error_;
};

// A command line may hold any bytes; JSON may not.
std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

constexpr StopReason kReasons[] = {StopReason::kProgramEnded, StopReason::kLimit, StopReason::kDiskFull,
                                   StopReason::kWriterGone};

}  // namespace

const char* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kProgramEnded:
      return "program ended";
    case StopReason::kLimit:
      return "limit";
    case StopReason::kDiskFull:
      return "disk full";
    case StopReason::kWriterGone:
      return "writer gone";
  }
  return "";
}

std::string to_json(const Description& description) {
  nlohmann::ordered_json json;
  json["format"] = kVersion;
  json["deadheat"] = description.deadheat;
  json["command"] = description.command;
  json["folder"] = description.folder;
  json["start"] = description.start_time;
  json["pid"] = description.pid;
  return dump(json);
}

std::string to_json(const Ending& ending) {
  nlohmann::ordered_json json;
  json["format"] = kVersion;
  json["reason"] = to_string(ending.reason);
  json["program_ended"] = ending.program_ended;
  json["exit"] = ending.exit_code;
  json["signal"] = ending.signal;
  json["threads"] = ending.threads;
  json["unrecorded_threads"] = ending.unrecorded_threads;
  json["sequencers"] = ending.sequencers;
  json["raw_bytes"] = ending.raw_bytes;
  json["log_bytes"] = ending.log_bytes;
  json["wall_seconds"] = ending.wall_seconds;
  json["cpu_seconds"] = ending.cpu_seconds;
  return dump(json);
}

Result<Description> parse_description(const std::string& text, const std::string& name) {
  Members members(text, name);
  Description description;
  members.version();
  members.string("deadheat", description.deadheat);
  members.strings("command", description.command);
  members.string("folder", description.folder);
  members.string("start", description.start_time);
  members.integer("pid", description.pid);
  if (!members.error().empty()) return Error{members.error()};
  return description;
}

Result<Ending> parse_ending(const std::string& text, const std::string& name) {
  Members members(text, name);
  Ending ending;
  members.version();
  std::string reason;
  members.string("reason", reason);
  members.boolean("program_ended", ending.program_ended);
  members.integer("exit", ending.exit_code);
  members.integer("signal", ending.signal);
  members.integer("threads", ending.threads);
  members.integer("unrecorded_threads", ending.unrecorded_threads);
  members.integer("sequencers", ending.sequencers);
  members.integer("raw_bytes", ending.raw_bytes);
  members.integer("log_bytes", ending.log_bytes);
  members.number("wall_seconds", ending.wall_seconds);
  members.number("cpu_seconds", ending.cpu_seconds);
  if (members.error().empty()) {
    bool known = false;
    for (StopReason candidate : kReasons) {
      if (reason == to_string(candidate)) ending.reason = candidate, known = true;
    }
    if (!known)
      members.fail_member("reason", "\"program ended\", \"limit\", \"disk full\" or \"writer gone\"", reason);
  }
  if (!members.error().empty()) return Error{members.error()};
  return ending;
}

}  // namespace deadheat::recording
