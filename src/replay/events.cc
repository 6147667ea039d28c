#include "replay/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "runtime/record_abi.h"

namespace deadheat::replay {

using recording::SequencerKind;

namespace {

// Memory orders as C numbers them.
bool acquires(unsigned order) { return order == 1 || order == 2 || order == 4 || order == 5; }
bool releases(unsigned order) { return order == 3 || order == 4 || order == 5; }

}  // namespace

void Boundaries::on_sequencer(ThreadId, SiteId, const recording::Sequencer& sequencer) {
  switch (sequencer.kind) {
    case SequencerKind::kLockAcquired:
      if (sequencer.is_shared()) shared_.insert(sequencer.object.value());
      return;
    case SequencerKind::kFence:
      has_fences_ = true;
      return;
    // Blocks may end within a granule that their neighbour begins in.
    case SequencerKind::kAllocated:
    case SequencerKind::kMapped:
    case SequencerKind::kUnmapping:
      return add(sequencer.object, sequencer.extra);
    default:
      return;
  }
}

Events::Events(const Boundaries& boundaries, Names& names, Emit emit, NameSite name_site)
    : boundaries_(boundaries), names_(names), emit_(std::move(emit)), name_site_(std::move(name_site)) {}

// --- Ids

Events::ThreadState& Events::state(ThreadId thread) {
  const auto [found, is_new] = threads_.try_emplace(thread.value());
  if (is_new) {
    found->second.id = ThreadId(names_.threads.append(fmt::format("T{}", thread.value())));
    recorded_threads_.push_back(thread);
  }
  return found->second;
}

SiteId Events::site_of(SiteId site) {
  const auto [found, is_new] = sites_.try_emplace(site.value());
  if (is_new) {
    // Two sites of one line stay two.
    found->second = SiteId(names_.sites.append(name_site_(site)));
    replay_sites_.push_back(site);
  }
  return found->second;
}

std::uint32_t Events::location_of(std::uint64_t granule, unsigned byte) {
  std::uint32_t& location = granules_[granule].location[byte];
  if (location == 0) {
    const std::uint64_t address = (granule << 3) + byte;
    location = names_.locations.append(fmt::format("{:#x}", address)) + 1;
    addresses_.emplace_back(address);
  }
  return location - 1;
}

Events::MessageId Events::new_message() { return names_.messages.append(""); }

Events::MessageId Events::message_of(std::unordered_map<std::uint64_t, MessageId>& table,
                                     std::uint64_t object) {
  const auto found = table.find(object);
  if (found != table.end()) return found->second;
  return table[object] = new_message();
}

void Events::emit(ThreadState& thread, EventKind kind, std::uint64_t object, SiteId site) {
  Event event;
  event.kind = kind;
  event.thread = thread.id;
  event.object = ObjectId(object);
  event.site = site_of(site);
  emit_(event);
}

// --- Accesses

void Events::access_range(ThreadState& thread, SiteId site, std::uint64_t address, std::uint64_t size,
                          bool is_write, bool is_atomic, const std::uint64_t* value) {
  if (thread.is_ended || (is_write ? thread.ignored_writes : thread.ignored_reads) != 0) return;
  Event event;
  event.kind = is_write ? EventKind::kWrite : EventKind::kRead;
  event.is_atomic = is_atomic;
  event.thread = thread.id;
  event.site = site_of(site);
  const std::uint64_t end = address + size;
  for (std::uint64_t at = address; at < end;) {
    const std::uint64_t granule = at >> 3;
    const unsigned byte = at & 7;
    // The elementary range that begins here, up to the next cut or the granule's end.
    const unsigned later = static_cast<unsigned>(boundaries_.cuts(granule)) >> (byte + 1);
    const unsigned length = later == 0 ? 8 - byte : 1 + static_cast<unsigned>(std::countr_zero(later));
    event.object = ObjectId(location_of(granule, byte));
    if (value != nullptr) {
      event.has_value = true;
      const std::uint64_t part = *value >> (8 * (at - address));
      event.value = length == 8 ? part : part & ((std::uint64_t{1} << (8 * length)) - 1);
    }
    emit_(event);
    at += length;
  }
}

void Events::on_access(const Access& access) {
  ThreadState& thread = state(access.thread);
  access_range(thread, access.site, access.address.value(), access.size, access.is_write, access.is_atomic,
               &access.value);
  if (access.is_atomic && thread.atomic_accesses_left != 0 && --thread.atomic_accesses_left == 0)
    finish_atomic(thread);
}

void Events::on_library_access(ThreadId id, SiteId site, const recording::LibraryAccess& access) {
  access_range(state(id), site, access.address.value(), access.size,
               access.kind == recording::AccessKind::kWrite, false, nullptr);
}

template <class Function>
void Events::for_granules(std::uint64_t address, std::uint64_t size, Function&& visit) {
  const std::uint64_t first = address >> 3;
  const std::uint64_t last = (address + std::max<std::uint64_t>(size, 1) - 1) >> 3;
  if (last - first > 2 * granules_.size()) {
    for (auto& [granule, content] : granules_)
      if (granule >= first && granule <= last) visit(granule, content);
    return;
  }
  for (std::uint64_t granule = first; granule <= last; ++granule)
    if (const auto found = granules_.find(granule); found != granules_.end()) visit(granule, found->second);
}

void Events::take_away(ThreadState& thread, SiteId site, std::uint64_t address, std::uint64_t size) {
  if (thread.is_ended || thread.ignored_writes != 0) return;
  for_granules(address, size, [&](std::uint64_t granule, Granule& content) {
    for (unsigned byte = 0; byte < 8; ++byte) {
      const std::uint64_t at = (granule << 3) + byte;
      if (content.location[byte] != 0 && at >= address && at < address + size)
        emit(thread, EventKind::kWrite, content.location[byte] - 1, site);
    }
  });
}

void Events::renew(std::uint64_t address, std::uint64_t size) {
  for_granules(address, size, [&](std::uint64_t granule, Granule& content) {
    for (unsigned byte = 0; byte < 8; ++byte) {
      const std::uint64_t at = (granule << 3) + byte;
      if (at >= address && at < address + size) content.location[byte] = 0;
    }
  });
}

// --- Threads, notes

void Events::on_thread_begin(ThreadId id) { emit(state(id), EventKind::kBegin, 0, SiteId()); }

void Events::on_thread_end(ThreadId id, const recording::End&) {
  ThreadState& thread = state(id);
  if (thread.is_ended) return;
  thread.is_ended = true;
  emit(thread, EventKind::kEnd, 0, SiteId());
}

void Events::on_note(ThreadId id, SiteId, const recording::Note& note) {
  using recording::NoteKind;
  if (note.kind != NoteKind::kIgnoreBegin && note.kind != NoteKind::kIgnoreEnd) return;
  ThreadState& thread = state(id);
  const auto count = [&](std::uint32_t& depth, std::uint64_t bit) {
    if ((note.a & bit) == 0) return;
    if (note.kind == NoteKind::kIgnoreBegin)
      ++depth;
    else if (depth != 0)
      --depth;
  };
  count(thread.ignored_reads, recording::kIgnoreReads);
  count(thread.ignored_writes, recording::kIgnoreWrites);
  count(thread.ignored_synchronisation, recording::kIgnoreSynchronisation);
}

// --- Synchronisation

void Events::on_sequencer(ThreadId id, SiteId site, const recording::Sequencer& sequencer) {
  ThreadState& thread = state(id);
  if (thread.is_ended) return;
  const std::uint64_t object = sequencer.object.value();
  switch (sequencer.kind) {
    case SequencerKind::kAllocated:
      blocks_[object] = sequencer.extra;
      return renew(object, sequencer.extra);
    case SequencerKind::kFreeing:
      if (const auto block = blocks_.find(object); block != blocks_.end()) {
        take_away(thread, site, object, block->second);
        blocks_.erase(block);
      }
      return;
    case SequencerKind::kMapped:
      return renew(object, sequencer.extra);
    case SequencerKind::kUnmapping:
      take_away(thread, site, object, sequencer.extra);
      return renew(object, sequencer.extra);
    case SequencerKind::kThreadCreated:
      return emit(thread, EventKind::kFork, state(sequencer.other_thread()).id.value(), site);
    case SequencerKind::kThreadJoined:
      return emit(thread, EventKind::kJoin, state(sequencer.other_thread()).id.value(), site);
    case SequencerKind::kThreadFinishing:
      thread.is_ended = true;
      return emit(thread, EventKind::kEnd, 0, site);
    default:
      if (recording::is_atomic(sequencer.kind)) return begin_atomic(thread, site, sequencer);
      if (thread.ignored_synchronisation == 0) synchronise(thread, site, sequencer);
  }
}

void Events::synchronise(ThreadState& thread, SiteId site, const recording::Sequencer& sequencer) {
  const std::uint64_t object = sequencer.object.value();
  const auto lock = [&] {
    const auto found = locks_.find(object);
    if (found != locks_.end()) return found->second;
    return locks_[object] = names_.locks.append(fmt::format("{:#x}", object));
  };
  switch (sequencer.kind) {
    case SequencerKind::kAcquire:
      if (const auto found = objects_.find(object); found != objects_.end())
        emit(thread, EventKind::kReceive, found->second, site);
      return;
    case SequencerKind::kRelease:
      return emit(thread, EventKind::kSend, message_of(objects_, object), site);
    case SequencerKind::kReleaseReplacing:
      objects_.erase(object);
      return emit(thread, EventKind::kSend, message_of(objects_, object), site);
    case SequencerKind::kForget:
      objects_.erase(object);
      return;
    case SequencerKind::kLockAcquired:
      if (sequencer.is_shared()) {
        thread.shared_locks.insert(object);
        if (const auto found = lock_writers_.find(object); found != lock_writers_.end())
          emit(thread, EventKind::kReceive, found->second, site);
        return;
      }
      emit(thread, EventKind::kAcquire, lock(), site);
      if (const auto found = lock_readers_.find(object); found != lock_readers_.end())
        emit(thread, EventKind::kReceive, found->second, site);
      return;
    case SequencerKind::kLockReleasing:
      if (thread.shared_locks.erase(object) != 0)
        return emit(thread, EventKind::kSend, message_of(lock_readers_, object), site);
      if (boundaries_.is_ever_shared(sequencer.object))
        emit(thread, EventKind::kSend, message_of(lock_writers_, object), site);
      return emit(thread, EventKind::kRelease, lock(), site);
    case SequencerKind::kLockDestroyed:
      locks_.erase(object);
      lock_readers_.erase(object);
      lock_writers_.erase(object);
      return;
    case SequencerKind::kBarrierArrive: {
      const auto [found, is_new] = barriers_.try_emplace({object, sequencer.extra});
      if (is_new) found->second = new_message();
      return emit(thread, EventKind::kSend, found->second, site);
    }
    case SequencerKind::kBarrierLeave:
      if (const auto found = barriers_.find({object, sequencer.extra}); found != barriers_.end())
        emit(thread, EventKind::kReceive, found->second, site);
      return;
    case SequencerKind::kBarrierInitialised:
      // Its generations are counted afresh.
      barriers_.erase(barriers_.lower_bound({object, 0}), barriers_.upper_bound({object, ~std::uint64_t{0}}));
      return;
    case SequencerKind::kFence:
      return fence(thread, site, sequencer.order());
    default:
      return;
  }
}

// --- Atomics

void Events::begin_atomic(ThreadState& thread, SiteId site, const recording::Sequencer& sequencer) {
  const unsigned operation = sequencer.operation();
  const std::uint32_t pieces = sequencer.size() == 16 ? 2 : 1;
  const bool reads = operation != kDhAtomicStore;
  const bool writes =
      operation != kDhAtomicLoad && (operation != kDhAtomicCompareExchange || sequencer.succeeded());
  thread.atomic = sequencer;
  thread.atomic_site = site;
  thread.atomic_accesses_left = pieces * ((reads ? 1 : 0) + (writes ? 1 : 0));
  if (!reads || thread.ignored_synchronisation != 0) return;
  const auto carried = atomics_.find(sequencer.object.value());
  if (carried == atomics_.end()) return;
  for (const auto& [sender, message] : carried->second.messages) {
    if (acquires(sequencer.order())) {
      emit(thread, EventKind::kReceive, message, site);
    } else if (boundaries_.has_fences()) {
      thread.seen_relaxed.insert(message);
      captured_.insert(message);
    }
  }
}

// A message of the thread's own at this location. What a relaxed load of another thread has seen must not
// grow: then it is a new one.
Events::MessageId Events::send_own(ThreadState& thread, std::uint64_t address, SiteId site) {
  const auto [found, is_new] = own_messages_.try_emplace({address, thread.id.value()});
  if (is_new || captured_.contains(found->second)) found->second = new_message();
  emit(thread, EventKind::kSend, found->second, site);
  return found->second;
}

// The accesses have been told: what is sent now is known together with them.
void Events::finish_atomic(ThreadState& thread) {
  const recording::Sequencer& atomic = thread.atomic;
  const unsigned operation = atomic.operation();
  const bool writes =
      operation != kDhAtomicLoad && (operation != kDhAtomicCompareExchange || atomic.succeeded());
  if (!writes || thread.ignored_synchronisation != 0) return;
  const std::uint64_t address = atomic.object.value();
  const bool sends = releases(atomic.order());
  if (operation == kDhAtomicStore) atomics_.erase(address);
  if (!sends && !thread.has_release_fence) return;
  const MessageId message = sends ? send_own(thread, address, thread.atomic_site) : thread.release_fence;
  atomics_[address].messages[thread.id.value()] = message;
}

void Events::fence(ThreadState& thread, SiteId site, unsigned order) {
  if (acquires(order)) {
    std::vector<MessageId> messages(thread.seen_relaxed.begin(), thread.seen_relaxed.end());
    std::sort(messages.begin(), messages.end());
    for (MessageId message : messages) emit(thread, EventKind::kReceive, message, site);
    thread.seen_relaxed.clear();
  }
  if (releases(order)) {
    thread.release_fence = new_message();
    thread.has_release_fence = true;
    emit(thread, EventKind::kSend, thread.release_fence, site);
  }
}

}  // namespace deadheat::replay
