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

std::uint32_t HeldLocks::place_of(const Holder& holder, std::uint32_t lock) {
  if (!holder.places.empty()) {
    const auto found = holder.places.find(lock);
    return found == holder.places.end() ? kNowhere : found->second;
  }
  for (std::uint32_t i = 0; i < holder.locks.size(); ++i) {
    if (holder.locks[i].lock == lock) return i;
  }
  return kNowhere;
}

void HeldLocks::add(Holder& holder, std::uint32_t lock) {
  holder.locks.push_back(Held{lock, 1});
  if (!holder.places.empty()) {
    holder.places.emplace(lock, static_cast<std::uint32_t>(holder.locks.size() - 1));
  } else if (holder.locks.size() > kFew) {
    for (std::uint32_t i = 0; i < holder.locks.size(); ++i) holder.places.emplace(holder.locks[i].lock, i);
  }
}

void HeldLocks::remove(Holder& holder, std::uint32_t place) {
  if (!holder.places.empty()) {
    holder.places.erase(holder.locks[place].lock);
    if (place + 1 < holder.locks.size()) holder.places[holder.locks.back().lock] = place;
  }
  holder.locks[place] = holder.locks.back();
  holder.locks.pop_back();
  if (holder.locks.empty()) holder.places.clear();
}

bool HeldLocks::on_lock(const Event& event) {
  if (event.thread.index() >= holder_.size()) {
    holder_.resize(std::max(event.thread.index() + 1, holder_.size() * 2), kNowhere);
  }
  std::uint32_t& number = holder_[event.thread.index()];
  const std::uint32_t lock = static_cast<std::uint32_t>(event.object.value());
  const std::uint32_t place = number == kNowhere ? kNowhere : place_of(holders_[number], lock);
  if (event.kind == EventKind::kAcquire) {
    if (place != kNowhere) {
      ++holders_[number].locks[place].times;
      return false;
    }
    if (number == kNowhere && free_.empty()) {
      number = static_cast<std::uint32_t>(holders_.size());
      holders_.emplace_back();
    } else if (number == kNowhere) {
      number = free_.back();
      free_.pop_back();
    }
    add(holders_[number], lock);
    ++held_;
  } else {
    if (place == kNowhere || --holders_[number].locks[place].times > 0) return false;
    remove(holders_[number], place);
    --held_;
  }
  holders_[number].has_set = false;
  if (holders_[number].locks.empty()) {
    free_.push_back(number);
    number = kNowhere;
  }
  return true;
}

LocksetId HeldLocks::held(ThreadId thread) {
  if (thread.index() >= holder_.size() || holder_[thread.index()] == kNowhere) return Locksets::kEmpty;
  Holder& holder = holders_[holder_[thread.index()]];
  if (!holder.has_set) {
    std::vector<std::uint32_t> members;
    members.reserve(holder.locks.size());
    for (const Held& held : holder.locks) members.push_back(held.lock);
    std::sort(members.begin(), members.end());
    holder.set = sets_.intern(std::move(members));
    holder.has_set = true;
  }
  return holder.set;
}

}  // namespace deadheat::detect
