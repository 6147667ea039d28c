#include "detect/site_history.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/check.h"

namespace deadheat::detect {

static_assert(sizeof(SiteHistory::Entry) == 48, "several per location");

SiteHistory::~SiteHistory() {
  for (Location& location : locations_) std::free(location.memory);
}

void SiteHistory::grow(ObjectId object) {
  if (object.index() >= locations_.capacity()) {
    locations_.reserve(std::max(object.index() + 1, locations_.capacity() * 2));
  }
  locations_.resize(object.index() + 1);
}

SiteHistory::Entry* SiteHistory::find(Location& location, std::uint64_t key) {
  const std::uint64_t* keys = location.keys();
  if (location.index != kEnd) {
    const std::uint32_t found = indices_[location.index]->find(key, [&](std::uint32_t i) { return keys[i]; });
    return found == SiteIndex::kNone ? nullptr : &location.entries()[found];
  }
  for (std::uint32_t i = 0; i < location.size; ++i) {
    if (keys[i] == key) return &location.entries()[i];
  }
  return nullptr;
}

SiteHistory::Entry* SiteHistory::add(Location& location, std::uint64_t key, const Event& event, Slot slot) {
  if (location.size == location.capacity) {
    Location larger = location;
    larger.capacity = location.capacity == 0 ? 1 : location.capacity * 2;
    const std::size_t bytes = larger.capacity * (sizeof(Entry) + sizeof(std::uint64_t));
    larger.memory = static_cast<char*>(std::malloc(bytes));
    DEADHEAT_CHECK(larger.memory != nullptr);
    if (location.memory != nullptr) {
      std::memcpy(larger.memory, location.memory, location.size * sizeof(Entry));
      std::memcpy(larger.keys(), location.keys(), location.size * sizeof(std::uint64_t));
      std::free(location.memory);
    }
    bytes_ += (larger.capacity - location.capacity) * (sizeof(Entry) + sizeof(std::uint64_t));
    location = larger;
  }
  const std::uint32_t i = location.size++;
  location.keys()[i] = key;
  Entry* entry = new (&location.entries()[i]) Entry{};
  entry->slot = slot;
  entry->site = event.site;
  entry->kind = event.kind;
  entry->is_atomic = event.is_atomic;
  // At the head of its list the entry must not look old: a look ends at the first old one.
  entry->stamp = ++location.stamp;
  std::uint32_t& head = event.kind == EventKind::kWrite ? location.writes : location.reads;
  entry->previous = kEnd;
  entry->next = head;
  if (head != kEnd) location.entries()[head].previous = i;
  head = i;
  add_to_index(location);
  return entry;
}

void SiteHistory::add_to_index(Location& location) {
  if (location.size < SiteIndex::worthwhile) return;
  std::uint32_t from = location.size - 1;
  if (location.index == kEnd) {
    location.index = static_cast<std::uint32_t>(indices_.size());
    indices_.push_back(std::make_unique<SiteIndex>());
    from = 0;
  }
  SiteIndex& index = *indices_[location.index];
  if (from > 0) bytes_ -= index.bytes();
  for (std::uint32_t i = from; i < location.size; ++i) {
    const Entry& entry = location.entries()[i];
    index.add(entry.site, entry.kind == EventKind::kWrite,
              [&](std::uint32_t at) { return location.keys()[at]; });
  }
  bytes_ += index.bytes();
}

void SiteHistory::move_to_front(Location& location, Entry& entry) {
  Entry* entries = location.entries();
  const std::uint32_t i = static_cast<std::uint32_t>(&entry - entries);
  std::uint32_t& head = entry.kind == EventKind::kWrite ? location.writes : location.reads;
  if (head == i) return;
  entries[entry.previous].next = entry.next;
  if (entry.next != kEnd) entries[entry.next].previous = entry.previous;
  entry.previous = kEnd;
  entry.next = head;
  entries[head].previous = i;
  head = i;
}

}  // namespace deadheat::detect
