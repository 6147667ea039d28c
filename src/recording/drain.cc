// How often the writer looks, and how much it takes, is a compromise of three things: chunks of 256 KiB
// compress better and cost less than small ones; a ring of 1 MiB must never be full; and an idle program must
// not be disturbed. So a look takes whole chunks only, unless the last flush of that thread was long ago, its
// program waits, or it has ended; and the time between looks follows the fullest ring.
#include "recording/drain.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/check.h"
#include "recording/description.h"
#include "recording/encode.h"
#include "recording/folder.h"
#include "recording/format.h"

namespace deadheat::recording {
namespace {

constexpr auto kFlushAfter = std::chrono::milliseconds(200);
constexpr unsigned kLongestRest = 20;
constexpr double kFast = 16e6;                  // bytes a second that a thread logs
constexpr std::uint32_t kMaxThreads = 1 << 28;  // more cannot have been

static_assert(kMaxItemBytes == kDhRingSlack);

}  // namespace

Drain::Drain(Arena& arena, DrainOptions options)
    : arena_(arena), options_(std::move(options)), start_(Time::now()) {}
Drain::~Drain() = default;

Result<std::unique_ptr<Drain>> Drain::start(Arena& arena, DrainOptions options) {
  std::unique_ptr<Drain> drain(new Drain(arena, std::move(options)));
  auto log = LogWriter::create(drain->options_.folder + "/" + kLogFile, drain->options_.level);
  if (!log) return log.error();
  drain->log_ = std::move(*log);
  if (Status status = reserve_end(drain->options_.folder); !status) return status.error();
  __atomic_fetch_add(&arena.header().writer_beat, 1, __ATOMIC_SEQ_CST);
  return drain;
}

void Drain::note_pid() {
  const std::uint32_t pid = load_acquire(arena_.header().pid);
  if (pid == 0 || pid_noted_) return;
  pid_noted_ = true;
  if (options_.description.pid == static_cast<int>(pid)) return;
  options_.description.pid = static_cast<int>(pid);
  // If this fails, the old one stays; the disk's fault shows soon enough in the log.
  (void)write_description(options_.folder, options_.description);
}

void Drain::look() {
  seen_wake_ = load_acquire(arena_.header().writer_wake);
  __atomic_fetch_add(&arena_.header().writer_beat, 1, __ATOMIC_SEQ_CST);
  if (is_stopped_) return;
  note_pid();
  const std::uint32_t slots = arena_.slots();
  if (slots_.size() < slots) slots_.resize(slots);
  pending_ = fullest_ = 0;
  for (std::uint32_t index = 0; index < slots && !is_stopped_; ++index) look_at(index);
  if (!is_stopped_ && limit_reached()) stop(StopReason::kLimit);
}

void Drain::rest() {
  // A quarter of a ring in one rest is too much: twice that could come.
  if (is_stopped_) {
    rest_milliseconds_ = kLongestRest;
  } else if (fullest_ > kDhRingBytes / 4) {
    rest_milliseconds_ = std::max(1u, rest_milliseconds_ / 4);
  } else if (fullest_ > kDhRingBytes / 16) {
    rest_milliseconds_ = std::max(1u, rest_milliseconds_ / 2);
  } else {
    rest_milliseconds_ = std::min(kLongestRest, rest_milliseconds_ * 2);
  }
  if (fullest_ > kDhRingBytes * 3 / 4 && !is_stopped_) return;
  arena_.sleep(seen_wake_, rest_milliseconds_);
}

// A slot that somebody has taken since the last look.
bool Drain::begin(std::uint32_t index, DhRecord& record) {
  Slot& slot = slots_[index];
  slot = Slot{};
  slot.is_used = true;
  slot.thread = ThreadId(record.thread);
  slot.taken = load_acquire(record.consumed);
  slot.flushed = Time::now();
  const std::uint32_t number = slot.thread.value();
  if (number >= kMaxThreads || (number < seen_.size() && seen_[number])) {
    slot.is_broken = true;
    return false;
  }
  if (seen_.size() <= number) seen_.resize(number + 1);
  seen_[number] = true;
  ++threads_;
  return true;
}

std::uint64_t Drain::available(std::uint32_t index, const DhRecord& record) {
  Slot& slot = slots_[index];
  if (slot.is_broken) return 0;
  const std::uint64_t available = load_acquire(record.written) - slot.taken;
  if (available <= kDhRingBytes) return available;
  slot.is_broken = true;
  return 0;
}

void Drain::look_at(std::uint32_t index) {
  DhRecord& record = arena_.slot(index);
  Slot& slot = slots_[index];
  const std::uint32_t state = load_acquire(record.state);
  if (state != kDhSlotLive && state != kDhSlotEnded) {
    slot.is_used = false;
    return;
  }
  if (!slot.is_used && !begin(index, record)) return;
  const std::uint64_t found = available(index, record);
  fullest_ = std::max(fullest_, found);
  const bool all = state == kDhSlotEnded || load_acquire(record.waiting) != 0 ||
                   (found != 0 && Time::now() - slot.flushed >= kFlushAfter);
  const std::uint64_t size = all ? found : found - found % kUsualChunkBytes;
  if (size != 0 && !take(index, size, {})) return stop(StopReason::kDiskFull);
  pending_ += found - size;
  if (state == kDhSlotEnded) {
    slot.is_used = false;
    store_release(record.state, static_cast<std::uint32_t>(kDhSlotFree));
  }
}

bool Drain::take(std::uint32_t index, std::uint64_t size, const std::string& tail) {
  Slot& slot = slots_[index];
  DhRecord& record = arena_.slot(index);
  const double seconds = std::chrono::duration<double>(Time::now() - slot.flushed).count();
  const bool is_fast = static_cast<double>(size) > kFast * seconds && size >= kUsualChunkBytes;
  log_->set_level(is_fast ? options_.quick_level : options_.level);
  do {
    const std::uint64_t part = std::min<std::uint64_t>(size, kUsualChunkBytes);
    size -= part;
    if (!append(index, part, size == 0 ? tail : std::string())) return false;
    slot.taken += part;
    __atomic_store_n(&record.consumed, slot.taken, __ATOMIC_SEQ_CST);
    arena_.wake_program(index);
    // A slow disk is no reason to think that nobody writes any more.
    __atomic_fetch_add(&arena_.header().writer_beat, 1, __ATOMIC_SEQ_CST);
  } while (size != 0);
  slot.flushed = Time::now();
  return true;
}

bool Drain::append(std::uint32_t index, std::uint64_t size, const std::string& tail) {
  Slot& slot = slots_[index];
  if (size + tail.size() == 0) return true;
  const auto [first, second] = arena_.bytes(index, slot.taken, size);
  std::span<const char> chunk = first;
  if (!second.empty() || !tail.empty()) {
    joined_.assign(first.begin(), first.end());
    joined_.insert(joined_.end(), second.begin(), second.end());
    joined_.insert(joined_.end(), tail.begin(), tail.end());
    chunk = joined_;
  }
  if (Status status = log_->append(slot.thread, slot.stream, chunk); !status) {
    problem_ = status.error().message;
    return false;
  }
  slot.stream += chunk.size();
  store_release(arena_.header().writer_bytes, log_->bytes());
  return true;
}

// What is in the rings will take room, too.
bool Drain::limit_reached() const {
  if (options_.limit == 0) return false;
  const double ratio = log_->raw_bytes() == 0
                           ? 1.0
                           : static_cast<double>(log_->bytes()) / static_cast<double>(log_->raw_bytes());
  return static_cast<double>(log_->bytes()) + static_cast<double>(pending_) * std::min(ratio, 1.0) >=
         static_cast<double>(options_.limit);
}

// The program goes on without us. It must be told first: what it logs after that is not waited for.
void Drain::stop(StopReason reason) {
  if (is_stopped_) return;
  is_stopped_ = true;
  ending_.reason = reason;
  const std::uint32_t said = reason == StopReason::kLimit      ? kDhStopLimit
                             : reason == StopReason::kDiskFull ? kDhStopDisk
                                                               : kDhStopWriterGone;
  __atomic_store_n(&arena_.header().stop, said, __ATOMIC_SEQ_CST);
  // A full disk may have room again for a short chunk, but then half an item could stand before it.
  if (reason != StopReason::kDiskFull) end_streams(EndKind::kStopped, 0, /*with_runs=*/false);
  for (std::uint32_t index = 0; index < slots_.size(); ++index) arena_.wake_program(index);
  describe_end();
  // So that the recording is complete even if we are killed while the program runs on.
  if (Status status = write_end(); !status && problem_.empty()) problem_ = status.error().message;
}

void Drain::end_streams(EndKind kind, std::int64_t status, bool with_runs) {
  const std::uint32_t slots = arena_.slots();
  if (slots_.size() < slots) slots_.resize(slots);
  for (std::uint32_t index = 0; index < slots; ++index) {
    DhRecord& record = arena_.slot(index);
    Slot& slot = slots_[index];
    const std::uint32_t state = load_acquire(record.state);
    if (state != kDhSlotLive && state != kDhSlotEnded) continue;
    if (!slot.is_used) begin(index, record);
    std::string tail;
    // A running thread's run changes; one that ran out of time is told none, and ends a little earlier.
    std::uint64_t run = with_runs ? load_acquire(record.run) : 0;
    const std::uint64_t size = available(index, record);
    if (slot.is_broken) continue;
    // A thread that has stopped logging has logged its end.
    if (state == kDhSlotLive && load_acquire(record.is_off) == 0) {
      if (with_runs && record.waiting_read != 0) {
        const std::uint64_t before = std::min(run, record.waiting_read_run);
        append_read(tail, before, record.waiting_read - record.last_object);
        run -= before;
      }
      append_end(tail, run, kind, status);
    }
    if (!take(index, size, tail)) {
      is_stopped_ = true;
      ending_.reason = StopReason::kDiskFull;
      return;
    }
    slot.is_used = false;
  }
}

void Drain::describe_end() {
  const DhArena& header = arena_.header();
  ending_.threads = threads_;
  ending_.unrecorded_threads = load_acquire(header.unrecorded_threads);
  ending_.sequencers = load_acquire(header.next_number);
  ending_.raw_bytes = log_->raw_bytes();
  ending_.log_bytes = log_->bytes();
  const std::uint64_t wall = load_acquire(header.wall_nanoseconds),
                      cpu = load_acquire(header.cpu_nanoseconds);
  ending_.wall_seconds = wall != 0 ? static_cast<double>(wall) * 1e-9
                                   : std::chrono::duration<double>(Time::now() - start_).count();
  if (cpu != 0) ending_.cpu_seconds = static_cast<double>(cpu) * 1e-9;
}

Status Drain::write_end() { return recording::write_end(options_.folder, ending_); }

Status Drain::finish(const Fate& fate) {
  note_pid();
  const DhArena& header = arena_.header();
  if (fate.still_runs) {
    stop(StopReason::kWriterGone);
    drop_reserve(options_.folder);
    return problem_.empty() ? Status(Nothing{}) : Status(Error{problem_});
  }
  // Not our child, perhaps: then what its runtime said last counts.
  const bool in_order = load_acquire(header.finished) != 0;
  ending_.program_ended = true;
  ending_.signal = fate.is_known ? fate.signal : in_order ? static_cast<int>(load_acquire(header.signal)) : 0;
  ending_.exit_code = fate.is_known ? fate.exit_code : in_order ? load_acquire(header.status) : 0;
  ending_.cpu_seconds = fate.cpu_seconds;
  if (!is_stopped_) {
    const bool ended = (fate.is_known || in_order) && ending_.signal == 0;
    is_stopped_ = true;
    end_streams(ended ? EndKind::kProcessEnded : EndKind::kCutOff, ended ? ending_.exit_code : ending_.signal,
                /*with_runs=*/true);
    // The runtime writes the modules, and stops by itself where it cannot.
    if (load_acquire(header.stop) == kDhStopDisk) ending_.reason = StopReason::kDiskFull;
  }
  describe_end();
  Status status = write_end();
  drop_reserve(options_.folder);
  return status;
}

}  // namespace deadheat::recording
