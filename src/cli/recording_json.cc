#include "cli/recording_json.h"

#include <nlohmann/json.hpp>

#include "recording/description.h"
#include "recording/names.h"

namespace deadheat::cli {
namespace {

using Json = nlohmann::ordered_json;

Json start(const char* schema, const recording::Reader& reader) {
  const recording::Description& description = reader.description();
  Json json;
  json["schema"] = schema;
  json["tool"] = {{"name", "deadheat"}, {"version", DEADHEAT_VERSION}};
  json["recording"] = {{"folder", reader.folder()},
                       {"deadheat", description.deadheat},
                       {"command", description.command},
                       {"start", description.start_time}};
  if (const recording::Ending* const ending = reader.ending()) {
    static constexpr const char* kReasons[] = {"program ended", "limit", "disk full", "writer gone"};
    json["recording"]["ended"] = {{"reason", kReasons[static_cast<unsigned>(ending->reason)]},
                                  {"program_ended", ending->program_ended},
                                  {"exit", ending->exit_code},
                                  {"signal", ending->signal},
                                  {"unrecorded_threads", ending->unrecorded_threads},
                                  {"wall_seconds", ending->wall_seconds},
                                  {"cpu_seconds", ending->cpu_seconds}};
  }
  json["recording"]["note"] = reader.note();
  return json;
}

std::string text_of(const Json& json) {
  // A command line may be anything; JSON is UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

const char* name_of(replay::Outcome outcome) {
  switch (outcome) {
    case replay::Outcome::kEnded:
      return "ended";
    case replay::Outcome::kStopped:
      return "stopped";
    case replay::Outcome::kDiverged:
      return "diverged";
    default:
      return "not finished";
  }
}

}  // namespace

std::string json_of(const recording::Reader& reader, const recording::Summary& summary) {
  Json json = start("deadheat-recording/1", reader);
  json["summary"] = {{"threads", summary.threads.size()},
                     {"modules", reader.distinct_modules().size()},
                     {"sequencers", summary.sequencers},
                     {"missing_sequencers", summary.missing},
                     {"values", summary.values + summary.predicted},
                     {"logged_values", summary.values},
                     {"raw_bytes", summary.raw_bytes},
                     {"log_bytes", reader.log_bytes()},
                     {"chunks", reader.chunk_count()}};
  json["sequencers"] = Json::object();
  for (std::size_t kind = 0; kind < summary.kinds.size(); ++kind)
    if (summary.kinds[kind] > 0)
      json["sequencers"][recording::to_string(static_cast<recording::SequencerKind>(kind))] =
          summary.kinds[kind];
  json["threads"] = Json::array();
  for (const recording::ThreadSummary& thread : summary.threads)
    json["threads"].push_back({{"thread", thread.thread.value()},
                               {"values", thread.values + thread.predicted},
                               {"logged_values", thread.values},
                               {"sequencers", thread.sequencers},
                               {"raw_bytes", thread.raw_bytes},
                               {"log_bytes", thread.stored_bytes},
                               {"end", recording::to_string(thread.end.kind)}});
  return text_of(json);
}

std::string json_of(const recording::Reader& reader, const replay::Summary& summary,
                    const std::string& place) {
  Json json = start("deadheat-replay/1", reader);
  json["verified"] = !summary.divergence;
  std::uint64_t regions = 0, values = 0, logged = 0, stores = 0, instructions = 0;
  Json threads = Json::array();
  for (const replay::ThreadSummary& thread : summary.threads) {
    threads.push_back({{"thread", thread.thread.value()},
                       {"outcome", name_of(thread.outcome)},
                       {"regions", thread.regions},
                       {"values", thread.values},
                       {"logged_values", thread.logged_values},
                       {"stores", thread.stores}});
    regions += thread.regions;
    values += thread.values;
    logged += thread.logged_values;
    stores += thread.stores;
    instructions += thread.instructions;
  }
  json["summary"] = {{"threads", summary.threads.size()},
                     {"regions", regions},
                     {"values", values},
                     {"logged_values", logged},
                     {"stores", stores}};
  if (instructions != 0) json["summary"]["instructions"] = instructions;
  json["threads"] = std::move(threads);
  if (const auto& divergence = summary.divergence)
    json["divergence"] = {{"thread", divergence->thread.value()},
                          {"region", divergence->region},
                          {"after_sequencer", divergence->last_number},
                          {"what", divergence->what},
                          {"place", place},
                          {"position", divergence->position}};
  json["statistics"] = {{"cpu_seconds", summary.seconds},
                        {"compile_cpu_seconds", summary.compile_seconds},
                        {"compiled_functions", summary.compiled_functions},
                        {"cached_functions", summary.cached_functions},
                        {"reading_cpu_seconds", summary.reading_seconds}};
  return text_of(json);
}

}  // namespace deadheat::cli
