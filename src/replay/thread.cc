#include "replay/thread.h"

#include <alloca.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "replay/flow.h"
#include "replay/hook_shapes.h"
#include "replay/world.h"
#include "runtime/record_faults.h"

namespace deadheat::replay {

using recording::Tag;

namespace {

// Mirrored frames hold private locals only, but call-backs nest our own frames among them, and functions are
// compiled on the stack of who first calls them. Pages are touched on demand.
constexpr std::size_t kStackBytes = std::size_t{256} << 20;
constexpr std::size_t kGuardBytes = 64 << 10;
constexpr unsigned kIdleTicks = 12;  // 3 s of processor time

void* map(std::size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

struct StackAllocator {
  boost::context::stack_context allocate() const {
    auto* const memory = static_cast<char*>(map(kStackBytes));
    mprotect(memory, kGuardBytes, PROT_NONE);
    boost::context::stack_context stack;
    stack.size = kStackBytes;
    stack.sp = memory + kStackBytes;
    return stack;
  }
  void deallocate(boost::context::stack_context& stack) const noexcept {
    munmap(static_cast<char*>(stack.sp) - stack.size, stack.size);
  }
};

const char* name_of(Tag tag) {
  switch (tag) {
    case Tag::kValue1:
      return "a value of 1 byte";
    case Tag::kValue2:
      return "a value of 2 bytes";
    case Tag::kValue4:
      return "a value of 4 bytes";
    case Tag::kValue8:
      return "a value of 8 bytes";
    case Tag::kSequencer:
      return "a sequencer";
    case Tag::kCallback:
      return "a call-back";
    case Tag::kUnwound:
      return "the end of a call-back by unwinding";
    case Tag::kLanded:
      return "an exception's landing";
    case Tag::kJumped:
      return "a jump to a setjmp";
    case Tag::kAccess:
      return "a library's access";
    case Tag::kNote:
      return "a note";
    case Tag::kEnd:
      return "the end";
    case Tag::kMoreWords:
      return "more words";
    case Tag::kCodedSequencer:
    case Tag::kReadAndSequencer:
      break;  // never given out
  }
  return "nothing known";
}

Tag tag_of(std::uint32_t size) {
  return size == 1 ? Tag::kValue1 : size == 2 ? Tag::kValue2 : size <= 4 ? Tag::kValue4 : Tag::kValue8;
}

}  // namespace

// --- What every item takes: here, so that it is inline

[[gnu::noinline, gnu::cold]] void Thread::no_more() {
  fail(stream_.status() ? "the stream has no end: " + stream_.position() : stream_.status().error().message);
}

[[gnu::noinline, gnu::cold]] void Thread::differs(const recording::Sequencer& happened) {
  if (happened.hash_bits == 0)
    diverge("the stores differ from the recorded ones: some were made, where there were none");
  diverge(fmt::format("the stores differ from the recorded ones: digest {0:0{2}x}, recorded {1:0{2}x}",
                      hot_->hash >> (64 - happened.hash_bits), happened.hash, happened.hash_bits / 4));
}

inline bool Thread::is_of_fault() const {
  return item_.sequencer.kind == recording::SequencerKind::kAcquire && item_.sequencer.extra != 0;
}

inline bool Thread::is_at_fault() const {
  return item_.tag == Tag::kSequencer && is_of_fault() && item_.sequencer.extra < kDhFaultReads;
}

[[gnu::always_inline]] inline void Thread::fetch() {
  if (!stream_.next(item_)) [[unlikely]]
    no_more();
  if (item_.predicted < counted_again_) [[unlikely]]
    fail("more values were predicted before a fault than before what follows its handler");
  hot_->run = item_.predicted - std::exchange(counted_again_, 0);
  predicted_ += hot_->run;
  hot_->fault = is_at_fault() ? item_.sequencer.extra : 0;
}

inline bool Thread::matches(const recording::Sequencer& happened, std::uint64_t hash) const {
  return happened.hash_bits == 0 ? hash == sequenced_hash_
                                 : hash >> (64 - happened.hash_bits) == happened.hash;
}

[[gnu::always_inline]] inline void Thread::verify(const recording::Sequencer& happened) {
  if (!matches(happened, hot_->hash)) [[unlikely]]
    differs(happened);
  sequenced_hash_ = hot_->hash;
}

// What nobody waits for and nobody wants to know of.
[[gnu::always_inline]] inline void Thread::pass_sequencer() {
  verify(item_.sequencer);
  ++regions_;
  last_number_ = item_.sequencer.number.value();
  fetch();
}

Thread::Thread(World& world, recording::ThreadStream stream)
    : world_(world), id_(stream.thread()), stream_(std::move(stream)) {}

Thread::Thread(World& world, ThreadId id, recording::ThreadStream stream)
    : world_(world), id_(id), stream_(std::move(stream)) {}

Thread::~Thread() { release(); }

void Thread::release() {
  buffers_.clear();
  if (hot_ == nullptr) return;
  if (hot_->frames != nullptr) munmap(hot_->frames, sizeof(std::uint32_t) * kDhMaxFrames);
  munmap(hot_, sizeof(DhReplay));
  hot_ = nullptr;
}

SiteId Thread::call_site() const {
  const std::uint32_t frame = hot_->frame;
  return frame == 0 || frame > kDhMaxFrames ? SiteId() : SiteId(hot_->frames[frame - 1]);
}

// --- The fiber

void Thread::resume() {
  if (outcome_ == Outcome::kNotStarted) {
    outcome_ = Outcome::kRunning;
    hot_ = static_cast<DhReplay*>(map(sizeof(DhReplay)));
    hot_->owner = this;
    hot_->is_tagged = world_.predictor() == Predictor::kTagged ? 1 : 0;
    if (world_.is_observed())
      hot_->frames = static_cast<std::uint32_t*>(map(sizeof(std::uint32_t) * kDhMaxFrames));
    hot_->wants_calls = world_.wants_calls() ? 1 : 0;
    hot_->stop_at = world_.stop_of(id_);
    hot_->flow = world_.flow();
    is_alone_ = world_.is_nobody_waiting();
    fiber_ = boost::context::fiber(std::allocator_arg, StackAllocator(),
                                   [this](boost::context::fiber&& scheduler) {
                                     scheduler_ = std::move(scheduler);
                                     body();
                                     return std::move(scheduler_);
                                   });
  }
  __dh_replay = hot_;
  fiber_ = std::move(fiber_).resume();
  __dh_replay = nullptr;
  if (is_done()) release();
}

void Thread::yield() {
  scheduler_ = std::move(scheduler_).resume();
  if (world_.is_stopping()) leave(Outcome::kStopped);
}

void Thread::body() {
  if (_setjmp(base_) == 0) {
    if (!world_.is_live()) {
      world_.notify([&](Observer& observer) { observer.on_thread_begin(id()); });
      fetch();
    }
    for (;;) {
      if (world_.is_live()) world_.run_live(*this);
      if (!is_at_item()) diverge("a value belongs to no function");
      step();
      hot_->unwinding = kDhNotUnwinding;  // an exception left the thread's first function
    }
  }
  stores_ = hot_->stores;
  instructions_ = hot_->instructions;
  if (outcome_ == Outcome::kEnded && !world_.is_live())
    world_.notify([&](Observer& observer) { observer.on_thread_end(id(), end_); });
}

void Thread::leave(Outcome outcome) {
  outcome_ = outcome;
  last_site_ = SiteId(hot_->site);
  std::longjmp(base_, 1);
}

void Thread::diverge(std::string what) {
  problem_ = std::move(what);
  leave(Outcome::kDiverged);
}

void Thread::fail(std::string what) {
  if (world_.is_live()) world_.failed_live(*this, what);
  problem_ = std::move(what);
  leave(Outcome::kFailed);
}

void Thread::trapped(int signal) {
  if (world_.is_live()) world_.trapped_live(*this, signal);
  // The recorded thread died of it as well.
  if (hot_->run == 0 && item_.tag == Tag::kEnd) {
    end_ = item_.end;
    leave(Outcome::kEnded);
  }
  // Its handler did not return: nobody could tell where to.
  if (hot_->run == 0 && (item_.tag == Tag::kSequencer || item_.tag == Tag::kCallback))
    while (is_at_item() && hot_->unwinding == kDhNotUnwinding) step();
  diverge(fmt::format(
      "the replayed code was stopped by signal {} ({}); the log continues with {} after {} predicted values",
      signal, strsignal(signal), name_of(item_.tag), hot_->run));
}

void Thread::note_fault(std::uint64_t kind) {
  if (kind != kDhFaultEnded) return faults_.push_back({hot_->hash, item_.predicted});
  if (faults_.empty()) diverge("a fault's handler returned that never began");
  hot_->hash = faults_.back().hash;
  counted_again_ = faults_.back().run;
  faults_.pop_back();
}

void Thread::fault_at_store(std::uint64_t address, std::uint64_t value, std::uint32_t size) {
  const std::uint64_t hash = bodies::mixed(hot_, hot_->hash, address, value);
  if (hot_->fault - 1 - address >= size || !is_at_fault() || !matches(item_.sequencer, hash)) return;
  // As when it was recorded: counted and in the predictor, and then it faulted.
  const std::uint64_t before = hot_->hash;
  hot_->hash = hash;
  shapes::put(hot_, address, value, size);
  hot_->run = 0;
  hot_->fault = 0;
  const std::size_t open = faults_.size();
  do {
    if (!is_at_item()) diverge("a fault, and no handler of it");
    step();
  } while (faults_.size() > open && !world_.is_live());
  // Back from the handler: the store is made now, and counted by who makes it.
  hot_->hash = before;
}

void Thread::tick() {
  if (world_.is_live()) return;
  if (hot_->run != 0 || item_.tag != Tag::kEnd || hot_->hash != ticked_hash_ || world_.is_compiling()) {
    ticked_hash_ = hot_->hash;
    idle_ticks_ = 0;
    return;
  }
  if (++idle_ticks_ < kIdleTicks) return;
  end_ = item_.end;
  leave(Outcome::kEnded);
}

// --- Items

void Thread::step() {
  switch (item_.tag) {
    case Tag::kSequencer:
      return sequencer(call_site());
    case Tag::kCallback:
      return callback();
    case Tag::kUnwound:
      hot_->unwinding = kDhToBoundary;
      return fetch();
    case Tag::kLanded:
      hot_->unwinding = kDhToLandingPad;
      hot_->target = static_cast<std::uint32_t>(item_.number);
      return fetch();
    case Tag::kJumped: {
      const auto found = buffers_.find(item_.number);
      if (found == buffers_.end())
        diverge(fmt::format("a jump to a setjmp at {:#x} that never was", item_.number));
      fetch();
      while (open_calls_ > found->second->open_calls) invisible_ends();
      faults_.clear();
      hot_->unwinding = kDhNotUnwinding;
      live_calls_.resize(found->second->live_calls);
      std::longjmp(found->second->context, 1);
    }
    case Tag::kAccess:
      world_.notify([&](Observer& observer) { observer.on_library_access(id(), call_site(), item_.access); });
      return fetch();
    case Tag::kNote:
      world_.notify([&](Observer& observer) { observer.on_note(id(), call_site(), item_.note); });
      return fetch();
    case Tag::kEnd:
      end_ = item_.end;
      leave(Outcome::kEnded);
    default:
      diverge(fmt::format("expected something that happened, found {}", name_of(item_.tag)));
  }
}

void Thread::sequencer(SiteId site) {
  if (is_alone_ && !is_of_fault()) return pass_sequencer();
  const recording::Sequencer happened = item_.sequencer;
  if (is_at_fault() && !world_.is_observed() && !matches(happened, hot_->hash)) world_.needs_observing(*this);
  verify(happened);
  if (happened.reads_object) {
    const recording::LibraryAccess read{recording::AccessKind::kRead, happened.object, 1, Address(0)};
    world_.notify([&](Observer& observer) { observer.on_library_access(id(), site, read); });
  }
  ++regions_;
  last_number_ = happened.number.value();
  world_.wait_for_turn(*this, happened.number);
  if (world_.is_live()) return;
  if (!live_calls_.empty()) ++live_calls_.back()->sequencers;
  world_.notify([&](Observer& observer) { observer.on_sequencer(id(), site, happened); });
  world_.happened(happened);
  if (happened.kind == recording::SequencerKind::kAcquire && happened.extra != 0) note_fault(happened.extra);
  fetch();
}

void Thread::callback() {
  const Address function = item_.callback.function;
  const std::size_t count = item_.callback.words.size();
  auto* const words = static_cast<std::uint64_t*>(alloca(8 * (count + 1)));
  std::copy(item_.callback.words.begin(), item_.callback.words.end(), words);
  world_.notify([&](Observer& observer) { observer.on_callback(id(), item_.callback); });
  Adapter* const adapter = world_.adapter_at(*this, function, count);
  const std::uint32_t frame = hot_->frame;
  // Looked at again after the call, which may leave by a jump: then nobody looks.
  const std::size_t open = live_calls_.size();
  if (open == 0) {
    base_function_ = function;
    base_has_returned_ = false;
  } else {
    live_calls_.back()->is_in_callback = true;
  }
  fetch();
  // A call-back may come in the middle of anything (a signal does): the labels of what was interrupted stay.
  Flow* const flow = world_.flow();
  DhLabels interrupted;
  if (flow != nullptr) {
    interrupted = hot_->labels;
    hot_->labels.callback = flow->begin_callback(id()).value();
  }
  adapter(words);
  if (flow != nullptr) {
    flow->end_callback(*hot_, id());
    hot_->labels = interrupted;
  }
  hot_->frame = frame;
  if (open == 0) {
    base_has_returned_ = true;
  } else {
    ++live_calls_[open - 1]->callbacks;
    live_calls_[open - 1]->is_in_callback = false;
  }
  if (world_.is_live()) return;
  if (hot_->unwinding == kDhToLandingPad)
    diverge(fmt::format("an exception landed at depth {}, beyond the call-back it had to leave first",
                        hot_->target));
  hot_->unwinding = kDhNotUnwinding;
  world_.notify([&](Observer& observer) { observer.on_callback_end(id()); });
}

// --- From the hooks

std::uint64_t Thread::value(std::uint64_t address, std::uint32_t size) {
  // The log has as few bytes of it as hold the value.
  if (hot_->run == 0 && item_.tag <= tag_of(size)) [[likely]] {
    const std::uint64_t value = item_.value;
    bodies::poke(hot_, address, value, size);
    ++logged_;
    fetch();
    return value;
  }
  while (is_at_item()) {
    step();
    if (world_.is_live()) return 0;
    if (hot_->unwinding != kDhNotUnwinding) diverge("an exception where no call was made");
  }
  if (hot_->run != 0) {
    --hot_->run;
    return bodies::peek(hot_, address, size);
  }
  if (item_.tag > tag_of(size))
    diverge(fmt::format("the code asks for a value of {} bytes at {:#x}, the log has {}", size, address,
                        name_of(item_.tag)));
  const std::uint64_t value = item_.value;
  bodies::poke(hot_, address, value, size);
  ++logged_;
  fetch();
  return value;
}

void Thread::nothing() {
  while (is_at_item()) {
    step();
    if (world_.is_live()) return;
    if (hot_->unwinding != kDhNotUnwinding) diverge("an exception after the call that it should have left");
  }
  if (hot_->run == 0) diverge(fmt::format("a call returned nothing, the log has {}", name_of(item_.tag)));
  --hot_->run;
}

void Thread::invisible() {
  while (is_alone_ && hot_->run == 0 && item_.tag == Tag::kSequencer && !is_of_fault()) pass_sequencer();
  while (is_at_item() && hot_->unwinding == kDhNotUnwinding && !world_.is_live()) step();
}

void Thread::resume_exception() {
  while (hot_->unwinding == kDhNotUnwinding) {
    if (!is_at_item()) diverge(fmt::format("an exception goes on, the log has {}", name_of(item_.tag)));
    step();
    if (world_.is_live()) return;
  }
}

void Thread::unreachable() {
  for (;;) {
    if (!is_at_item() || hot_->unwinding != kDhNotUnwinding)
      diverge("the code went where control never comes");
    step();
    if (world_.is_live()) world_.failed_live(*this, "a thread was where control never comes");
  }
}

void Thread::atomic_sequencer(unsigned operation, SiteId site) {
  if (is_alone_ && hot_->run == 0 && item_.tag == Tag::kSequencer &&
      recording::is_atomic(item_.sequencer.kind) && item_.sequencer.operation() == operation) {
    atomic_flags_ = kDhAccessAtomic | kDhAccessSequenced;
    return pass_sequencer();
  }
  for (;;) {
    if (!is_at_item() && operation == kDhAtomicLoad) {
      atomic_flags_ = kDhAccessAtomic;
      return;
    }
    if (!is_at_item())
      diverge(fmt::format("the code does an atomic operation, the log has {} after {} predicted values",
                          name_of(item_.tag), hot_->run));
    if (item_.tag == Tag::kSequencer) {
      const recording::SequencerKind kind = item_.sequencer.kind;
      const bool is_fence = operation == kDhAtomicFence;
      if (is_fence ? kind == recording::SequencerKind::kFence
                   : recording::is_atomic(kind) && item_.sequencer.operation() == operation) {
        atomic_flags_ = kDhAccessAtomic | kDhAccessSequenced;
        return sequencer(site);
      }
    }
    step();
    if (world_.is_live()) return;
    if (hot_->unwinding != kDhNotUnwinding) diverge("an exception where no call was made");
  }
}

void* Thread::jump_buffer(std::uint64_t environment) {
  std::unique_ptr<JumpBuffer>& buffer = buffers_[environment];
  if (buffer == nullptr) buffer = std::make_unique<JumpBuffer>();
  buffer->open_calls = open_calls_;
  buffer->live_calls = live_calls_.size();
  return buffer->context;
}

void Thread::invisible_ends() {
  --open_calls_;
  if (Flow* const flow = world_.flow()) flow->end_call(*hot_, id());
  world_.notify([&](Observer& observer) { observer.on_invisible_end(id()); });
}

// --- Live code

void Thread::stop_before_access() {
  world_.stopped(*this);
  yield();
}

bool Thread::find_callback(Address& function, std::vector<std::uint64_t>& words) {
  while (item_.tag != Tag::kCallback) {
    if (item_.tag == Tag::kEnd) return false;
    fetch();
  }
  hot_->run = 0;
  function = item_.callback.function;
  words.assign(item_.callback.words.begin(), item_.callback.words.end());
  base_function_ = function;
  if (!stream_.next(item_)) item_.tag = Tag::kEnd;
  return true;
}

void Thread::jump(std::uint64_t environment) {
  JumpBuffer& buffer = *buffers_.at(environment);
  live_calls_.resize(buffer.live_calls);
  std::longjmp(buffer.context, 1);
}

}  // namespace deadheat::replay
