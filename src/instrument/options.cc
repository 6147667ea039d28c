#include "instrument/options.h"

#include <algorithm>

namespace deadheat::instrument {
namespace {

template <class Visit>
Status for_each_item(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (item.empty()) continue;
    if (Status status = visit(item); !status.ok()) return status;
  }
  return Nothing{};
}

std::string known_switches() {
  std::string names = "all";
  for (std::string_view name : kOptimisationNames) names.append(", ").append(name);
  return names;
}

Status apply_switch(std::string_view item, Options& options) {
  const bool on = item.front() == '+';
  if (!on && item.front() != '-')
    return Error{"optimisation '" + std::string(item) + "': expected +name or -name"};
  const std::string_view name = item.substr(1);
  if (name == "all") {
    on ? options.enabled.set() : options.enabled.reset();
    return Nothing{};
  }
  const auto found = std::find(kOptimisationNames.begin(), kOptimisationNames.end(), name);
  if (found == kOptimisationNames.end())
    return Error{"unknown optimisation '" + std::string(name) + "': expected one of " + known_switches()};
  options.enabled[static_cast<size_t>(found - kOptimisationNames.begin())] = on;
  return Nothing{};
}

}  // namespace

Status apply_switches(std::string_view list, Options& options) {
  return for_each_item(list, [&](std::string_view item) { return apply_switch(item, options); });
}

Result<Options> parse_options(std::string_view text) {
  Options options;
  Status status = for_each_item(text, [&](std::string_view item) -> Status {
    if (item.starts_with("mode=")) {
      options.mode = item.substr(5);
      return Nothing{};
    }
    if (item == "stats") {
      options.statistics = true;
      return Nothing{};
    }
    if (item == "marked") {
      options.is_marked = true;
      return Nothing{};
    }
    return apply_switch(item, options);
  });
  if (!status.ok()) return status.error();
  return options;
}

}  // namespace deadheat::instrument
