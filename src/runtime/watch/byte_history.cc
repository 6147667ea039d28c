#include "runtime/watch/byte_history.h"

#include "runtime/platform/spinlock.h"
#include "runtime/watch/bytewise_cell.h"
#include "runtime/watch/known_to_all.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

using namespace bytewise;

ByteHistory::Form ByteHistory::Form::with(bool write, uint64_t bytes) const {
  Form form = {lane_log, only_reads && !write};
  while (form.lane_log != 0 && !are_lanes(bytes, form.lane_log)) --form.lane_log;
  return form;
}

HistoriesWorth histories_worth;

void ByteHistory::clear() {
  for (uint32_t i = 0; i < form_.words(); ++i) words_[i] = 0;
}

void ByteHistory::copy_from(const ByteHistory& other) {
  unsigned const lane = 1u << form_.lane_log;
  for (unsigned b = 0; b < 8; b += lane) {
    if (!form_.only_reads) words_[b >> form_.lane_log] = other.written(b);
    first_read()[b >> form_.lane_log] = other.read(b);
  }
}

bool ByteHistory::is_all_since(uint32_t oldest, uint32_t latest) const {
  for (uint32_t i = 0; i < form_.words(); ++i) {
    if (words_[i] != 0 && label_of(words_[i], latest) < oldest) return false;
  }
  return true;
}

bool ByteHistory::is_written_at_one_place() const {
  uint32_t differences = 0;
  for (unsigned b = 0; b < 8; ++b) differences |= written(0) ^ written(b);
  return differences >> kLabelBits == 0;
}

bool ByteHistory::fits_into_lanes(unsigned lane_log) const {
  for (unsigned b = 0; b < 8; ++b) {
    unsigned const first = b >> lane_log << lane_log;
    if (written(b) != written(first) || read(b) != read(first)) return false;
  }
  return true;
}

bool ByteHistory::has_only(uint64_t bytes) const {
  for (unsigned b = 0; b < 8; ++b) {
    if ((bytes >> b & 1) == 0 && (written(b) | read(b)) != 0) return false;
  }
  return true;
}

unsigned ByteHistory::records(Epoch latest, InternCache* cache, Record* out) const {
  uint32_t const over = known_clock(latest.slot());
  struct {
    uint32_t label;  // 0: nothing
    StackId stack;
  } access[kMostRecords];
  uint32_t left = 0;  // which of them
  for (unsigned b = 0; b < 8; ++b) {
    auto const decoded = [&](uint32_t word) { return word != 0 ? label_of(word, latest.clock()) : 0; };
    access[b] = {decoded(written(b)), written(b) >> kLabelBits};
    access[8 + b] = {decoded(read(b)), read(b) >> kLabelBits};
    if (access[b].label > over) left |= 1u << b;
    // A read of the label of a write is nothing of its own: who races with it races with the write.
    if (access[8 + b].label > over && access[8 + b].label > access[b].label) left |= 1u << (8 + b);
  }
  // Those of one label and kind are one record.
  unsigned count = 0;
  while (left != 0) {
    unsigned oldest = static_cast<unsigned>(__builtin_ctz(left));
    for (uint32_t rest = left; rest != 0; rest &= rest - 1) {
      unsigned const i = static_cast<unsigned>(__builtin_ctz(rest));
      if (access[i].label < access[oldest].label) oldest = i;
    }
    bool const write = oldest < 8;
    unsigned const first = write ? 0 : 8;
    uint8_t bytes = 0;
    StackId stacks[8] = {};
    for (unsigned b = 0; b < 8; ++b) {
      unsigned const i = first + b;
      if ((left >> i & 1) == 0 || access[i].label != access[oldest].label) continue;
      if (cache == nullptr && access[i].stack != access[oldest].stack) continue;
      bytes |= static_cast<uint8_t>(1u << b);
      stacks[b] = access[i].stack;
    }
    left &= ~(static_cast<uint32_t>(bytes) << first);
    Record& r = out[count++];
    r.set_bits(Epoch(latest.slot(), access[oldest].label).bits() |
               static_cast<uint64_t>(bytes) << Record::kMaskShift | (write ? Record::kWrite : 0));
    r.stack = cache != nullptr ? intern_stack_of_bytes(*cache, stacks, bytes) : access[oldest].stack;
  }
  return count;
}

