#include "replay/race_events.h"

#include <algorithm>

#include "runtime/record_abi.h"

namespace deadheat::replay {

using recording::AccessKind;
using recording::NoteKind;
using recording::Sequencer;
using recording::SequencerKind;

namespace {

// As C++ numbers memory orders.
bool acquires(unsigned order) { return order == 1 || order == 2 || order == 4 || order == 5; }
bool releases(unsigned order) { return order == 3 || order == 4 || order == 5; }

// What a block has become larger by, from now on; nothing if it is not known, or is that large already.
struct Added {
  Address address;
  std::uint64_t size = 0;
};
template <typename Blocks>
Added extend(Blocks& blocks, const Sequencer& sequencer) {
  const auto block = blocks.find(sequencer.object.value());
  if (block == blocks.end() || block->second >= sequencer.extra) return {};
  const Added added = {Address(block->first + block->second), sequencer.extra - block->second};
  block->second = sequencer.extra;
  return added;
}

}  // namespace

void Borders::on_sequencer(ThreadId thread, SiteId, const Sequencer& sequencer) {
  if (sequencer.kind == SequencerKind::kAllocated || sequencer.kind == SequencerKind::kMapped)
    locations_.note_allocation(sequencer.object, sequencer.extra);
  if (sequencer.kind == SequencerKind::kAllocated) blocks_[sequencer.object.value()] = sequencer.extra;
  if (sequencer.kind == SequencerKind::kUsable) {
    const Added added = extend(blocks_, sequencer);
    if (added.size != 0) locations_.note_allocation(added.address, added.size);
  }
  if (sequencer.kind == SequencerKind::kUnmapping)
    locations_.note_end(sequencer.object, sequencer.extra, thread);
  if (sequencer.kind == SequencerKind::kFreeing)
    if (const auto block = blocks_.find(sequencer.object.value()); block != blocks_.end()) {
      locations_.note_end(sequencer.object, block->second, thread);
      blocks_.erase(block);
    }
  if (sequencer.kind == SequencerKind::kLockAcquired && sequencer.is_shared())
    shared_locks_.insert(sequencer.object.value());
  if (recording::is_atomic(sequencer.kind)) locations_.note(sequencer.object, sequencer.size(), thread);
}

RaceEvents::ThreadState& RaceEvents::state(ThreadId thread) {
  if (thread.index() >= threads_.size()) threads_.resize(thread.index() + 1);
  return threads_[thread.index()];
}

void RaceEvents::emit(EventKind kind, ThreadId thread, SiteId site, std::uint64_t object) {
  Event event;
  event.kind = kind;
  event.thread = thread;
  event.object = ObjectId(object);
  event.site = site;
  sink_(event, nullptr);
}

void RaceEvents::receive(ThreadId thread, SiteId site, Message message) {
  if (message != 0) emit(EventKind::kReceive, thread, site, message);
}

void RaceEvents::on_thread_begin(ThreadId thread) { emit(EventKind::kBegin, thread, SiteId(0), 0); }

void RaceEvents::on_thread_end(ThreadId thread, const recording::End&) {
  end_region(thread);
  emit(EventKind::kEnd, thread, SiteId(0), 0);
}

void RaceEvents::access(ThreadId thread, SiteId site, AccessOrigin origin, bool is_write, bool is_atomic) {
  const ThreadState& self = state(thread);
  if ((is_write ? self.ignore_writes : self.ignore_reads) != 0) return;
  Event event;
  event.kind = is_write ? EventKind::kWrite : EventKind::kRead;
  event.thread = thread;
  event.site = site;
  event.is_atomic = is_atomic;
  bool is_shared = false;
  locations_.visit(origin.address, origin.size, /*all=*/false, [&](ObjectId location, Address, unsigned) {
    event.object = location;
    sink_(event, &origin);
    is_shared = true;
  });
  if (is_shared && !locals_.empty()) use_local(thread, site, origin);
}

void RaceEvents::free_access(ThreadId thread, SiteId site, AccessOrigin origin, bool is_write,
                             bool is_atomic) {
  if (locations_.is_there(origin.address)) return access(thread, site, origin, is_write, is_atomic);
  // Beyond this many they come as they come: any order is as good as another.
  constexpr std::size_t kMost = 1 << 16;
  if (!locations_.is_shared(origin.address, origin.size)) return;
  std::vector<Late>& late = state(thread).late;
  if (late.size() >= kMost) return access(thread, site, origin, is_write, is_atomic);
  late.push_back(
      {site, origin, is_write, is_atomic, stack_of_ ? stack_of_(thread, site) : std::vector<SiteId>()});
}

void RaceEvents::end_region(ThreadId thread) {
  std::vector<Late> late;
  late.swap(state(thread).late);
  for (Late& access : late) {
    access.origin.stack = &access.stack;
    this->access(thread, access.site, access.origin, access.is_write, access.is_atomic);
  }
}

// --- Locals

void RaceEvents::on_local(ThreadId thread, SiteId, Address address, std::uint64_t size) {
  if (size == 0 || !locations_.is_shared(address, size)) return;
  locations_.born(address, size);
  const std::uint64_t begin = address.value();
  auto at = locals_.lower_bound(begin);
  if (at != locals_.begin() && std::prev(at)->first + std::prev(at)->second.size > begin) --at;
  while (at != locals_.end() && at->first < begin + size) at = locals_.erase(at);
  locals_[begin] = {size, thread, locations_.extra(address)};
}

void RaceEvents::on_local_end(ThreadId thread, SiteId site, Address address, std::uint64_t size) {
  if (locations_.is_shared(address, size)) locations_.died(address, size);
  const auto local = locals_.find(address.value());
  if (local == locals_.end() || state(thread).ignore_writes != 0) return;
  Event event;
  event.kind = EventKind::kWrite;
  event.thread = thread;
  event.site = site;
  event.object = local->second.life;
  const AccessOrigin origin{address, static_cast<std::uint32_t>(size), true, true, nullptr};
  sink_(event, &origin);
}

void RaceEvents::use_local(ThreadId thread, SiteId site, const AccessOrigin& origin) {
  auto at = locals_.upper_bound(origin.address.value());
  if (at == locals_.begin()) return;
  --at;
  const Local& local = at->second;
  if (origin.address.value() - at->first >= local.size || local.owner == thread) return;
  Event event;
  event.kind = EventKind::kRead;
  event.thread = thread;
  event.site = site;
  event.object = local.life;
  AccessOrigin use = origin;
  use.is_life = true;
  sink_(event, &use);
}

void RaceEvents::on_access(const Access& access) {
  // Atomics are told by their sequencers, which know the order.
  if (access.is_sequenced) return;
  free_access(access.thread, access.site, {access.address, access.size}, access.is_write, access.is_atomic);
}

void RaceEvents::on_library_access(ThreadId thread, SiteId site, const recording::LibraryAccess& access) {
  free_access(thread, site, {access.address, static_cast<std::uint32_t>(access.size)},
              access.kind == AccessKind::kWrite, /*is_atomic=*/false);
}

void RaceEvents::freed(ThreadId thread, SiteId site, Address address, std::uint64_t size) {
  if (state(thread).ignore_writes == 0) {
    Event event;
    event.kind = EventKind::kWrite;
    event.thread = thread;
    event.site = site;
    const AccessOrigin origin{address, static_cast<std::uint32_t>(size), true};
    locations_.visit_known(address, size, [&](ObjectId location, Address, unsigned) {
      event.object = location;
      sink_(event, &origin);
    });
  }
  locations_.died(address, size);
}

void RaceEvents::mapped(ThreadId thread, const Sequencer& sequencer) {
  ThreadState& self = state(thread);
  locations_.born(sequencer.object, sequencer.extra, /*is_stack=*/self.is_starting);
  if (!self.is_starting) return;
  self.stack = sequencer.object;
  self.stack_size = sequencer.extra;
}

void RaceEvents::on_note(ThreadId thread, SiteId, const recording::Note& note) {
  ThreadState& self = state(thread);
  const int step = note.kind == NoteKind::kIgnoreBegin ? 1 : -1;
  switch (note.kind) {
    case NoteKind::kIgnoreBegin:
    case NoteKind::kIgnoreEnd:
      if ((note.a & recording::kIgnoreReads) != 0) self.ignore_reads = std::max(0, self.ignore_reads + step);
      if ((note.a & recording::kIgnoreWrites) != 0)
        self.ignore_writes = std::max(0, self.ignore_writes + step);
      if ((note.a & recording::kIgnoreSynchronisation) != 0)
        self.ignore_sync = std::max(0, self.ignore_sync + step);
      return;
    case NoteKind::kBenignRace:
      benign_.emplace_back(note.a, note.b);
      return;
    case NoteKind::kThreadNamed:
    case NoteKind::kAllocationPlace:
      return;
  }
}

bool RaceEvents::is_benign(Address address) const {
  return std::any_of(benign_.begin(), benign_.end(), [&](const auto& range) {
    return address.value() >= range.first && address.value() - range.first < range.second;
  });
}

void RaceEvents::name_all(Names& names) const {
  const auto name = [](const char* kind, std::uint64_t number) { return kind + std::to_string(number); };
  for (std::size_t i = 0; i < threads_.size(); ++i) names.threads.append(name("t", i));
  for (std::uint64_t i = 0; i < locations_.count(); ++i) names.locations.append(name("x", i));
  for (std::size_t i = 0; i < lock_locations_.size(); ++i)
    names.locks.append(lock_locations_[i].value() == 0 ? name("l", i)
                                                       : name("x", lock_locations_[i].value()));
  for (Message i = 0; i < next_message_; ++i) names.messages.append(name("m", i));
  names.functions.append("code that was not recorded");
}

// --- Locks

std::uint64_t RaceEvents::lock_number(Address lock) {
  const auto [known, is_new] = locks_.try_emplace(lock.value(), lock_locations_.size());
  if (is_new) {
    lock_locations_.emplace_back();
    if (has_barriers_)
      locations_.visit(lock, 1, /*all=*/true,
                       [&](ObjectId location, Address, unsigned) { lock_locations_.back() = location; });
  }
  return known->second;
}

void RaceEvents::lock_acquired(ThreadId thread, SiteId site, Address lock, bool is_shared) {
  state(thread).held.push_back({lock, is_shared});
  if (!shared_locks_.contains(lock.value()))
    return emit(EventKind::kAcquire, thread, site, lock_number(lock));
  ReaderLock& both = reader_locks_[lock.value()];
  receive(thread, site, both.from_writers);
  if (is_shared) return;
  emit(EventKind::kAcquire, thread, site, lock_number(lock));
  receive(thread, site, both.to_writers);
  both.to_writers = 0;
}

void RaceEvents::lock_releasing(ThreadId thread, SiteId site, Address lock) {
  std::vector<HeldLock>& held = state(thread).held;
  const auto found = std::find_if(held.rbegin(), held.rend(),
                                  [&](const HeldLock& candidate) { return candidate.lock == lock; });
  const bool is_shared = found != held.rend() && found->is_shared;
  if (found != held.rend()) held.erase(std::next(found).base());
  if (!shared_locks_.contains(lock.value()))
    return emit(EventKind::kRelease, thread, site, lock_number(lock));
  ReaderLock& both = reader_locks_[lock.value()];
  Message& message = is_shared ? both.to_writers : both.from_writers;
  if (message == 0) message = new_message();
  send(thread, site, message);
  if (!is_shared) emit(EventKind::kRelease, thread, site, lock_number(lock));
}

// --- Atomics

void RaceEvents::fence(ThreadId thread, SiteId site, unsigned order) {
  ThreadState& self = state(thread);
  if (acquires(order)) {
    for (Message message : self.seen) receive(thread, site, message);
    self.seen.clear();
  }
  if (!releases(order)) return;
  // A message that was handed on stays as it was when it was handed on.
  if (self.fence == 0 || pinned_.contains(self.fence)) self.fence = new_message();
  send(thread, site, self.fence);
}

void RaceEvents::atomic(ThreadId thread, SiteId site, const Sequencer& sequencer) {
  const unsigned operation = sequencer.operation();
  const bool is_exchange = operation == kDhAtomicCompareExchange;
  const bool reads = operation != kDhAtomicStore;
  const bool writes = operation != kDhAtomicLoad && (!is_exchange || sequencer.succeeded());
  const AccessOrigin origin{sequencer.object, sequencer.size()};
  ThreadState& self = state(thread);
  if (self.ignore_sync != 0) return access(thread, site, origin, writes, true);
  AtomicState& object = atomics_[sequencer.object.value()];
  // What a library has released to the same word (the guard of a function's static, for one).
  std::vector<Message> carried = object.carried;
  if (const auto other = objects_.find(sequencer.object.value()); other != objects_.end())
    carried.push_back(other->second);

  if (reads && acquires(sequencer.order())) {
    for (Message message : carried) receive(thread, site, message);
  } else if (reads) {
    for (Message message : carried) {
      pinned_.insert(message);
      if (std::find(self.seen.begin(), self.seen.end(), message) == self.seen.end())
        self.seen.push_back(message);
    }
  }
  access(thread, site, origin, writes, true);
  if (!writes) return;
  // A store begins anew; a read-modify-write goes on with what is there.
  if (!reads) object.carried.clear();
  const auto carry = [&](Message message) {
    if (std::find(object.carried.begin(), object.carried.end(), message) == object.carried.end())
      object.carried.push_back(message);
  };
  if (releases(sequencer.order())) {
    Message& own = object.of_thread[thread.value()];
    if (own == 0 || pinned_.contains(own)) own = new_message();
    // Who has received all that is there hands it on with its own.
    if (reads && acquires(sequencer.order())) object.carried.clear();
    send(thread, site, own);
    carry(own);
  } else if (self.fence != 0) {
    pinned_.insert(self.fence);
    carry(self.fence);
  }
}

// --- Everything that synchronises

void RaceEvents::on_sequencer(ThreadId thread, SiteId site, const Sequencer& sequencer) {
  end_region(thread);
  synchronise(thread, site, sequencer);
  state(thread).is_starting = sequencer.kind == SequencerKind::kThreadStarted;
}

void RaceEvents::synchronise(ThreadId thread, SiteId site, const Sequencer& sequencer) {
  const std::uint64_t object = sequencer.object.value();
  if (recording::is_atomic(sequencer.kind)) return atomic(thread, site, sequencer);
  if (state(thread).ignore_sync != 0 && sequencer.kind <= SequencerKind::kBarrierLeave) return;
  switch (sequencer.kind) {
    case SequencerKind::kAcquire:
      if (const auto found = objects_.find(object); found != objects_.end())
        receive(thread, site, found->second);
      if (const auto found = atomics_.find(object); found != atomics_.end())
        for (Message message : found->second.carried) receive(thread, site, message);
      return;
    case SequencerKind::kRelease: {
      Message& message = objects_[object];
      if (message == 0) message = new_message();
      return send(thread, site, message);
    }
    case SequencerKind::kReleaseReplacing: {
      Message& message = objects_[object];
      message = new_message();
      return send(thread, site, message);
    }
    case SequencerKind::kForget:
    case SequencerKind::kLockDestroyed:
      objects_.erase(object);
      reader_locks_.erase(object);
      locks_.erase(object);
      return;
    case SequencerKind::kLockAcquired:
      return lock_acquired(thread, site, sequencer.object, sequencer.is_shared());
    case SequencerKind::kLockReleasing:
      return lock_releasing(thread, site, sequencer.object);
    case SequencerKind::kBarrierInitialised:
      return;
    case SequencerKind::kBarrierArrive:
    case SequencerKind::kBarrierLeave: {
      // One message per barrier and generation; objects are aligned, so the sum is nobody else's.
      Message& message = objects_[object ^ (sequencer.extra + 1) << 48];
      if (message == 0) message = new_message();
      return sequencer.kind == SequencerKind::kBarrierArrive ? send(thread, site, message)
                                                             : receive(thread, site, message);
    }
    case SequencerKind::kThreadCreated:
      state(sequencer.other_thread());  // it counts, whether it is recorded or not
      return emit(EventKind::kFork, thread, site, sequencer.other_thread().value());
    case SequencerKind::kThreadJoined:
      state(sequencer.other_thread());
      return emit(EventKind::kJoin, thread, site, sequencer.other_thread().value());
    case SequencerKind::kThreadFinishing:
      return locations_.died(state(thread).stack, state(thread).stack_size);
    case SequencerKind::kAllocated:
      blocks_[object] = sequencer.extra;
      return locations_.born(sequencer.object, sequencer.extra);
    case SequencerKind::kUsable: {
      const Added added = extend(blocks_, sequencer);
      return locations_.born(added.address, added.size);
    }
    case SequencerKind::kMapped:
      return mapped(thread, sequencer);
    case SequencerKind::kFreeing:
    case SequencerKind::kUnmapping: {
      std::uint64_t size = sequencer.extra;
      if (sequencer.kind == SequencerKind::kFreeing) {
        const auto block = blocks_.find(object);
        if (block == blocks_.end()) return;
        size = block->second;
        blocks_.erase(block);
      }
      return freed(thread, site, sequencer.object, size);
    }
    case SequencerKind::kFence:
      return fence(thread, site, sequencer.order());
    default:
      return;
  }
}

}  // namespace deadheat::replay
