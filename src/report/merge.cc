#include "report/merge.h"

#include <algorithm>
#include <cctype>
#include <compare>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "report/frames.h"
#include "report/names.h"
#include "triage/fingerprint.h"

namespace deadheat::report {
namespace {

// "9" before "10", "a.c:9" before "a.c:10": a trace's places are words with numbers in them.
std::weak_ordering compare_natural(std::string_view a, std::string_view b) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (!a.empty() && !b.empty()) {
    if (is_digit(a[0]) && is_digit(b[0])) {
      auto number = [&](std::string_view& text) {
        std::size_t end = 0;
        while (end < text.size() && is_digit(text[end])) end++;
        std::string_view digits = text.substr(0, end);
        text.remove_prefix(end);
        while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
        return digits;
      };
      std::string_view x = number(a), y = number(b);
      if (x.size() != y.size()) return x.size() <=> y.size();
      if (int order = x.compare(y); order != 0) return order <=> 0;
      continue;
    }
    // As bytes, like std::string: what is not ASCII comes after what is.
    if (a[0] != b[0]) return static_cast<unsigned char>(a[0]) <=> static_cast<unsigned char>(b[0]);
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() <=> b.size();
}

std::weak_ordering compare_places(const Location& a, const Location& b) {
  if (auto order = a.file <=> b.file; order != 0) return order;
  if (auto order = a.line <=> b.line; order != 0) return order;
  if (auto order = compare_natural(a.place, b.place); order != 0) return order;
  if (auto order = a.column <=> b.column; order != 0) return order;
  if (auto order = a.function <=> b.function; order != 0) return order;
  if (!a.file.empty()) return std::weak_ordering::equivalent;  // the same source line in two builds of it
  if (auto order = a.module <=> b.module; order != 0) return order;
  return a.offset <=> b.offset;
}

std::weak_ordering compare_stacks(const Stack& a, const Stack& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); i++) {
    if (auto order = compare_places(a[i], b[i]); order != 0) return order;
  }
  return a.size() <=> b.size();
}

// The strongest operation first: two writes say more than a write and a read.
int rank(Operation operation) {
  switch (operation) {
    case Operation::kFree:
      return 0;
    case Operation::kWrite:
      return 1;
    case Operation::kAtomicWrite:
      return 2;
    case Operation::kRead:
      return 3;
    case Operation::kAtomicRead:
      return 4;
  }
  return 5;
}

std::weak_ordering compare_accesses(const Access& a, const Access& b) {
  if (auto order = compare_places(a.location, b.location); order != 0) return order;
  if (auto order = rank(a.operation) <=> rank(b.operation); order != 0) return order;
  if (auto order = compare_stacks(a.stack, b.stack); order != 0) return order;
  return std::tie(a.size, a.event) <=> std::tie(b.size, b.event);
}

// How much is known of one instance, the most first. What can be shown to happen comes before what was only
// concluded; of pipelines, what `tree` has dropped may matter to the one behind it.
std::tuple<bool, int, bool> strength_of(const Finding& instance) {
  static constexpr std::string_view kStrengths[] = {"rdit", "mcm", "syncp",  "shb",    "",
                                                    "wcp",  "cp",  "hybrid", "lockset"};
  constexpr auto kOther = 4;  // happens-before: it happened
  auto best = std::pair(static_cast<int>(std::size(kStrengths)), true);
  for (const std::string& detector : instance.detectors) {
    const std::string_view last = std::string_view(detector).substr(detector.rfind('|') + 1);
    const auto* found = std::find(std::begin(kStrengths), std::end(kStrengths), last);
    const int strength =
        found == std::end(kStrengths) ? kOther : static_cast<int>(found - std::begin(kStrengths));
    best = std::min(best, std::pair(strength, detector.find("tree|") != std::string::npos));
  }
  return {instance.witness.empty() && instance.witness_prefix.empty(), best.first, best.second};
}

// Which of two instances of one finding is shown. Equal ones keep their order of arrival.
bool shown_before(const Finding& a, const Finding& b) {
  if (auto left = strength_of(a), right = strength_of(b); left != right) return left < right;
  int rank_a = 0, rank_b = 0;
  for (const Access& access : a.accesses) rank_a += rank(access.operation);
  for (const Access& access : b.accesses) rank_b += rank(access.operation);
  if (rank_a != rank_b) return rank_a < rank_b;
  for (std::size_t i = 0; i < a.accesses.size() && i < b.accesses.size(); i++) {
    if (auto order = compare_accesses(a.accesses[i], b.accesses[i]); order != 0) return order < 0;
  }
  if (a.witness.empty() != b.witness.empty()) return b.witness.empty();
  if (a.variables.empty() || b.variables.empty()) return false;
  auto key = [](const Variable& v) { return std::tuple(v.name.empty(), v.name, v.member); };
  return key(a.variables[0]) < key(b.variables[0]);
}

