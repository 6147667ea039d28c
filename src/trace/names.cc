#include "trace/names.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace deadheat {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

std::uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }
std::uint32_t short_hash_of(std::string_view text) { return static_cast<std::uint32_t>(hash_of(text)); }
std::uint64_t hash_of(std::span<const ObjectId> members) {
  return XXH3_64bits(members.data(), members.size_bytes());
}

}  // namespace

std::uint32_t NameTable::lookup(std::string_view text, std::uint32_t hash) const {
  if (slots_.empty()) return kNone;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash & mask; slots_[i].id_and_one != 0; i = (i + 1) & mask) {
    if (slots_[i].hash == hash && name(slots_[i].id_and_one - 1) == text) return slots_[i].id_and_one - 1;
  }
  return kNone;
}

void NameTable::insert_index(Slot slot) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = slot.hash & mask;
  while (slots_[i].id_and_one != 0) i = (i + 1) & mask;
  slots_[i] = slot;
}

void NameTable::index_up_to_date() const {
  if (indexed_ == size() && !slots_.empty()) return;
  std::size_t wanted = std::max<std::size_t>(64, slots_.size());
  while (wanted < std::size_t{size()} * 2 + 2) wanted *= 2;
  if (wanted != slots_.size()) {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(wanted));
    for (const Slot& slot : old) {
      if (slot.id_and_one != 0) insert_index(slot);
    }
  }
  for (; indexed_ < size(); ++indexed_) insert_index({indexed_ + 1, short_hash_of(name(indexed_))});
}

std::uint32_t NameTable::intern(std::string_view text) {
  index_up_to_date();
  const std::uint32_t hash = short_hash_of(text);
  const std::uint32_t found = lookup(text, hash);
  if (found != kNone) return found;
  const std::uint32_t id = append(text);
  if (std::size_t{size()} * 2 <= slots_.size()) {
    insert_index({id + 1, hash});
    indexed_ = size();
  } else {
    index_up_to_date();
  }
  return id;
}

std::uint32_t NameTable::append(std::string_view text) {
  const std::uint32_t id = size();
  DEADHEAT_CHECK(id < kNone - 1);
  characters_.append(text);
  starts_.push_back(characters_.size());
  return id;
}

std::optional<std::uint32_t> NameTable::find(std::string_view text) const {
  index_up_to_date();
  const std::uint32_t found = lookup(text, short_hash_of(text));
  if (found == kNone) return std::nullopt;
  return found;
}

std::uint32_t ReachableSets::append(std::span<const ObjectId> members) {
  const std::uint32_t index = size();
  members_.insert(members_.end(), members.begin(), members.end());
  starts_.push_back(members_.size());
  return index;
}

std::uint32_t ReachableSets::intern(std::vector<ObjectId> members) {
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (slots_.size() < (std::size_t{size()} + 1) * 2) {
    slots_.assign(std::max<std::size_t>(16, slots_.size() * 2), 0);
    while (slots_.size() < (std::size_t{size()} + 1) * 2) slots_.assign(slots_.size() * 2, 0);
    indexed_ = 0;
  }
  const std::size_t mask = slots_.size() - 1;
  for (; indexed_ < size(); ++indexed_) {
    std::size_t i = hash_of(at(indexed_)) & mask;
    while (slots_[i] != 0) i = (i + 1) & mask;
    slots_[i] = indexed_ + 1;
  }
  std::size_t i = hash_of(std::span<const ObjectId>(members)) & mask;
  for (; slots_[i] != 0; i = (i + 1) & mask) {
    const std::span<const ObjectId> candidate = at(slots_[i] - 1);
    if (std::equal(candidate.begin(), candidate.end(), members.begin(), members.end())) return slots_[i] - 1;
  }
  const std::uint32_t index = append(members);
  slots_[i] = index + 1;
  indexed_ = size();
  return index;
}

const NameTable* Names::table(EventKind kind) const {
  switch (kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
      return &locations;
    case EventKind::kAcquire:
    case EventKind::kRelease:
      return &locks;
    case EventKind::kFork:
    case EventKind::kJoin:
      return &threads;
    case EventKind::kSend:
    case EventKind::kReceive:
      return &messages;
    case EventKind::kEnter:
    case EventKind::kLeave:
      return &functions;
    case EventKind::kBegin:
    case EventKind::kEnd:
    case EventKind::kBranch:
      return nullptr;
  }
  return nullptr;
}

std::string_view Names::object(const Event& event) const {
  const NameTable* names = table(event.kind);
  return names == nullptr ? std::string_view{}
                          : names->name(static_cast<std::uint32_t>(event.object.value()));
}

}  // namespace deadheat
