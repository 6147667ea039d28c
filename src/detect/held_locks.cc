#include "detect/held_locks.h"

#include <algorithm>
#include <iterator>

namespace deadheat::detect {

LocksetId Locksets::intern(std::vector<std::uint32_t> members) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ull;
  for (const std::uint32_t lock : members) hash = (hash ^ lock) * 0xBF58476D1CE4E5B9ull;
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (sets_[it->second] == members) return LocksetId(it->second);
  }
  const std::uint32_t id = static_cast<std::uint32_t>(sets_.size());
  bytes_ += 96 + members.size() * sizeof(std::uint32_t);
  sets_.push_back(std::move(members));
  by_hash_.emplace(hash, id);
  return LocksetId(id);
}

LocksetId Locksets::with(LocksetId set, std::uint32_t lock) {
  const std::uint64_t key = std::uint64_t{set.value()} << 32 | lock;
  const auto found = changes_.find(key);
  if (found != changes_.end()) return found->second;
  std::vector<std::uint32_t> members = sets_[set.index()];
  const auto where = std::lower_bound(members.begin(), members.end(), lock);
  if (where == members.end() || *where != lock) members.insert(where, lock);
  const LocksetId result = intern(std::move(members));
  changes_.emplace(key, result);
  bytes_ += 48;
  return result;
}

LocksetId Locksets::without(LocksetId set, std::uint32_t lock) {
  std::vector<std::uint32_t> members = sets_[set.index()];
  std::erase(members, lock);
  return intern(std::move(members));
}

LocksetId Locksets::intersection(LocksetId a, LocksetId b) {
  if (a == b) return a;
  if (a == kEmpty || b == kEmpty) return kEmpty;
  const std::uint64_t key = std::uint64_t{std::min(a, b).value()} << 32 | std::max(a, b).value();
  const auto found = intersections_.find(key);
  if (found != intersections_.end()) return found->second;
  std::vector<std::uint32_t> members;
  std::set_intersection(sets_[a.index()].begin(), sets_[a.index()].end(), sets_[b.index()].begin(),
                        sets_[b.index()].end(), std::back_inserter(members));
  const LocksetId result = intern(std::move(members));
  intersections_.emplace(key, result);
  bytes_ += 48;
  return result;
}

bool HeldLocks::on_lock(const Event& event) {
  if (event.thread.index() >= held_.size()) {
    held_.resize(std::max(event.thread.index() + 1, held_.size() * 2), Locksets::kEmpty);
  }
  LocksetId& set = held_[event.thread.index()];
  const std::uint32_t lock = static_cast<std::uint32_t>(event.object.value());
  const std::span<const std::uint32_t> members = sets_.members(set);
  const bool held = std::binary_search(members.begin(), members.end(), lock);
  const std::uint64_t key = std::uint64_t{event.thread.value()} << 32 | lock;
  if (event.kind == EventKind::kAcquire) {
    if (held) {
      ++again_[key];
      return false;
    }
    set = sets_.with(set, lock);
    return true;
  }
  if (!held) return false;
  const auto again = again_.empty() ? again_.end() : again_.find(key);
  if (again == again_.end()) {
    set = sets_.without(set, lock);
    return true;
  }
  if (--again->second == 0) again_.erase(again);
  return false;
}

}  // namespace deadheat::detect
