#include "detect/clocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace deadheat::detect {

ClockPool::~ClockPool() {
  for (void* slab : slabs_) std::free(slab);
}

ClockPool::Block* ClockPool::allocate(std::uint32_t size) {
  const std::uint32_t capacity = std::bit_ceil(std::max<std::uint32_t>(size, 4));
  const int order = std::countr_zero(capacity);
  if (free_[order] == nullptr) {
    const std::size_t each = sizeof(Block) + capacity * sizeof(std::uint32_t);
    // Small blocks come by the slab; large ones alone.
    const std::size_t count = std::max<std::size_t>(1, (std::size_t{64} << 10) / each);
    char* slab = static_cast<char*>(std::malloc(each * count));
    DEADHEAT_CHECK(slab != nullptr);
    slabs_.push_back(slab);
    bytes_ += each * count;
    for (std::size_t i = 0; i < count; ++i) {
      Block* block = reinterpret_cast<Block*>(slab + i * each);
      block->capacity = capacity;
      block->next_free() = free_[order];
      free_[order] = block;
    }
  }
  Block* block = free_[order];
  free_[order] = block->next_free();
  block->references = 0;
  block->size = size;
  return block;
}

void ClockPool::recycle(Block* block) {
  const int order = std::countr_zero(block->capacity);
  block->next_free() = free_[order];
  free_[order] = block;
}

// A row ends with the last slot that the thread knows something of. Its own clock is kept beside it, so that
// the many threads of a program that joins none have short rows, whatever their slots.
void ThreadTime::grow(std::size_t size) {
  if (row_.size() >= size) return;
  row_.resize(size);
  if (self_.index() < size) row_[self_.index()] = own_.value();
  changed_ = true;
}

Moment ThreadTime::now() {
  if (changed_ || copy_.empty()) {
    ClockPool::Block* block = pool_->allocate(static_cast<std::uint32_t>(row_.size()));
    if (!row_.empty()) std::memcpy(block->clocks(), row_.data(), row_.size() * sizeof(std::uint32_t));
    copy_ = Moment(pool_, block, self_, own_);
    changed_ = false;
  }
  return Moment(pool_, copy_.block(), self_, own_);
}

void ThreadTime::join_all(const Moment& moment) {
  if (moment.empty()) return;
  ClockPool::Block* block = moment.block();
  grow(std::max<std::size_t>(block->size, moment.slot().index() + 1));
  const std::uint32_t* other = block->clocks();
  std::uint32_t* row = row_.data();
  for (std::uint32_t i = 0; i < block->size; ++i) row[i] = std::max(row[i], other[i]);
  std::uint32_t& theirs = row[moment.slot().value()];
  theirs = std::max(theirs, moment.own().value());
  // Nobody knows more of a thread than the thread itself.
  if (self_.index() < row_.size()) row[self_.index()] = own_.value();
  changed_ = true;
}

void SyncClocks::on_sync(const Event& event) {
  const std::size_t object = event.object.index();
  switch (event.kind) {
    case EventKind::kAcquire:
      if (!locks_order_ || object >= lock_times_.size()) return;
      edge(time(event.thread), lock_times_[object]);
      return;
    case EventKind::kRelease: {
      if (!locks_order_) return;
      if (object >= lock_times_.size()) lock_times_.resize(std::max(object + 1, lock_times_.size() * 2));
      ThreadTime& self = time(event.thread);
      lock_times_[object] = self.now();
      self.tick();
      return;
    }
    case EventKind::kFork:
    case EventKind::kJoin: {
      const ThreadId child(static_cast<std::uint32_t>(event.object.value()));
      if (child == event.thread) return;
      if (event.kind == EventKind::kFork) {
        ++(lives_.fork(event.thread, child, time(event.thread).now()) ? joins_ : known_);
        time(event.thread).tick();
        return;
      }
      using Joined = ThreadLives<ThreadTime>::Joined;
      const Joined joined = lives_.join(event.thread, child);
      joins_ += joined == Joined::kLearned;
      known_ += joined == Joined::kKnown;
      return;
    }
    case EventKind::kSend: {
      ThreadTime& self = time(event.thread);
      messages_.send(event.object, self.now());
      self.tick();
      return;
    }
    case EventKind::kReceive:
      for (const Moment& moment : messages_.to(event.object)) edge(time(event.thread), moment);
      return;
    default:
      return;
  }
}

std::uint64_t SyncClocks::bytes() const {
  std::uint64_t bytes = pool_.bytes() + lives_.bytes();
  for (const ThreadTime& time : lives_.threads()) bytes += time.bytes();
  return bytes;
}

}  // namespace deadheat::detect