std::string place_identity(const Location& location) {
  if (!location.file.empty()) return location.file + ":" + std::to_string(location.line);
  if (!location.place.empty()) return "place " + location.place;
  return location.module + "+" + hex(location.offset);
}

std::vector<std::uint64_t> events_of(const Finding& instance) {
  std::vector<std::uint64_t> events;
  for (const Access& access : instance.accesses) events.push_back(access.event.value_or(0));
  std::sort(events.begin(), events.end());
  return events;
}

// Two heap blocks from one allocation are one variable to a person; a name says who a global is.
bool is_same_variable(const Variable& a, const Variable& b) {
  if (a.kind != b.kind || a.name != b.name) return false;
  return a.kind != VariableKind::kHeap ||
         place_identity(own_frame(a.allocated)) == place_identity(own_frame(b.allocated));
}

void add_variables(std::vector<Variable>& all, const std::vector<Variable>& more) {
  constexpr std::size_t kMost = 64;
  for (const Variable& variable : more) {
    bool is_known = std::any_of(all.begin(), all.end(),
                                [&](const Variable& other) { return is_same_variable(variable, other); });
    if (!is_known && all.size() < kMost) all.push_back(variable);
  }
}

}  // namespace

void order_accesses(Finding& instance) {
  std::sort(instance.accesses.begin(), instance.accesses.end(), [](const Access& a, const Access& b) {
    auto order = compare_accesses(a, b);
    return order == 0 ? a.thread < b.thread : order < 0;
  });
  std::sort(instance.threads.begin(), instance.threads.end(),
            [](const Thread& a, const Thread& b) { return a.id < b.id; });
}

std::string identity_of(const Finding& instance) {
  std::string identity(name_of(instance.kind));
  for (const Access& access : instance.accesses) identity += '\n' + place_identity(access.location);
  return identity;
}

std::vector<Finding> merge(std::vector<Finding> instances) {
  // Beside each finding: its pairs of events of a trace, and who found them.
  struct Merged {
    Finding finding;
    std::set<std::string> detectors;
    std::map<std::vector<std::uint64_t>, std::set<std::string>> found_by;
  };
  std::map<std::string, Merged> merged;
  for (Finding& instance : instances) {
    order_accesses(instance);
    auto [it, is_new] = merged.try_emplace(identity_of(instance));
    Finding& finding = it->second.finding;
    it->second.detectors.insert(instance.detectors.begin(), instance.detectors.end());
    // Several detectors may find the same two events of a trace: that is one instance.
    bool is_counted = false;
    if (!instance.accesses.empty() && instance.accesses[0].event) {
      auto [found, is_first] = it->second.found_by.try_emplace(events_of(instance));
      found->second.insert(instance.detectors.begin(), instance.detectors.end());
      is_counted = !is_first;
    }
    if (is_new) {
      finding = std::move(instance);
      continue;
    }
    std::uint64_t count = finding.instances + (is_counted ? 0 : instance.instances);
    // The finding stands for the instance that is shown, with the detectors of that one until the end.
    if (shown_before(instance, finding)) std::swap(finding, instance);
    add_variables(finding.variables, instance.variables);
    finding.instances = count;
  }

  for (auto& [identity, each] : merged) {
    Finding& finding = each.finding;
    finding.detectors.assign(each.detectors.begin(), each.detectors.end());
    if (!each.found_by.empty()) {
      const std::set<std::string>& shown_by = each.found_by[events_of(finding)];
      finding.shown_by.clear();
      if (shown_by != each.detectors) finding.shown_by.assign(shown_by.begin(), shown_by.end());
    }
    // The first variable is the one of the instance that is shown; the others are in no order that depends on
    // time.
    if (finding.kind == Kind::kDataRace && finding.variables.size() > 2) {
      std::sort(
          finding.variables.begin() + 1, finding.variables.end(), [](const Variable& a, const Variable& b) {
            return std::tuple(a.name.empty(), a.kind, a.name) < std::tuple(b.name.empty(), b.kind, b.name);
          });
    }
  }

  std::vector<Finding> result;
  result.reserve(merged.size());
  for (auto& [identity, each] : merged) result.push_back(std::move(each.finding));
  std::sort(result.begin(), result.end(), [](const Finding& a, const Finding& b) {
    for (std::size_t i = 0; i < a.accesses.size() && i < b.accesses.size(); i++) {
      if (auto order = compare_places(a.accesses[i].location, b.accesses[i].location); order != 0)
        return order < 0;
    }
    return std::tuple(a.accesses.size(), a.kind) < std::tuple(b.accesses.size(), b.kind);
  });
  triage::fingerprint(result);
  return result;
}

}  // namespace deadheat::report