namespace {

// Is what the access leaves behind nothing but itself?
bool is_all_that_is_left(const Thread* thread, uint64_t latest, const Record& access) {
  constexpr uint64_t kWhole = Record::kMask | Record::kWrite;
  bool const whole = (access.bits() & (kWhole | Record::kAtomic)) == kWhole;
  if (whole && thread->ordered_after(Epoch::from_bits(latest))) return true;
  return quick::over(thread, latest << kDhEpochShift);
}

bool leave_alone(Thread* thread, DhCell* cell, const DhCell& old, const Record& access) {
  ShapeId const shape = intern_shape(thread->cache, access.stack, 0);
  if (shape == kNoShape || is_busy(old)) return false;
  if (!compare_and_swap_cell(cell, old, with_shape(repeated(access.bits()), 0, shape))) return false;
  give_back_history(thread, shape_of(old));
  return true;
}

// Records an access that needs more words. False: there are none, and nothing was done.
// REQUIRES: the cell is busy; it becomes `next`.
__attribute__((noinline)) bool record_in_larger(const Thread* thread, DhCell* cell, const DhCell& old,
                                                const DhCell& next, StackId stack, uint64_t shown) {
  bool const write = (shown & kDhWriteBit) != 0;
  ByteHistory const before = ByteHistory::of(old);
  ByteHistory::Form form = {ByteHistory::kWidest, before.form().only_reads};
  form = form.with(write, shown & 0xff);
  while (form.lane_log != 0 && (form.words() < kFewestWords || !before.fits_into_lanes(form.lane_log)))
    --form.lane_log;
  HistoryNumber const number = take_history(thread, form.words());
  if (number == 0) {
    end_busy(cell, old);
    return false;
  }
  ByteHistory history(words_of(number), form);
  history.copy_from(before);
  history.record(write, shown & 0xff, Epoch::from_bits(shown >> kDhEpochShift).clock(), stack);
  end_busy(cell, with_shape(next.half[0], next.half[1], number));
  give_back_history(thread, shape_of(old));
  return true;
}

}  // namespace

bool access_in_bytes(Thread* thread, DhCell* cell, const DhCell& old, const Record& access) {
  uint64_t latest = latest_of(old);
  if (__builtin_expect(is_all_that_is_left(thread, latest, access), 0))
    return leave_alone(thread, cell, old, access);
  uint64_t const now = access.bits();
  if (Epoch::from_bits(latest).slot() != thread->slot || (now & Record::kAtomic) != 0 ||
      !ByteHistory::has_room_for(access.stack))
    return false;
  ByteHistory history = ByteHistory::of(old);
  uint64_t const present = now & Record::kEpoch;
  if (present > latest) {
    uint32_t const label = Epoch::from_bits(present).clock();
    uint32_t const last = Epoch::from_bits(latest).clock();
    // Looked at without being busy: if that means nothing any more, the cell is another one, too.
    if (__builtin_expect(label / ByteHistory::kLookAfter != last / ByteHistory::kLookAfter, 0) &&
        (label - last >= ByteHistory::kLookAfter ||
         !history.is_all_since(label - ByteHistory::kLookAfter, last)))
      return false;
    latest = present;
  }
  bool const write = (now & Record::kWrite) != 0;
  uint64_t const shown = repeated((now & ~Record::kEpoch) | latest);
  DhCell const next = shown_after(old, shown);
  if (!make_busy(cell, old)) return false;
  if (__builtin_expect(!history.form().has(write, shown & 0xff), 0))
    return record_in_larger(thread, cell, old, next, access.stack, shown);
  history.record(write, shown & 0xff, Epoch::from_bits(latest).clock(), access.stack);
  // All bytes have been written by now, under one label: that supersedes all that was there before. Who
  // writes byte by byte has just been here; otherwise the words would be waited for, and they are few.
  if (history.form().lane_log == 0 && write && (next.half[0] & 0xff) == 0xff &&
      history.is_written_at_one_place()) {
    ShapeId const shape = intern_shape(thread->cache, access.stack, 0);
    if (shape != kNoShape) {
      // Both halves at once: the first one alone would be a short cell with a pair of stacks that there is
      // not.
      store_cell(cell, with_shape(next.half[0] & ~uint64_t{kDhLongBit}, 0, shape));
      give_back_history(thread, shape_of(old));
      return true;
    }
  }
  end_busy(cell, next);
  return true;
}

namespace {

// One of the two accesses of a short cell.
class Earlier {
 public:
  Earlier(uint64_t half, StackId stack)
      : record_(unpack_half(half, stack)), of_one_place_(exists() && is_of_one_place(stack)) {
    if (exists() && !of_one_place_) stacks_of_bytes(stack, static_cast<uint8_t>(record_.mask), stack_);
  }

  bool exists() const { return record_.mask != 0; }
  uint64_t epoch() const { return record_.epoch_bits; }
  uint64_t bits() const { return record_.bits(); }

  bool has_room() const {
    if (of_one_place_) return ByteHistory::has_room_for(record_.stack);
    for (unsigned b = 0; b < 8; ++b) {
      if (has(b) && !ByteHistory::has_room_for(stack_[b])) return false;
    }
    return true;
  }
  // What `form` must be to have words for it, too.
  ByteHistory::Form added_to(ByteHistory::Form form) const {
    form = form.with(record_.write != 0, record_.mask);
    while (form.lane_log != 0 && !is_in_lanes(form.lane_log)) --form.lane_log;
    return form;
  }
  void record_in(ByteHistory& history) const {
    bool const write = record_.write != 0;
    uint32_t const label = record_.epoch().clock();
    if (of_one_place_) return history.record(write, record_.mask, label, record_.stack);
    unsigned const width = 1u << history.form().lane_log;
    for (unsigned b = 0; b < 8; b += width) {
      if (has(b)) history.record(write, ((uint64_t{1} << width) - 1) << b, label, stack_[b]);
    }
  }

