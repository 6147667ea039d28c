#include "report/sarif.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "report/frames.h"
#include "report/names.h"
#include "report/prose.h"

namespace deadheat::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxResults = 5000;
constexpr std::size_t kMaxFrames = 100;

// RFC 3986: everything but unreserved characters and slashes is written as its bytes.
std::string uri_of(std::string_view path) {
  std::string uri;
  for (unsigned char c : path) {
    bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                    c == '.' || c == '-' || c == '_' || c == '~';
    uri += is_plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return uri;
}

class Writer {
 public:
  Writer(const Report& report, std::string source_root) : report_(report), root_(std::move(source_root)) {
    while (root_.ends_with('/')) root_.pop_back();
  }

  Json run() {
    Json run = Json::object();
    run["tool"]["driver"] = driver();
    run["invocations"] = Json::array({invocation()});
    run["columnKind"] = "unicodeCodePoints";
    run["results"] = Json::array();
    for (std::size_t i = 0; i < std::min(kMaxResults, report_.findings.size()); i++) {
      run["results"].push_back(result(report_.findings[i]));
    }
    return run;
  }

 private:
  static Json driver() {
    Json race = {
        {"id", "data-race"},
        {"name", "DataRace"},
        {"shortDescription", {{"text", "Data race"}}},
        {"fullDescription",
         {{"text",
           "Two threads access the same memory, at least one of them writes, and nothing orders the two "
           "accesses. In C and C++ the behaviour of the program is undefined."}}},
        {"help",
         {{"text",
           "Guard both accesses with one mutex, make the variable atomic, or order the threads (join, a "
           "condition variable, a barrier)."}}},
        {"defaultConfiguration", {{"level", "error"}}},
        {"properties", {{"tags", {"concurrency", "reliability"}}, {"precision", "very-high"}}}};
    Json high = {
        {"id", "high-level-race"},
        {"name", "HighLevelRace"},
        {"shortDescription", {{"text", "High-level race"}}},
        {"fullDescription",
         {{"text",
           "Variables that belong together are changed or read by parts, so that another thread can see "
           "them inconsistent, although each single access may be guarded."}}},
        {"help", {{"text", "Change and read the whole set within one critical section."}}},
        {"defaultConfiguration", {{"level", "warning"}}},
        {"properties", {{"tags", {"concurrency", "reliability"}}, {"precision", "medium"}}}};
    Json driver = Json::object();
    driver["name"] = "deadheat";
    driver["version"] = DEADHEAT_VERSION;
    driver["semanticVersion"] = DEADHEAT_VERSION;
    driver["rules"] = Json::array({race, high});
    return driver;
  }

  Json invocation() const {
    Json invocation = Json::object();
    invocation["executionSuccessful"] = !report_.incomplete;
    if (!report_.program.again.empty()) invocation["commandLine"] = report_.program.again;
    invocation["exitCode"] = report_.program.exit;
    Json notifications = Json::array();
    auto notify = [&](const std::string& text) {
      notifications.push_back({{"level", "note"}, {"message", {{"text", text}}}});
    };
    for (const std::string& note : report_.notes) notify(note);
    if (report_.findings.size() > kMaxResults) {
      notify(fmt::format("{} of {} findings are not in this file: viewers show {} at most",
                         report_.findings.size() - kMaxResults, report_.findings.size(), kMaxResults));
    }
    if (!notifications.empty()) invocation["toolExecutionNotifications"] = std::move(notifications);
    return invocation;
  }

  Json artifact(const std::string& file, const std::string& directory = "") const {
    Json artifact = Json::object();
    // Viewers know the sources' root, not where each compiler ran.
    std::string full = file;
    if (!file.starts_with("/") && !directory.empty() && !root_.empty() && directory != root_) {
      full = std::filesystem::path(directory + "/" + file).lexically_normal().string();
    }
    std::string_view path = full;
    if (!root_.empty() && path.starts_with(root_) && path.size() > root_.size() &&
        path[root_.size()] == '/') {
      path.remove_prefix(root_.size() + 1);
    }
    while (path.starts_with("./")) path.remove_prefix(2);
    if (path.starts_with("/")) {
      artifact["uri"] = "file://" + uri_of(path);
    } else {
      artifact["uri"] = uri_of(path);
      artifact["uriBaseId"] = "%SRCROOT%";
    }
    return artifact;
  }

  Json location(const Location& location, const std::string& message) const {
    Json json = Json::object();
    std::string file = location.file;
    int line = location.line;
    // A trace's place is often "file:line" too.
    if (std::size_t colon = location.place.rfind(':');
        file.empty() && colon != std::string::npos && colon > 0) {
      const char* first = location.place.data() + colon + 1;
      const char* last = location.place.data() + location.place.size();
      int number = 0;
      if (auto [end, error] = std::from_chars(first, last, number);
          error == std::errc() && end == last && number > 0) {
        file = location.place.substr(0, colon);
        line = number;
      }
    }
    if (!file.empty()) {
      json["physicalLocation"]["artifactLocation"] = artifact(file, location.directory);
      if (line > 0) json["physicalLocation"]["region"]["startLine"] = line;
      if (line > 0 && location.column > 0)
        json["physicalLocation"]["region"]["startColumn"] = location.column;
    } else if (!location.module.empty()) {
      json["physicalLocation"]["artifactLocation"] = artifact(location.module);
    }
    if (!location.function.empty()) {
      json["logicalLocations"] =
          Json::array({{{"fullyQualifiedName", location.function}, {"kind", "function"}}});
    } else if (!location.place.empty()) {
      json["logicalLocations"] = Json::array({{{"fullyQualifiedName", "place " + location.place}}});
    }
    if (!message.empty()) json["message"]["text"] = message;
    return json;
  }

  // From the thread's outermost frame down to the access, as a person would step.
  Json thread_flow(const Finding& finding, const Access& access) const {
    Json flow = Json::object();
    flow["id"] = fmt::format("thread {}", access.thread);
    flow["message"]["text"] = thread_text(finding, access.thread);
    flow["locations"] = Json::array();
    std::size_t count = std::min(kMaxFrames, access.stack.size());
    for (std::size_t i = count; i-- > 0;) {
      std::string message = i == 0 ? operation_text(access) : "calls " + function_text(access.stack[i - 1]);
      flow["locations"].push_back({{"location", location(access.stack[i], message)}});
    }
    if (count == 0)
      flow["locations"].push_back({{"location", location(access.location, operation_text(access))}});
    return flow;
  }

  static std::string level(const Finding& finding) {
    if (finding.verdict == Verdict::kBenign || finding.verdict == Verdict::kOrdered) return "note";
    return finding.kind == Kind::kDataRace ? "error" : "warning";
  }

  static std::string message(const Finding& finding) {
    std::string text = headline_text(finding) + ": ";
    for (std::size_t i = 0; i < finding.accesses.size(); i++) {
      const Access& access = finding.accesses[i];
      text += fmt::format("{}{} by {} at {}", i > 0 ? ", " : "", operation_text(access),
                          thread_text(finding, access.thread), place_text(access.location));
      if (!access.location.function.empty()) text += " in " + function_text(access.location);
    }
    text += ".";
    if (std::string why = why_text(finding); !why.empty()) text += " Why: " + why + ".";
    if (std::string sure = sure_text(finding); !sure.empty()) text += " How sure: " + sure + ".";
    return text;
  }

  Json result(const Finding& finding) const {
    Json result = Json::object();
    result["ruleId"] = name_of(finding.kind);
    result["ruleIndex"] = finding.kind == Kind::kDataRace ? 0 : 1;
    result["level"] = level(finding);
    result["message"]["text"] = message(finding);
    result["locations"] = Json::array();
    result["relatedLocations"] = Json::array();
    Json flows = Json::array();
    for (std::size_t i = 0; i < finding.accesses.size(); i++) {
      const Access& access = finding.accesses[i];
      std::string text = fmt::format("{} by {}", operation_text(access), thread_text(finding, access.thread));
      result[i == 0 ? "locations" : "relatedLocations"].push_back(location(access.location, text));
      flows.push_back(thread_flow(finding, access));
    }
    for (const Variable& variable : finding.variables) {
      if (!variable.declared.file.empty()) {
        result["relatedLocations"].push_back(location(variable.declared, "the variable " + variable.name));
      } else if (!variable.allocated.empty()) {
        result["relatedLocations"].push_back(
            location(own_frame(variable.allocated), "the heap block was allocated here"));
      }
    }
    for (std::size_t i = 0; i < result["relatedLocations"].size(); i++)
      result["relatedLocations"][i]["id"] = i + 1;
    if (!flows.empty()) result["codeFlows"] = Json::array({{{"threadFlows", std::move(flows)}}});
    result["partialFingerprints"]["deadheat/v1"] = finding.fingerprint;
    result["occurrenceCount"] = std::max<std::uint64_t>(1, finding.instances);
    result["properties"] = {{"verdict", name_of(finding.verdict)}, {"detectors", finding.detectors}};
    return result;
  }

  const Report& report_;
  std::string root_;
};

}  // namespace

std::string render_sarif(const Report& report, const std::string& source_root) {
  Json json = Json::object();
  json["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  json["version"] = "2.1.0";
  json["runs"] = Json::array({Writer(report, source_root).run()});
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace deadheat::report
