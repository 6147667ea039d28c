#include "detect/candidates.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "detect/pair_set.h"

namespace deadheat::detect {

Candidates::Candidates(const CausalModel& model, const Budget& budget) : model_(model) {
  locksets_.emplace_back();
  lockset_ids_.emplace(0, 0);
  if (!model.is_built()) return;
  BudgetWatch watch(budget);
  std::map<std::tuple<std::uint32_t, SiteId, bool, std::uint32_t>, std::uint32_t> group_of;
  for (std::uint32_t number = 0; number < model.versions().size(); ++number) {
    const Version& version = model.versions()[number];
    version_begin_.push_back(static_cast<std::uint32_t>(groups_.size()));
    if (version.writes.empty()) continue;
    group_of.clear();
    for (Node access : version.accesses) {
      if (watch.over(16)) {
        site_groups_.clear();
        return;
      }
      bool writes = model.event(access).kind == EventKind::kWrite;
      SiteId site = model.event(access).site;
      std::uint32_t lockset = lockset_of(access);
      auto key = std::tuple(model.thread(access), site, writes, lockset);
      auto [entry, is_new] = group_of.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
      if (is_new) {
        if (site.index() >= site_groups_.size()) site_groups_.resize(site.index() + 1);
        site_groups_[site.index()].push_back(entry->second);
        groups_.push_back({number, model.thread(access), site, writes, lockset, {}});
      }
      groups_[entry->second].accesses.push_back(access);
    }
    drop_if_locked(version_begin_.back());
  }
  version_begin_.push_back(static_cast<std::uint32_t>(groups_.size()));
  marked_.assign(site_groups_.size(), 0);
  visited_.assign(site_groups_.size(), 0);
  places_in_.assign(model.versions().size(), 0);
  is_built_ = true;
  for (const std::vector<std::uint32_t>& list : site_groups_) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      std::uint32_t version = groups_[list[i]].version;
      places_in_[version] += i == 0 || groups_[list[i - 1]].version != version;
    }
  }
}

// Data that one lock always protects has no candidates, whatever other locks are held: no need to pair its
// groups, from `begin` on, with each other.
void Candidates::drop_if_locked(std::uint32_t begin) {
  if (begin == groups_.size()) return;
  std::vector<std::uint32_t> common = locksets_[groups_[begin].lockset];
  struct Counts {
    std::uint64_t reads = 0, writes = 0;
    std::uint64_t conflicts() const { return writes * (writes - 1) / 2 + writes * reads; }
  };
  Counts all;
  std::unordered_map<std::uint32_t, Counts> by_thread;
  for (std::size_t i = begin; i < groups_.size() && !common.empty(); ++i) {
    const Group& group = groups_[i];
    const auto& locks = locksets_[group.lockset];
    std::erase_if(common,
                  [&](std::uint32_t lock) { return !std::binary_search(locks.begin(), locks.end(), lock); });
    (group.writes ? all.writes : all.reads) += group.accesses.size();
    Counts& mine = by_thread[group.thread];
    (group.writes ? mine.writes : mine.reads) += group.accesses.size();
  }
  if (common.empty()) return;
  dropped_by_locks_ += all.writes == 0 ? 0 : all.conflicts();
  for (const auto& [thread, counts] : by_thread)
    dropped_by_locks_ -= counts.writes == 0 ? 0 : counts.conflicts();
  for (std::size_t i = groups_.size(); i-- > begin;) site_groups_[groups_[i].site.index()].pop_back();
  groups_.resize(begin);
}

std::uint32_t Candidates::lockset_of(Node access) {
  std::vector<std::uint32_t> locks;
  for (std::uint32_t section : model_.open_sections(model_.thread(access), model_.position(access))) {
    locks.push_back(model_.sections()[section].lock);
  }
  std::sort(locks.begin(), locks.end());
  if (locksets_[last_lockset_] == locks) return last_lockset_;  // the likeliest
  std::uint64_t hash = 0;
  for (std::uint32_t lock : locks) hash = (hash ^ (lock + 1)) * 0x9E3779B97F4A7C15ull;
  auto [begin, end] = lockset_ids_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    if (locksets_[entry->second] == locks) return last_lockset_ = entry->second;
  }
  last_lockset_ = static_cast<std::uint32_t>(locksets_.size());
  lockset_ids_.emplace(hash, last_lockset_);
  locksets_.push_back(std::move(locks));
  return last_lockset_;
}

bool Candidates::share_a_lock(std::uint32_t one, std::uint32_t other) const {
  const auto& a = locksets_[one];
  const auto& b = locksets_[other];
  return std::any_of(a.begin(), a.end(),
                     [&](std::uint32_t lock) { return std::binary_search(b.begin(), b.end(), lock); });
}

double Candidates::progress() const {
  return site_groups_.empty() ? 1
                              : static_cast<double>(next_site_) / static_cast<double>(site_groups_.size());
}