 private:
  bool has(unsigned byte) const { return (record_.mask >> byte & 1) != 0; }
  // Are the bytes of each lane of one place? REQUIRES: they are whole lanes.
  bool is_in_lanes(unsigned lane_log) const {
    for (unsigned b = 0; b < 8 && !of_one_place_; ++b) {
      if (has(b) && stack_[b] != stack_[b >> lane_log << lane_log]) return false;
    }
    return true;
  }

  Record record_;
  bool of_one_place_;
  StackId stack_[8];  // unless it is of one place
};

// A bytewise cell that shows nothing yet.
DhCell bytewise_cell(HistoryNumber number) { return with_shape(kDhLongBit, kDhLongBit, number); }
// The same with an access, as Record::bits.
DhCell with_shown(const DhCell& cell, uint64_t access) {
  uint64_t const shown = repeated(access);
  if ((cell.half[0] & 0xff) != 0) return shown_after(cell, shown);
  return {{cell.half[0] | shown, cell.half[1]}};
}

}  // namespace

bool make_bytewise(Thread* thread, Chunk* chunk, DhCell* cell, const DhCell& old, const Record& access) {
  uint64_t const now = access.bits();
  auto const [h0, h1] = old.half;
  auto const is_own_plain = [slot = thread->slot](uint64_t half) {
    return (half & 0xff) == 0 || (slot_of(half) == slot && (half & kDhAtomicBit) == 0 && !is_noted(half));
  };
  if (!is_own_plain(h0) || !is_own_plain(h1) || (now & Record::kAtomic) != 0 ||
      !ByteHistory::has_room_for(access.stack) || !histories_worth.is_worth_a_try())
    return false;
  // In the order of their labels.
  StackPair const stacks = shape_stacks(shape_of(old));
  bool const in_order = h0 <= h1;
  Earlier const earlier[2] = {in_order ? Earlier(h0, stacks.first) : Earlier(h1, stacks.second),
                              in_order ? Earlier(h1, stacks.second) : Earlier(h0, stacks.first)};
  uint64_t const present = now & Record::kEpoch;
  uint64_t const latest = earlier[1].epoch() > present ? earlier[1].epoch() : present;
  uint64_t const bytes = now >> Record::kMaskShift & 0xff;
  bool const write = (now & Record::kWrite) != 0;
  ByteHistory::Form form = ByteHistory::Form{ByteHistory::kWidest, true}.with(write, bytes);
  for (const Earlier& e : earlier) {
    if (!e.exists()) continue;
    if (latest - e.epoch() >= ByteHistory::kLookAfter || !e.has_room()) return false;
    form = e.added_to(form);
  }
  if (form.lane_log != 0 && form.words() < kFewestWords) --form.lane_log;

  HistoryNumber const number = take_history(thread, form.words());
  if (number == 0) return false;
  ByteHistory history(words_of(number), form);
  history.clear();
  DhCell fresh = bytewise_cell(number);
  for (const Earlier& e : earlier) {
    if (!e.exists()) continue;
    e.record_in(history);
    fresh = with_shown(fresh, e.bits());
  }
  history.record(write, bytes, Epoch::from_bits(latest).clock(), access.stack);
  fresh = with_shown(fresh, (now & ~Record::kEpoch) | latest);

  note_touched(chunk, static_cast<size_t>(cell - chunk->cells));
  note_may_be_long(chunk, cell);
  if (compare_and_swap_cell(cell, old, fresh)) {
    histories_worth.note_made();
    return true;
  }
  give_back_history(thread, number);
  return false;
}

void wait_while_busy(const DhCell* cell) {
  for (platform::Patience patience;; patience.wait()) {
    DhCell const seen = load_cell(cell);
    if (!is_bytewise(seen) || !is_busy(seen)) return;
  }
}

FatCell* make_fat_from_bytes(DhCell* cell, const DhCell& old) {
  if (!make_busy(cell, old)) {
    wait_while_busy(cell);
    return nullptr;
  }
  Thread* const thread = current_thread;
  histories_worth.note_handed_over();
  Record records[ByteHistory::kMostRecords];
  HistoryNumber const number = shape_of(old);
  unsigned const count = ByteHistory::of(old).records(Epoch::from_bits(latest_of(old)),
                                                      thread != nullptr ? &thread->cache : nullptr, records);
  FatCell* const fat = make_fat_of(cell, records, count);
  give_back_history(thread, number);
  return fat;
}

bool clear_bytewise(DhCell* cell, const DhCell& old) {
  if (is_busy(old) || !compare_and_swap_cell(cell, old, DhCell{})) return false;
  give_back_history(current_thread, shape_of(old));
  return true;
}

bool forget_in_bytes(const Thread* thread, DhCell* cell, const DhCell& old, uint64_t bytes) {
  if (slot_of(old.half[0]) != thread->slot) return false;
  return (bytes == 0xff || ByteHistory::of(old).has_only(bytes)) && clear_bytewise(cell, old);
}

}  // namespace deadheat::watch
