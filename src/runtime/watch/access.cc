// FastTrack on records, per granule, exact.
//
// A granule's history is a set of records, none of which supersedes another. A new access is compared with
// each: overlapping, conflicting and unordered is a race; overlapping, ordered and no stronger is superseded,
// byte by byte. What is left plus the new access is the new history. Two records or fewer are written back
// with one 16-byte compare-and-swap, so that of two accesses that race in real time one always sees the
// other; more go to a FatCell under its lock.
//
// After a race is told the two accesses count as ordered, so that one race is not told again by every later
// access.
//
// A range (memcpy, a joined loop) meets the same cell contents over and over; the last step is remembered and
// repeated without thinking.
#include "runtime/watch/access.h"

#include "runtime/platform/cache_line.h"
#include "runtime/watch/covered.h"
#include "runtime/watch/ended.h"
#include "runtime/watch/filter.h"
#include "runtime/watch/known_to_all.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/race_report.h"
#include "runtime/watch/record_rules.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/unwritable.h"

namespace deadheat::watch {

bool race_found;

namespace {

// A history after an access: what is left of it, and then the access.
struct History {
  Record* end;      // of the records that are left
  uint64_t beside;  // the one of them that a long cell repeats (FatCell::show), as Record::bits; 0: none
  StackId stack;    // of the access, with the bytes that it was joined with
  uint64_t latest;  // the rest of it