bool Candidates::next_unit(CandidateUnit& unit, BudgetWatch& watch) {
  while (partners_.empty()) {
    if (next_site_ >= site_groups_.size()) return false;
    if (!find_partners(SiteId(static_cast<std::uint32_t>(next_site_)), watch)) return false;
    ++next_site_;
  }
  unit = {of_, partners_.back()};
  partners_.pop_back();
  ++units_seen_;
  return true;
}

// The units whose first place is `site`. False, and none, if the budget was over first.
bool Candidates::find_partners(SiteId site, BudgetWatch& watch) {
  of_ = site;
  const std::uint32_t mark = site.value() + 1;
  const std::vector<std::uint32_t>& mine = site_groups_[site.index()];
  std::uint32_t found = 0;  // places in this version that are partners
  for (std::size_t k = 0; k < mine.size(); ++k) {
    const Group& one = groups_[mine[k]];
    const std::uint32_t begin = version_begin_[one.version], end = version_begin_[one.version + 1];
    if (k == 0 || groups_[mine[k - 1]].version != one.version) {
      found = 0;
      ++visit_;
    }
    // Thousands of groups at few places (each access with its own lock): once all places are found, enough.
    if (found == places_in_[one.version]) continue;
    if (watch.over(end - begin)) {
      partners_.clear();
      return false;
    }
    for (std::uint32_t i = begin; i < end; ++i) {
      const Group& other = groups_[i];
      if ((other.site == site && i >= mine[k]) || !conflict(one, other)) continue;
      if (share_a_lock(one.lockset, other.lockset)) {
        if (other.site >= site) dropped_by_locks_ += one.accesses.size() * other.accesses.size();
        continue;
      }
      found += std::exchange(visited_[other.site.index()], visit_) != visit_;
      if (other.site >= site && std::exchange(marked_[other.site.index()], mark) != mark) {
        partners_.push_back(other.site);
      }
    }
  }
  std::sort(partners_.begin(), partners_.end(), std::greater<>());  // taken from the back
  return true;
}

bool Candidates::for_each_pair(const CandidateUnit& unit, const std::function<bool(Node, Node)>& decide,
                               const std::function<bool()>& go_on) const {
  const std::vector<std::uint32_t>& firsts = site_groups_[unit.first.index()];
  const std::vector<std::uint32_t>& seconds = site_groups_[unit.second.index()];
  std::uint64_t steps = 0;
  // Both lists are in the order of versions.
  auto begin = seconds.begin();
  for (std::uint32_t mine : firsts) {
    const Group& one = groups_[mine];
    while (begin != seconds.end() && groups_[*begin].version < one.version) ++begin;
    for (auto at = begin; at != seconds.end() && groups_[*at].version == one.version; ++at) {
      const Group& other = groups_[*at];
      if (++steps % 1024 == 0 && !go_on()) return false;
      if ((unit.first == unit.second && *at >= mine) || !conflict(one, other)) continue;
      if (share_a_lock(one.lockset, other.lockset)) continue;
      if (!pairs_of(one, other, decide, go_on)) return false;
    }
  }
  return true;
}

bool Candidates::pairs_of(const Group& one, const Group& other, const std::function<bool(Node, Node)>& decide,
                          const std::function<bool()>& go_on) const {
  const bool swap = one.accesses.size() > other.accesses.size();
  const std::vector<Node>& fewer = (swap ? other : one).accesses;
  const std::vector<Node>& list = (swap ? one : other).accesses;
  for (Node access : fewer) {
    if (!go_on()) return false;
    // Everything before `low` must precede the access, everything from `high` on must follow it.
    auto low = std::partition_point(list.begin(), list.end(),
                                    [&](Node node) { return model_.must_precede(node, access); });
    auto high =
        std::partition_point(low, list.end(), [&](Node node) { return !model_.must_precede(access, node); });
    auto right = std::lower_bound(low, high, access);
    auto left = right;
    while (left != low || right != high) {
      bool go_left = right == high || (left != low && access - *(left - 1) < *right - access);
      Node partner = go_left ? *--left : *right++;
      if (!decide(std::min(access, partner), std::max(access, partner))) return false;
    }
  }
  return true;
}

std::uint64_t count_pairs_of_places(std::span<const Event> events, const Budget& budget, bool& all) {
  struct Access {
    ThreadId thread;
    SiteId site;
    bool writes;
    auto operator<=>(const Access&) const = default;
  };
  BudgetWatch watch(budget);
  PairSet pairs;
  std::unordered_map<std::uint64_t, std::set<Access>> locations;
  all = false;
  for (const Event& event : events) {
    if (!is_access(event.kind)) continue;
    std::set<Access>& earlier = locations[event.object.value()];
    const Access mine{event.thread, event.site, event.kind == EventKind::kWrite};
    if (!earlier.insert(mine).second) continue;
    for (const Access& other : earlier) {
      if (other.thread != mine.thread && (other.writes || mine.writes)) pairs.insert(other.site, mine.site);
    }
    if (watch.over(16 + 4 * earlier.size())) return pairs.size();
  }
  all = true;
  return pairs.size();
}

}  // namespace deadheat::detect
