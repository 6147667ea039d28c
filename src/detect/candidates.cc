#include "detect/candidates.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace deadheat::detect {

Candidates::Candidates(const CausalModel& model) : model_(model) {
  locksets_.emplace_back();
  std::map<std::pair<SiteId, SiteId>, std::uint32_t> unit_of;
  for (const Version& version : model.versions()) {
    if (version.writes.empty()) continue;
    auto begin = static_cast<std::uint32_t>(groups_.size());
    std::map<std::tuple<std::uint32_t, SiteId, bool, std::uint32_t>, std::uint32_t> group_of;
    for (Node access : version.accesses) {
      bool writes = model.event(access).kind == EventKind::kWrite;
      std::uint32_t lockset = lockset_of(access);
      auto key = std::tuple(model.thread(access), model.event(access).site, writes, lockset);
      auto [entry, is_new] = group_of.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
      if (is_new) {
        groups_.push_back({model.thread(access), model.event(access).site, writes, lockset, {}});
      }
      groups_[entry->second].accesses.push_back(access);
    }
    for (std::uint32_t i = begin; i < groups_.size(); ++i) {
      for (std::uint32_t k = begin; k < i; ++k) {
        const Group& one = groups_[i];
        const Group& other = groups_[k];
        if (one.thread == other.thread || (!one.writes && !other.writes)) continue;
        if (share_a_lock(one.lockset, other.lockset)) {
          dropped_by_locks_ += one.accesses.size() * other.accesses.size();
          continue;
        }
        auto sites = std::minmax(one.site, other.site);
        auto [entry, is_new] =
            unit_of.try_emplace({sites.first, sites.second}, static_cast<std::uint32_t>(units_.size()));
        if (is_new) units_.push_back({sites.first, sites.second, {}});
        units_[entry->second].groups.emplace_back(i, k);
      }
    }
  }
}

std::uint32_t Candidates::lockset_of(Node access) {
  std::vector<std::uint32_t> locks;
  for (std::uint32_t section : model_.open_sections(model_.thread(access), model_.position(access))) {
    locks.push_back(model_.sections()[section].lock);
  }
  std::sort(locks.begin(), locks.end());
  // Few different ones are in use at a time, and the last one is the likeliest.
  for (std::size_t i = locksets_.size(); i-- > 0;) {
    if (locksets_[i] == locks) return static_cast<std::uint32_t>(i);
  }
  locksets_.push_back(std::move(locks));
  return static_cast<std::uint32_t>(locksets_.size() - 1);
}

bool Candidates::share_a_lock(std::uint32_t one, std::uint32_t other) const {
  const auto& a = locksets_[one];
  const auto& b = locksets_[other];
  return std::any_of(a.begin(), a.end(),
                     [&](std::uint32_t lock) { return std::binary_search(b.begin(), b.end(), lock); });
}

void Candidates::for_each_pair(const CandidateUnit& unit,
                               const std::function<bool(Node, Node)>& decide) const {
  for (auto [i, k] : unit.groups) {
    const Group* fewer = &groups_[i];
    const Group* more = &groups_[k];
    if (fewer->accesses.size() > more->accesses.size()) std::swap(fewer, more);
    const std::vector<Node>& list = more->accesses;
    for (Node access : fewer->accesses) {
      // Everything before `low` must precede the access, everything from `high` on must follow it.
      auto low = std::partition_point(list.begin(), list.end(),
                                      [&](Node other) { return model_.must_precede(other, access); });
      auto high = std::partition_point(low, list.end(),
                                       [&](Node other) { return !model_.must_precede(access, other); });
      auto right = std::lower_bound(low, high, access);
      auto left = right;
      while (left != low || right != high) {
        bool go_left = right == high || (left != low && access - *(left - 1) < *right - access);
        Node other = go_left ? *--left : *right++;
        if (!decide(std::min(access, other), std::max(access, other))) return;
      }
    }
  }
}

}  // namespace deadheat::detect
