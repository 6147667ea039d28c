// The filter `spans` around the rule of spans.h.
//
// What may be dropped depends on what the detector behind promises (DropRule); each rule is as wide as
// exactness allows:
//
//  kLocation (fasttrack)        covered within the span, as in spans.h.
//  kSite (hb)                   the same, and at the same site: hb promises every pair of sites.
//  kLockset (lockset, hybrid)   the same, with the same locks held, and no other thread has touched the
//  location in between:
//                               these detectors are state machines of the location, and a repeated step by
//                               the same thread with the same locks changes nothing. Within a span a lock
//                               held at a1 is also held at a2 (its release would be pending or observed), so
//                               equal numbers mean equal sets. And it repeats the location's last access
//                               (place and kind): a report names the last access of another thread, and must
//                               name the same places, and so have the same fingerprint, as without the
//                               filter.
//  kSection (wcp)               the same site, and the thread has not synchronised at all in between: wcp
//  orders by what a
//                               critical section touched, so an access inside one does not stand for one
//                               outside.
//  kReads (shb)                 a read, after a read at the same site, of a location that nobody has written
//  in between,
//                               with nothing but reads of this thread in between: shb orders a
//                               read after the write it sees, so every write counts, and so does what is
//                               between two writes.
//  kNothing (syncp, mcm, rdit, cp)  nothing: their witnesses are made of the whole trace, or they need it.
//
// Memory is constant but for 16 bytes a location and what is kept of a thread until it is joined: what is
// remembered is a cache of at most 2^16 accesses.
#include "detect/spans_filter.h"

#include <algorithm>
#include <functional>

namespace deadheat::detect {
namespace {

constexpr std::size_t kSmallestCache = std::size_t{1} << 8;
constexpr std::size_t kLargestCache = std::size_t{1} << 16;

}  // namespace

SpansFilter::SpansFilter(StageContext context, DropRule rule)
    : Filter(std::move(context)), rule_(rule), cache_(rule == DropRule::kNothing ? 0 : kSmallestCache) {}

SpansFilter::Thread& SpansFilter::thread(ThreadId id) {
  if (threads_.size() <= id.index()) threads_.resize(std::max(id.index() + 1, threads_.size() * 2));
  std::unique_ptr<Thread>& thread = threads_[id.index()];
  if (!thread) thread = std::make_unique<Thread>();
  return *thread;
}

void SpansFilter::on_event(EventIndex index, const Event& event) {
  if (is_over(event.thread)) {  // in a trace that no program can have made
    seen_ += is_access(event.kind);
    return pass(index, event);
  }
  Thread& self = thread(event.thread);
  if (is_access(event.kind)) {
    ++seen_;
    const bool drop = rule_ != DropRule::kNothing && covered(self, event);
    if (event.kind == EventKind::kWrite) ++self.changes;
    if (drop) {
      ++dropped_;
      return;
    }
  } else if (event.kind != EventKind::kBranch) {
    on_sync(event);
  }
  pass(index, event);
}

void SpansFilter::on_sync(const Event& event) {
  Thread& self = thread(event.thread);
  ++self.sections;
  ++self.changes;
  const std::size_t object = event.object.index();
  if (event.kind == EventKind::kAcquire || event.kind == EventKind::kRelease) {
    while (locks_.size() <= object) locks_.emplace_back();
  }
  switch (event.kind) {
    case EventKind::kAcquire: {
      Lock& lock = locks_[object];
      const bool own = lock.releaser == event.thread;
      self.span.acquire_lock(event.object, own && !lock.observed);
      if (!own) lock.observed = true;
      ++self.held;
      break;
    }
    case EventKind::kRelease:
      self.span.release_lock(event.object);
      locks_[object] = {event.thread, false};
      if (self.held > 0) --self.held;
      break;
    case EventKind::kFork:
    case EventKind::kSend:
    case EventKind::kEnd:
      self.span.release();
      break;
    case EventKind::kJoin: {
      const ThreadId child(static_cast<std::uint32_t>(object));
      if (child == event.thread) break;
      if (child.index() >= joined_.size()) joined_.resize(std::max(child.index() + 1, joined_.size() * 2));
      joined_[child.index()] = true;
      if (child.index() < threads_.size()) threads_[child.index()].reset();
      break;
    }
    default:
      break;
  }
}

bool SpansFilter::covered(Thread& self, const Event& event) {
  const bool by_site = rule_ == DropRule::kSite || rule_ == DropRule::kSection || rule_ == DropRule::kReads;
  const SiteId site = by_site ? event.site : SiteId(0);
  const bool write = event.kind == EventKind::kWrite;

  std::uint64_t label = self.span.label();
  std::uint64_t start = label;
  if (rule_ == DropRule::kSection) label = start = self.sections;
  if (rule_ == DropRule::kReads) label = start = self.changes;

  const std::uint64_t mixed = event.object.value() * 0x9E3779B97F4A7C15ull +
                              event.thread.value() * 0xC2B2AE3D27D4EB4Full +
                              site.value() * 0x165667B19E3779F9ull;
  const std::uint64_t hash = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9ull >> 32;
  if (evicted_ > cache_.size() && cache_.size() < kLargestCache) {
    evicted_ = 0;
    cache_.assign(cache_.size() * 4, Remembered{});
  }
  Remembered& entry = cache_[hash & (cache_.size() - 1)];
  const bool same =
      entry.read != 0 && entry.location == event.object && entry.thread == event.thread && entry.site == site;
  if (!same && entry.read != 0) ++evicted_;

  bool keep = same;  // what the entry says still holds
  if (rule_ == DropRule::kLockset || rule_ == DropRule::kReads) {
    if (event.object.index() >= locations_.size()) locations_.resize(event.object.index() * 2 + 16);
    Location& location = locations_[event.object.index()];
    if (rule_ == DropRule::kLockset) {
      keep = keep && entry.held == self.held && location.last == event.thread &&
             location.site == event.site && location.wrote == write;
      location = {.last = event.thread, .site = event.site, .wrote = write};
    } else {
      keep = keep && entry.writes == location.writes;
      if (write) ++location.writes;
      entry.writes = location.writes;
    }
  }

  const std::uint64_t covers = write || !keep ? entry.write : entry.read;
  if (keep && covers >= start && !(rule_ == DropRule::kReads && write)) return true;
  if (!keep) entry.write = 0;
  entry.location = event.object;
  entry.thread = event.thread;
  entry.site = site;
  entry.held = self.held;
  self.span.note_used();
  entry.read = label;
  if (write) entry.write = label;
  // A write starts a new stretch of reads for shb and syncp, so it is not remembered as one of them.
  if (write && rule_ == DropRule::kReads) entry.read = 0;
  return false;
}

std::uint64_t SpansFilter::memory_bytes() const {
  return cache_.capacity() * sizeof(Remembered) + locations_.capacity() * sizeof(Location) +
         locks_.size() * sizeof(Lock) + threads_.capacity() * sizeof(void*);
}

Statistics SpansFilter::statistics() const { return {{"accesses", seen_}, {"dropped", dropped_}}; }

}  // namespace deadheat::detect
