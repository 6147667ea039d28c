#include "cli/told_findings.h"

#include <fmt/format.h>

#include <utility>

#include "report/merge.h"
#include "report/prose.h"

namespace deadheat::cli {

ToldFindings::News ToldFindings::add(const report::Finding& instance) {
  auto [it, is_new] = told_.try_emplace(report::identity_of(instance), instance);
  if (is_new) return News::kFinding;
  report::Finding merged = report::merge({it->second, instance})[0];
  const bool has_more = merged.variables.size() > it->second.variables.size();
  it->second = std::move(merged);
  return has_more ? News::kVariable : News::kNothing;
}

std::string ToldFindings::variable_line(const report::Finding& instance) {
  const report::Finding one = report::merge({instance})[0];
  return fmt::format("deadheat: the same places race on {} as well [{}]\n",
                     report::variable_text(one.variables[0]), one.fingerprint);
}

}  // namespace deadheat::cli