  // Puts the access behind what is left. REQUIRES: there is room.
  void append_latest() const {
    end->set_bits(latest);
    end->stack = stack;
  }
};

constexpr uint64_t kSlotOfEpoch = Record::kEpoch & ~((uint64_t{1} << kDhClockBits) - 1);

// What somebody else's record is to an access.
enum class Other { kOver, kBefore, kBeside };
__attribute__((noinline, preserve_most)) Other compare_with_other(const Thread* thread, const Record& other,
                                                                  uint64_t now, uintptr_t granule,
                                                                  Races* races) {
  uint64_t const old = other.bits();
  if (quick::over(thread, (old & Record::kEpoch) << kDhEpochShift)) return Other::kOver;
  if ((old & now & Record::kMask) == 0) return Other::kBeside;
  if (thread->ordered_after(other.epoch())) return Other::kBefore;
  if (!conflicting(old, now)) return Other::kBeside;
  races->add(other, granule);
  return Other::kBefore;
}

// What `access` leaves of `records`: they stay in their order and move up where others go.
__attribute__((always_inline)) inline History apply(Thread* thread, Record* records, unsigned count,
                                                    const Record& access, uintptr_t granule, Races* races) {
  uint64_t const now = access.bits();
  uint64_t const mask = now & Record::kMask;
  // Of the thread's own records those up to here are over. It knows without its clock that all of them are
  // ordered before the access, and nearly all records of long cells are of this kind.
  uint64_t const own_over = (now & kSlotOfEpoch) | known_clock(thread->slot);
  // as_strong(now, old) is that these bits of `old` are like the latter.
  uint64_t const strong_bits = (~now & Record::kWrite) | (now & Record::kAtomic);
  uint64_t const strong = now & Record::kAtomic;
  History after{records, 0, access.stack, now};
#pragma clang loop unroll(disable)
  for (const Record* r = records; r != records + count; ++r) {
    uint64_t old = r->bits();
    StackId const stack = r->stack;
    uint64_t const difference = old ^ now;
    bool const own = (difference & kSlotOfEpoch) == 0;
    bool before = true;
    if (__builtin_expect(own, 1)) {
      if ((old & Record::kEpoch) <= own_over) continue;
    } else {
      Other const other = compare_with_other(thread, *r, now, granule, races);
      if (other == Other::kOver) continue;
      before = other == Other::kBefore;
    }
    if ((old & mask) != 0 && before && (old & strong_bits) == strong) {
      if ((old & Record::kMask & ~mask) == 0) continue;
      // What a thread reads whole and writes in parts, in turn, is to stay covered whole: its own records of
      // the present keep the bytes that are superseded.
      if (!of_present(old, now)) old &= ~mask;
    }
    if ((difference & ~Record::kMask) == 0) {
      if (stack != after.stack) {
        uint64_t const joining = after.latest & ~old & Record::kMask;
        after.stack = intern_composite(thread->cache, stack, static_cast<uint8_t>(old >> Record::kMaskShift),
                                       after.stack, static_cast<uint8_t>(joining >> Record::kMaskShift));
      }
      after.latest |= old & Record::kMask;
      continue;
    }
    if (!own || (difference & Record::kEpoch) == 0) after.beside = old;
    after.end->set_bits(old);
    after.end++->stack = stack;
  }
  return after;
}

// A cell that becomes long is worth so many other slow accesses, when it comes to asking what can be
// forgotten.
constexpr int32_t kMoreUrgent = 128;

// What one access does to cells: its record, and the last transition it made.
struct Step {
  Record access;
  DhCell from{};
  DhCell to{};
  bool repeatable = false;
  bool filtered = true;  // by spans: covered accesses are dropped
};

// Packs up to two records; false if they do not fit in a cell.
bool pack(Thread* thread, const Record* records, unsigned count, DhCell* cell) {
  if (count > 2) return false;
  const Record* first = &records[count - 1];  // the newest
  const Record* second = count == 2 ? &records[0] : nullptr;
  // Plain writes stand in the first half, where the write hook looks; anything else may stand in either.
  auto const hook_looks_for = [](const Record& r) { return r.write != 0 && r.atomic == 0; };
  if (second != nullptr && hook_looks_for(*second) && !hook_looks_for(*first)) {
    const Record* const swap = first;
    first = second;
    second = swap;
  }
  ShapeId const shape = intern_shape(thread->cache, first->stack, second != nullptr ? second->stack : 0);
  if (shape == kNoShape) return false;
  cell->half[0] = pack_half(*first, shape >> kHalfShapeBits);
  uint32_t const low = shape & ((1u << kHalfShapeBits) - 1);
  cell->half[1] = second != nullptr ? pack_half(*second, low) : static_cast<uint64_t>(low) << kHalfShapeShift;
  return true;
}

// A short form is cheaper for everybody: a cell goes back to it as soon as what it knows fits.
bool fits_in_cell(Thread* thread, FatCell* fat, DhCell* thin) {
  if (fat->has_syncs || fat->count > 2 || fat->count == 0) return false;
  return pack(thread, fat->records(), fat->count, thin);
}

// The records of `fat` after `access`; the cell is not told. REQUIRES: locked.
__attribute__((always_inline)) inline History apply_in_fat(Thread* thread, FatCell* fat, uintptr_t granule,
                                                           const Record& access, Races* races) {
  Record* const records = fat->records();
  History after = apply(thread, records, fat->count, access, granule, races);
  auto const left = static_cast<uint16_t>(after.end - records);
  fat->count = left;
  // Asked only now: nearly always one of the others goes.
  if (__builtin_expect(left == fat->capacity(), 0)) {
    fat->reserve(left + 1u);
    after.end = fat->records() + left;
  }
  after.append_latest();
  fat->count = static_cast<uint16_t>(left + 1);
  fat->bring_back();
  return after;
}

// REQUIRES: locked; it is unlocked.
void record_and_unlock(Thread* thread, FatCell* fat, uintptr_t granule, const Record& access, Races* races) {
  History const after = apply_in_fat(thread, fat, granule, access, races);
  DhCell thin;
  if (fits_in_cell(thread, fat, &thin)) return thin_again(fat->owner, fat, thin);
  fat->show(after.latest, after.beside);
  fat->lock.unlock();
}

// One granule. False if the filter dropped the access there.
inline bool step(Thread* thread, Chunk* chunk, DhCell* cell, uintptr_t granule, Step* s, Races* races) {
  for (;;) {
    DhCell const old = load_cell(cell);
    if (s->repeatable && old.half[0] == s->from.half[0] && old.half[1] == s->from.half[1]) {
      if (compare_and_swap_cell(cell, old, s->to)) return true;
      continue;
    }
    if (__builtin_expect(is_fat(old) || has_noted(old), 0)) {
      if (is_bytewise(old) && access_in_bytes(thread, cell, old, s->access)) return true;
      // Only this thread could make it covered, so this is asked once, without the lock.
      if (s->filtered && is_fat(old) && covered_without_lock(old, cell, s->access)) return false;
      record_and_unlock(thread, lock_fat(chunk, cell), granule, s->access, races);
      return true;
    }
    Record records[3];
    unsigned count = 0;
    if (old.half[0] != 0 || old.half[1] != 0) {
      StackPair const stacks = shape_stacks(shape_of(old));
      if ((old.half[0] & 0xff) != 0) records[count++] = unpack_half(old.half[0], stacks.first);
      if ((old.half[1] & 0xff) != 0) records[count++] = unpack_half(old.half[1], stacks.second);
      for (unsigned i = 0; i < count && s->filtered; ++i) {
        if (covers(records[i].bits(), s->access.bits())) return false;
      }
    }
    unsigned const races_before = races->count;
    History const after = apply(thread, records, count, s->access, granule, races);
    after.append_latest();
    count = static_cast<unsigned>(after.end - records) + 1;
    DhCell fresh;
    if (!pack(thread, records, count, &fresh)) {
      races->count = races_before;  // found again there, under the lock
      thread->until_known -= kMoreUrgent;
      if (make_bytewise(thread, chunk, cell, old, s->access)) return true;
      record_and_unlock(thread, lock_fat(chunk, cell), granule, s->access, races);
      return true;
    }
    if (compare_and_swap_cell(cell, old, fresh)) {
      s->from = old;
      s->to = fresh;
      s->repeatable = races->count == races_before;
      return true;
    }
    races->count = races_before;
  }
}

// The same where quick.h knows what becomes of the cell: no records are made, no pair of stacks is looked for
// but in its tables. False: nothing was done. REQUIRES: the access is not covered; nothing is counted.
inline bool step_quickly(Thread* thread, uintptr_t granule, DhCell* cell, const QuickCache::Site& site,
                         Step* s) {
  DhCell const old = load_cell(cell);
  uint64_t const kind = s->access.write != 0 ? uint64_t{kDhWriteBit} : 0;
  DhCell fresh;
  if (!quick::next_cell(thread, granule, old, thread->hot->floor, kind, s->access.mask, site, &fresh) ||
      !compare_and_swap_cell(cell, old, fresh))
    return false;
  s->from = old;
  s->to = fresh;
  s->repeatable = true;
  return true;
}

// Lines of a range's cells are asked for before they are needed, the first few at once. What is behind the
// range may be what another thread is about to use.
constexpr size_t kLinesAhead = 4;
void want_first_lines(const DhCell* cell, const DhCell* last) {
  for (size_t line = 0; line <= kLinesAhead && cell <= last; ++line, cell += kCellsOfLine)
    platform::want_line(cell);
}

// And then each with the first cell of a line. `last`: the range's last cell.
inline void want_line_ahead(const DhCell* cell, size_t index, const DhCell* last) {
  const DhCell* const ahead = cell + kLinesAhead * kCellsOfLine;
  if (index % kCellsOfLine == 0 && ahead <= last) platform::want_line(ahead);
}

// A range meets the same cell contents over and over: as long as it does, the last transition again.
uintptr_t repeat(const Step* s, Chunk* chunk, uintptr_t at, uintptr_t stop) {
  bool const first_touch = (s->from.half[0] | s->from.half[1]) == 0;
  size_t index = cell_index(at);
  const DhCell* const last = &chunk->cells[cell_index(stop - 1)];
  for (; stop - at >= 8; at += 8, ++index) {
    DhCell* const cell = &chunk->cells[index];
    want_line_ahead(cell, index, last);
    if (__atomic_load_n(&cell->half[0], __ATOMIC_RELAXED) != s->from.half[0] ||
        __atomic_load_n(&cell->half[1], __ATOMIC_RELAXED) != s->from.half[1]) {
      break;
    }
    if (first_touch) note_touched(chunk, index);
    if (!compare_and_swap_cell(cell, s->from, s->to)) break;
  }
  return at;
}

// A write of whole granules leaves nothing of what it is ordered after: their cells become the same one,
// `next`, whatever stood there. Returns where that is not so, or where the last of them ends. REQUIRES: `at`
// is a multiple of 8, and in `chunk`.
uintptr_t overwrite(const Thread* thread, const DhCell& next, Chunk* chunk, uintptr_t at, uintptr_t stop,
                    bool replaces) {
  uint64_t const floor = thread->hot->floor;
  DhCell known = next;  // to be superseded; `next` itself may be overwritten by itself
  size_t index = cell_index(at);
  const DhCell* const last = &chunk->cells[cell_index(stop - 1)];
  for (; stop - at >= 8; at += 8, ++index) {
    DhCell* const cell = &chunk->cells[index];
    want_line_ahead(cell, index, last);
    DhCell const old = load_halves(cell);
    if (!is_same(old, known)) {
      if (!replaces && missing_in(old.half[0], floor, 0xff | kDhWriteBit) == 0) continue;
      if (!quick::is_superseded(thread, old)) break;
      known = old;
    }
    if (old.half[0] == 0) note_touched(chunk, index);
    if (!compare_and_swap_cell(cell, old, next)) break;
  }
  return at;
}

// How many of `count` whole granules from `cell` on are covered: what a loop that runs again over the same
// memory asks, joined into one range, so it is as short as it can be. Only the halves where such a range
// stands are looked at: a write's in the first, a read's in either.
size_t covered_run(const Thread* thread, const DhCell* cell, size_t count, bool write) {
  uint64_t const floor = thread->hot->floor;
  uint64_t const need = 0xff | (write ? uint64_t{kDhWriteBit} : 0);
  size_t i = 0;
  for (; i < count; ++i) {
    if (missing(cell[i].half[0], floor, need) == 0) continue;
    if (write || missing(cell[i].half[1], floor, need) != 0) break;
  }
  return i;
}

bool ignored(const Thread* thread, AccessType type) {
  return kind_of(type).write ? thread->ignore_writes != 0 : thread->ignore_reads != 0;
}

}  // namespace

bool covered_without_lock(const DhCell& seen, const DhCell* cell, const Record& access) {
  if (is_bytewise(seen)) return false;
  const FatCell* const fat = fat_of(seen);
  uint32_t const version = fat->lock.version();
  if (__atomic_load_n(&fat->owner, __ATOMIC_RELAXED) != cell) return false;
  unsigned count;
  const Record* const records = fat->look_at_records(version, &count);
  if (records == nullptr) return false;
  bool covered = false;
  for (unsigned i = 0; i < count && !covered; ++i) covered = covers(records[i].bits(), access.bits());
  return covered && fat->lock.still(version);
}

bool covered_in_fat(FatCell* fat, const Record& access) {
  const Record* const records = fat->records();
#pragma clang loop unroll(disable)
  for (const Record* r = records; r != records + fat->count; ++r) {
    if (covers(r->bits(), access.bits())) return true;
  }
  return false;
}

void record_in_fat(Thread* thread, FatCell* fat, uintptr_t granule, const Record& access, Races* races) {
  History const after = apply_in_fat(thread, fat, granule, access, races);
  fat->show(after.latest, after.beside);
}

void unlock_fat(Thread* thread, FatCell* fat) {
  DhCell thin;
  if (fits_in_cell(thread, fat, &thin))
    thin_again(fat->owner, fat, thin);
  else
    fat->lock.unlock();
}

namespace {
// Whoever has not asked without the lock asks here. REQUIRES: locked; it is unlocked.
__attribute__((always_inline)) inline void check_and_unlock(Thread* thread, FatCell* fat, uintptr_t granule,
                                                            const Record& access, Races* races) {
  if (__builtin_expect(!covered_in_fat(fat, access), 1))
    return record_and_unlock(thread, fat, granule, access, races);
  ++thread->statistics.covered;
  fat->lock.unlock();
}
}  // namespace

void check_in_fat(Thread* thread, FatCell* fat, uintptr_t granule, const Record& access, Races* races) {
  if (!covered_in_fat(fat, access)) record_in_fat(thread, fat, granule, access, races);
}

void tell_races(Thread* thread, const AccessRequest& request, Races* races) {
  for (unsigned i = 0; i < races->count; ++i) {
    report_race(thread, request, (*races)[i].other, (*races)[i].granule);
  }
  races->count = 0;
}

namespace {

// Forgets `mask` of a granule that only this thread has touched; false if somebody else's record is there
// too.
bool forget_own(Thread* thread, DhCell* cell, uint8_t mask) {
  for (;;) {
    DhCell const old = load_cell(cell);
    if (is_bytewise(old)) return forget_in_bytes(thread, cell, old, mask);
    if (is_fat(old)) return false;
    for (uint64_t const half : old.half) {
      if ((half & mask) != 0 && slot_of(half) != thread->slot) return false;
    }
    DhCell const fresh = without_bytes(old, mask);
    if (is_same(fresh, old) || compare_and_swap_cell(cell, old, fresh)) return true;
  }
}

// The same whoever has touched it: what was to be told of that has been told.
void forget_all(Chunk* chunk, DhCell* cell, uint8_t mask) {
  for (;;) {
    DhCell const old = load_cell(cell);
    if (is_fat(old) || has_noted(old)) break;
    if (compare_and_swap_cell(cell, old, without_bytes(old, mask))) return;
  }
  FatCell* const fat = lock_fat(chunk, cell);
  Record* const records = fat->records();
  unsigned kept = 0;
  for (unsigned i = 0; i < fat->count; ++i) {
    Record r = records[i];
    r.mask &= static_cast<uint8_t>(~mask);
    if (r.mask != 0) records[kept++] = r;
  }
  fat->count = static_cast<uint16_t>(kept);
  fat->show();
  fat->lock.unlock();
}

}  // namespace

void end_life(Thread* thread, uintptr_t address, size_t size, uintptr_t pc) {
  thread->walked.forget();
  uintptr_t const end = address + size;
  for (uintptr_t at = address; at < end;) {
    uintptr_t const granule = at & ~uintptr_t{7};
    uintptr_t const next = granule + 8 < end ? granule + 8 : end;
    uint8_t const mask = bytes_in_granule(at, next - at);
    if (Chunk* const chunk = existing_chunk(granule)) {
      make_end_real(chunk, cell_index(granule));
      DhCell* const cell = &chunk->cells[cell_index(granule)];
      if (!forget_own(thread, cell, mask)) {
        check_access(thread, {at, next - at, AccessType::kFree, pc});
        if (!forget_own(thread, cell, mask)) forget_all(chunk, cell, mask);
      }
    }
    at = next;
  }
}

namespace {
// Mostly both records of a short cell stay, in peace with the access, and it is the third. False: something
// else is so, and nothing was done.
bool add_third(Thread* thread, Chunk* chunk, DhCell* cell, const DhCell& old, const Record& access) {
  uint64_t const now = repeated(access.bits());
  uint64_t const floor = thread->hot->floor;
  auto const [h0, h1] = old.half;
  if (quick::is_joined_by(h0, now) || quick::is_joined_by(h1, now) || has_noted(old)) return false;
  auto const left_of = [=](uint64_t half) {
    return quick::left_of(thread, half, floor, now & (kDhWriteBit | kDhAtomicBit), now & 0xff);
  };
  uint64_t const first = left_of(h0);
  uint64_t const second = left_of(h1);
  if (first == 0 || second == 0 || first == quick::kRacing || second == quick::kRacing) return false;
  StackPair const stacks = shape_stacks(shape_of(old));
  Record const records[] = {unpack_half(first, stacks.first), unpack_half(second, stacks.second), access};
  return make_long_of_three(chunk, cell, old, records);
}
}  // namespace

void known_access(Thread* thread, uintptr_t granule, uint64_t mask, const AccessRequest& whole,
                  StackId stack) {
  Record access;
  access.set_bits(thread->epoch().bits() | mask << Record::kMaskShift |
                  (kind_of(whole.type).write ? Record::kWrite : 0) |
                  (kind_of(whole.type).atomic ? Record::kAtomic : 0));
  access.stack = stack;
  Races races(thread);
  Chunk* const chunk = existing_chunk(granule);
  DhCell* const cell = &chunk->cells[cell_index(granule)];
  DhCell const seen = load_cell(cell);
  if (is_fat(seen)) {
    if (is_bytewise(seen) && access_in_bytes(thread, cell, seen, access)) return;
    if (is_covered_in_long(thread, seen, cell, access)) {
      ++thread->statistics.covered;
      return;
    }
    check_and_unlock(thread, lock_fat(chunk, cell), granule, access, &races);
  } else {
    // The quick way would have found what fits into a short cell, or covers the access there: that is not
    // tried again. Should it fit after all, it becomes short again at once.
    thread->until_known -= kMoreUrgent;
    bool const is_own = repeats_only(seen, thread->slot);
    if (is_own && make_bytewise(thread, chunk, cell, seen, access)) return;
    if (add_third(thread, chunk, cell, seen, access)) return;
    FatCell* const fat = make_fat_from(chunk, cell, seen);
    record_and_unlock(thread, fat != nullptr ? fat : lock_fat(chunk, cell), granule, access, &races);
  }
  if (__builtin_expect(races.count != 0, 0)) tell_races(thread, whole, &races);
}

bool long_access(Thread* thread, DhCell* cell, Record access, const AccessRequest& whole) {
  FatCell* const fat = lock_existing_fat(cell);
  if (fat == nullptr) return false;
  thread->span.note_used();
  Races races(thread);
  check_and_unlock(thread, fat, whole.address & ~uintptr_t{7}, access, &races);
  if (__builtin_expect(races.count != 0, 0)) tell_races(thread, whole, &races);
  return true;
}

namespace {
// The stack of a plain access, and the number of the pair of it and none.
QuickCache::Site site_of_range(Thread* thread, const AccessRequest& request) {
  uint32_t const size = quick::named_size(request.size);
  if (request.type != AccessType::kFree) {
    uint32_t const kind = request.type == AccessType::kWrite ? kWriteSite : 0;
    if (const QuickCache::Site* const found = site_of(thread, request.pc, size | kind)) return *found;
  }
  StackId const stack = stack_at(thread, request.pc, request.type, size);
  return {0, 0, stack, intern_shape(thread->cache, stack, 0), {}};
}
}  // namespace

bool check_access(Thread* thread, const AccessRequest& request) {
  if (ignored(thread, request.type)) return false;
  bool recorded = false;
  QuickCache::Site site{};
  Step s;
  s.access.epoch_bits = thread->epoch().bits();
  s.access.set_kind(kind_of(request.type));
  s.filtered = spans_filter() && !request.replaces;
  bool const is_quick = thread->hot->floor != kNoFloor;
  auto const know_place = [&]() __attribute__((always_inline)) {
    if (s.access.stack != 0) return;
    site = site_of_range(thread, request);
    s.access.stack = site.stack;
    thread->span.note_used();
  };
  // Alone, all bytes.
  auto const alone = [&] { return with_shape(thread->hot->floor | kDhWriteBit | 0xff, 0, site.alone); };
  bool const ends_groups = request.type == AccessType::kFree && is_quick;

  Races races(thread);
  uintptr_t at = request.address;
  uintptr_t const end = request.address + request.size;
  while (at < end) {
    Chunk* const chunk = chunk_for(at);
    if (chunk == nullptr) return recorded;
    uintptr_t const chunk_end = ((at >> kDhChunkBits) + 1) << kDhChunkBits;
    uintptr_t const stop = end < chunk_end ? end : chunk_end;
    bool perhaps_a_run = true;
    while (at < stop) {
      if (ends_groups && at % kGroupBytes == 0 && stop - at >= kGroupBytes &&
          state_of_group(chunk, cell_index(at) / kGroupCells) == kEmpty) {
        know_place();
        size_t const most = site.alone != kNoShape ? (stop - at) / kGroupBytes : 0;
        size_t const ended = end_empty_groups(chunk, cell_index(at) / kGroupCells, most, alone());
        at += ended * kGroupBytes;
        recorded |= ended != 0;
        if (ended != 0) continue;
      }
      if (perhaps_a_run && !request.replaces && (at & 7) == 0 && stop - at >= 16) {
        at += 8 * covered_run(thread, &chunk->cells[cell_index(at)], (stop - at) / 8, s.access.write != 0);
        perhaps_a_run = false;
        continue;
      }
      uintptr_t granule = at & ~uintptr_t{7};
      uintptr_t const next = granule + 8 < stop ? granule + 8 : stop;
      uint64_t mask = bytes_in_granule(at, next - at);
      at = next;
      size_t const index = cell_index(granule);
      DhCell* cell = &chunk->cells[index];
      if (s.access.write == 0) {
        // A page that nobody can write is one location.
        note_touched(chunk, index);
        uintptr_t const page_end = granule_of_page(granule) + kPageBytes;
        if (find_recorded(&cell, &granule, &mask)) at = page_end < stop ? page_end : stop;
      }
      if (!request.replaces &&
          is_covered(cell, thread->hot->floor, mask | (s.access.write != 0 ? uint64_t{kDhWriteBit} : 0))) {
        perhaps_a_run = true;
        continue;
      }
      if (s.access.stack == 0) {
        want_first_lines(cell, &chunk->cells[cell_index(stop - 1)]);
        know_place();
      }
      if (mask != s.access.mask) {
        s.access.mask = static_cast<uint8_t>(mask);
        s.repeatable = false;
      }
      if (is_quick && s.access.write != 0 && mask == 0xff && site.alone != kNoShape) {
        uintptr_t const group_end = (granule | (kGroupBytes - 1)) + 1;
        at = overwrite(thread, alone(), chunk, granule, ends_groups && group_end < stop ? group_end : stop,
                       request.replaces);
        recorded |= at != granule;
        if (at != granule) continue;
        at = next;
      }
      note_touched(chunk, cell_index(granule));
      if (is_quick && step_quickly(thread, granule, cell, site, &s))
        recorded = true;
      else
        recorded |= step(thread, chunk, cell, granule, &s, &races);
      if (__builtin_expect(races.count != 0, 0)) tell_races(thread, request, &races);
      if (s.repeatable && mask == 0xff) at = repeat(&s, chunk, at, stop);
    }
  }
  return recorded;
}

}  // namespace deadheat::watch
