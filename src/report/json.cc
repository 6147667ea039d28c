#include "report/json.h"

#include <nlohmann/json.hpp>

#include "report/names.h"
#include "report/prose.h"

namespace deadheat::report {
namespace {

// Keys in the order in which a person reads them.
using Json = nlohmann::ordered_json;

Json json_of(const Location& location) {
  Json json = Json::object();
  if (!location.file.empty()) {
    json["file"] = location.file;
    json["line"] = location.line;
    json["column"] = location.column;
  }
  if (!location.function.empty()) json["function"] = location.function;
  // Where there is a line, the address says nothing more, and differs between builds.
  if (location.file.empty() && !location.module.empty()) {
    json["module"] = location.module;
    if (location.offset != 0) json["offset"] = hex(location.offset);
  }
  if (!location.place.empty()) json["place"] = location.place;
  return json;
}

Json json_of(const Stack& stack) {
  Json json = Json::array();
  for (const Location& location : stack) json.push_back(json_of(location));
  return json;
}

Json json_of(const Lock& lock) {
  Json json = Json::object();
  if (!lock.name.empty()) json["name"] = lock.name;
  if (lock.address != 0) json["address"] = hex(lock.address);
  json["shared"] = lock.shared;
  json["stack"] = json_of(lock.acquired);
  return json;
}

Json json_of(const Access& access) {
  Json json = Json::object();
  json["thread"] = access.thread;
  json["operation"] = name_of(access.operation);
  json["size"] = access.size;
  if (access.event) json["event"] = *access.event;
  json["location"] = json_of(access.location);
  json["stack"] = json_of(access.stack);
  json["locks"] = Json::array();
  for (const Lock& lock : access.locks) json["locks"].push_back(json_of(lock));
  if (!access.locks_known) json["locks_known"] = false;
  if (access.value) json["value"] = *access.value;
  if (access.value_before) json["value_before"] = *access.value_before;
  return json;
}

Json json_of(const Variable& variable) {
  Json json = Json::object();
  json["name"] = variable.name;
  json["kind"] = name_of(variable.kind);
  if (!variable.member.empty()) json["member"] = variable.member;
  if (variable.kind != VariableKind::kTrace) {
    json["address"] = hex(variable.address);
    json["size"] = variable.size;
    json["offset"] = variable.offset;
  }
  Json declared = json_of(variable.declared);
  declared.erase("column");
  if (!declared.empty()) json["declared"] = std::move(declared);
  if (variable.thread) json["thread"] = *variable.thread;
  if (!variable.allocated.empty()) json["allocated"] = json_of(variable.allocated);
  if (!variable.freed.empty()) json["freed"] = json_of(variable.freed);
  return json;
}

Json json_of(const Thread& thread) {
  Json json = Json::object();
  json["id"] = thread.id;
  if (!thread.name.empty()) json["name"] = thread.name;
  if (thread.parent) json["parent"] = *thread.parent;
  json["created"] = json_of(thread.created);
  return json;
}

Json json_of(const Finding& finding) {
  Json json = Json::object();
  json["fingerprint"] = finding.fingerprint;
  json["kind"] = name_of(finding.kind);
  json["detectors"] = finding.detectors;
  if (!finding.shown_by.empty()) json["shown_by"] = finding.shown_by;
  json["verdict"] = name_of(finding.verdict);
  json["reason"] = finding.reason;
  json["why"] = why_text(finding);
  json["variable"] = finding.variables.empty() ? Json::object() : json_of(finding.variables[0]);
  if (finding.kind == Kind::kHighLevelRace || finding.variables.size() > 1) {
    json["variables"] = Json::array();
    for (const Variable& variable : finding.variables) json["variables"].push_back(json_of(variable));
  }
  json["accesses"] = Json::array();
  for (const Access& access : finding.accesses) json["accesses"].push_back(json_of(access));
  json["threads"] = Json::array();
  for (const Thread& thread : finding.threads) json["threads"].push_back(json_of(thread));
  json["instances"] = finding.instances;
  if (!finding.witness.empty()) json["witness"] = finding.witness;
  if (!finding.witness_prefix.empty()) {
    Json& prefixes = json["witness_prefix"] = Json::array();
    for (const Prefix& prefix : finding.witness_prefix) {
      prefixes.push_back({{"thread", prefix.thread}, {"events", prefix.events}});
    }
  }
  return json;
}

}  // namespace

std::string render_json(const Report& report) {
  Json json = Json::object();
  json["schema"] = "deadheat-report/1";
  json["tool"] = {{"name", "deadheat"}, {"version", DEADHEAT_VERSION}};
  json["program"] = {{"command", report.program.command}, {"exit", report.program.exit}};
  json["mode"] = report.mode;
  json["findings"] = Json::array();
  int counts[4] = {};
  for (const Finding& finding : report.findings) {
    json["findings"].push_back(json_of(finding));
    counts[static_cast<int>(finding.verdict)]++;
  }
  Json summary = Json::object();
  summary["findings"] = report.findings.size();
  for (Verdict verdict : {Verdict::kHarmful, Verdict::kBenign, Verdict::kOrdered, Verdict::kUnclassified}) {
    summary[std::string(name_of(verdict))] = counts[static_cast<int>(verdict)];
  }
  summary["suppressed"] = report.suppressed;
  summary["incomplete"] = report.incomplete;
  json["summary"] = std::move(summary);
  json["notes"] = report.notes;
  Json statistics = Json::object();
  for (const auto& [name, value] : report.statistics) {
    Json parsed = Json::parse(value, nullptr, /*allow_exceptions=*/false);
    statistics[name] = parsed.is_discarded() ? Json(value) : std::move(parsed);
  }
  json["statistics"] = std::move(statistics);
  // Names come from the user's files: bytes that are not UTF-8 become the replacement character.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace deadheat::report
