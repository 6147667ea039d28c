#include "runtime/watch/shadow.h"

#include "runtime/platform/memory.h"
#include "runtime/platform/print.h"
#include "runtime/watch/ended.h"
#include "runtime/watch/free_lists.h"
#include "runtime/watch/sync.h"
#include "runtime/watch/thread.h"

uintptr_t __dh_shadow[1u << kDhDirectoryBits];

namespace deadheat::watch {

FatCells numbered_fats;

namespace {

// FatCells are never given back to the system: a thread that found one through a cell may lock it long after
// the cell went another way, and must find a lock there. They are named as a cell names them, by pointer.
FreeLists<DhCell, 32> free_fats;
uint64_t fats_without_number;

// Locked, and nobody else's. As a cell names it, by pointer.
DhCell take_fat() {
  DhCell taken = free_fats.take(current_thread, [](const DhCell& fat) { return fat_of(fat)->next_free(); });
  if (taken.half[1] == 0) {
    FatNumber const number = numbered_fats.append("shadow memory");
    if (number == 0) __atomic_fetch_add(&fats_without_number, 1, __ATOMIC_RELAXED);
    taken = cell_by_pointer(number != 0 ? &numbered_fats[number] : platform::make<FatCell>(), number);
  }
  fat_of(taken)->lock.lock();
  return taken;
}

// REQUIRES: locked. It stays locked until it is on the list, so that nobody looks at the link.
void give_back(FatCell* fat, FatNumber number) {
  free_fats.give_back(current_thread, cell_by_pointer(fat, number), [fat](const DhCell& next) {
    fat->set_next_free(next);
    fat->lock.unlock();
  });
}

Chunk* make_chunk(uintptr_t index) {
  auto* const fresh = static_cast<Chunk*>(platform::map_pages(sizeof(Chunk), "shadow memory"));
  // Without huge pages at first: a program that touches little of a chunk must not pay for all of it.
  platform::sys_madvise(fresh, sizeof(Chunk), MADV_NOHUGEPAGE);
  platform::sys_madvise(fresh, sizeof(Chunk), MADV_DONTDUMP);
  fresh->behind = {{kDhLongBit, 0}};
  uintptr_t expected = 0;
  if (__atomic_compare_exchange_n(&__dh_shadow[index], &expected, entry_of(fresh, index), false,
                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return fresh;
  }
  platform::sys_munmap(fresh, sizeof(Chunk));
  return chunk_at(expected, index);
}

void release_fat(FatCell* fat) {
  while (SyncVar* const sync = fat->syncs()) {
    fat->set_syncs(sync->next);
    destroy_sync(sync);
  }
  fat->release_records();
  fat->owner = nullptr;
}

// Even while the memory is nobody's: a reader may settle its notes at any time.
bool may_be_changed_by_others(const DhCell& cell) { return is_fat(cell) || has_noted(cell); }

void clear_cell(DhCell* cell) {
  for (;;) {
    DhCell const old = load_cell(cell);
    if (old.half[0] == 0 && old.half[1] == 0) return;
    if (!is_fat(old)) {
      if (compare_and_swap_cell(cell, old, DhCell{})) return;
      continue;
    }
    if (is_bytewise(old)) {
      if (clear_bytewise(cell, old)) return;
      wait_while_busy(cell);
      continue;
    }
    FatCell* const fat = lock_existing_fat(cell);
    if (fat == nullptr) continue;
    thin_again(cell, fat, DhCell{});
    return;
  }
}

// The allocator has just given the memory out: only a stray access could interfere, and who has long or noted
// cells there.
void clear_in_page(DhCell* cell, const DhCell* end) {
  constexpr uint64_t kNoted = uint64_t{kNoClock} << kDhEpochShift;  // of what is noted, and no label
  for (; cell != end; ++cell) {
    auto const [h0, h1] = load_halves(cell).half;
    if ((h0 | h1) == 0) continue;
    if (__builtin_expect((h0 & (kDhLongBit | kNoted)) == 0 && (h1 & kNoted) == 0, 1))
      store_cell(cell, {});
    else
      clear_cell(cell);
  }
}

// Whole groups are empty afterwards, and need no look if they were.
void clear_in_groups(Chunk* chunk, size_t from, size_t to) {
  while (from < to) {
    size_t const group = from / kGroupCells;
    size_t const group_end = (group + 1) * kGroupCells;
    size_t const until = group_end < to ? group_end : to;
    bool const whole = until - from == kGroupCells;
    uint8_t const state = state_of_group(chunk, group);
    if (state >= kEnded) {
      if (whole)
        forget_end(chunk, group);
      else
        touch_group(chunk, group);
    }
    if (state_of_group(chunk, group) == kTouched) {
      clear_in_page(&chunk->cells[from], &chunk->cells[until]);
      if (whole) __atomic_store_n(&chunk->group_state[group], uint8_t{kEmpty}, __ATOMIC_RELAXED);
    }
    from = until;
  }
}

// Longer runs of whole pages are given back instead of zeroed. Where the memory is about to be used, that
// must be long: getting a page back costs more than zeroing it.
constexpr size_t worth_returning(MemoryIs memory) { return memory == MemoryIs::kInUse ? 512 : 32; }

void clear_pages(Chunk* chunk, size_t first, size_t last, MemoryIs memory) {
  for (size_t page = first; page < last; ++page) {
    if (has_past(chunk, page)) forget_ends_in_page(chunk, page);
  }
  for (size_t page = first; page < last;) {
    if (chunk->page_state[page] == kUntouched) {
      ++page;
      continue;
    }
    size_t run = page;
    for (; run < last && chunk->page_state[run] != kUntouched; ++run) {
      if (chunk->may_be_fat[run] == 0) continue;
      for (size_t i = run * kPageCells; i < (run + 1) * kPageCells; ++i) {
        if (may_be_changed_by_others(chunk->cells[i])) clear_cell(&chunk->cells[i]);
      }
      chunk->may_be_fat[run] = 0;
    }
    void* const from = &chunk->cells[page * kPageCells];
    bool const returned = run - page >= worth_returning(memory) &&
                          !platform::failed(platform::sys_madvise(from, (run - page) * 4096, MADV_DONTNEED));
    for (; page < run; ++page) {
      if (!returned && chunk->page_state[page] == kWritten)
        platform::zero(&chunk->cells[page * kPageCells], 4096);
      chunk->page_state[page] = returned ? kUntouched : kReady;
    }
  }
  for (size_t page = first; page < last; ++page) {
    if (has_past(chunk, page)) __atomic_store_n(groups_of_page(chunk, page), 0, __ATOMIC_RELAXED);
  }
}

// Kernels before 5.14 do not know it, and there may be no memory to be had: then page by page, as needed.
constexpr int kPopulateWrite = 23;

// It has memory now, if it had none before.
void make_ready(Chunk* chunk, size_t page) {
  uint8_t expected = kUntouched;
  __atomic_compare_exchange_n(&chunk->page_state[page], &expected, uint8_t{kReady}, false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
}

using platform::kHugePage;

// How many pages to ask for from `page` on; 1: the neighbourhood does not look as if more would be needed. A
// quarter of those that are in use right before it: what is asked for in vain is little beside what is used,
// however many buffers there are that are larger than what comes into them. The next huge page is not begun
// that way: see begin_huge_page.
size_t pages_to_expect(const Chunk* chunk, size_t page) {
  auto const touched = [chunk](size_t at) {
    return at < kChunkPages && __atomic_load_n(&chunk->page_state[at], __ATOMIC_RELAXED) != kUntouched;
  };
  constexpr size_t kMost = 64;
  constexpr size_t kShare = 4;
  size_t before = 0;
  while (before < kMost * kShare && touched(page - before - 1)) ++before;
  size_t count = 1;
  auto const begins_huge_page = [chunk](size_t at) {
    return reinterpret_cast<uintptr_t>(&chunk->cells[at * kPageCells]) % kHugePage == 0;
  };
  while (count < before / kShare && page + count < kChunkPages && !touched(page + count) &&
         !begins_huge_page(page + count))
    ++count;
  return count;
}

// The huge page around one of a chunk's pages.
class HugePage {
 public:
  HugePage(Chunk* chunk, size_t page) : chunk_(chunk) {
    auto const cells = reinterpret_cast<uintptr_t>(chunk->cells);
    at_ = (cells + page * 4096) & ~(kHugePage - 1);
    is_whole_ = at_ >= cells && at_ + kHugePage <= cells + sizeof chunk->cells;
    first_ = is_whole_ ? (at_ - cells) / 4096 : 0;
  }

  // Does all of it belong to the chunk?
  bool is_whole() const { return is_whole_; }
  size_t untouched() const {
    size_t count = 0;
    for (size_t i = 0; i < kPages; ++i) count += is_untouched(i) ? 1 : 0;
    return count;
  }
  // Is what was touched in many places, and not some stretches that grow?
  bool is_touched_here_and_there() const {
    size_t ends = 0;
    for (size_t i = 1; i < kPages; ++i) ends += is_untouched(i) != is_untouched(i - 1) ? 1 : 0;
    return ends >= kPages / 16;
  }
  // Two of them, so that what may be asked for in vain is little beside what is used.
  bool has_joined_before_it() const {
    return first_ >= 2 * kPages && *joined(first_ - kPages) != 0 && *joined(first_ - 2 * kPages) != 0;
  }
  // False: that was done before.
  bool set_joined() const { return __atomic_exchange_n(joined(first_), uint8_t{1}, __ATOMIC_RELAXED) == 0; }
  // `advice` while it may be a huge page.
  bool advise(int advice) const {
    void* const at = reinterpret_cast<void*>(at_);
    platform::sys_madvise(at, kHugePage, MADV_HUGEPAGE);
    bool const done = !platform::failed(platform::sys_madvise(at, kHugePage, advice));
    platform::sys_madvise(at, kHugePage, MADV_NOHUGEPAGE);
    return done;
  }
  void set_ready() const {
    for (size_t i = 0; i < kPages; ++i) make_ready(chunk_, first_ + i);
  }

  static constexpr size_t kPages = kHugePage / 4096;

 private:
  bool is_untouched(size_t i) const { return chunk_->page_state[first_ + i] == kUntouched; }
  uint8_t* joined(size_t first) const { return &chunk_->joined[first / kPages]; }

  Chunk* chunk_;
  uintptr_t at_;
  bool is_whole_;
  size_t first_;
};

// Makes one huge page of the shadow around `page` once nearly all of it is in use: a program that jumps about
// in a large table would otherwise wait for the page tables of its shadow, too. What is not in use yet is an
// eighth at most. Kernels before 6.1 do not know how; then nothing changes.
void join_pages(const HugePage& huge) {
  constexpr int kCollapse = 25;
  size_t const untouched = huge.untouched();
  if (untouched > HugePage::kPages / 2) return;
  if (untouched > HugePage::kPages / 8 && !huge.is_touched_here_and_there()) return;
  if (huge.set_joined()) huge.advise(kCollapse);
}

// The same for the first touch behind huge pages: memory that was used so far is likely to be used further,
// and nothing has to be copied then. False: not so.
bool begin_huge_page(const HugePage& huge) {
  if (!huge.has_joined_before_it() || huge.untouched() != HugePage::kPages - 1 || !huge.set_joined())
    return false;
  if (!huge.advise(kPopulateWrite)) return false;
  huge.set_ready();
  return true;
}

}  // namespace

void touch_page(Chunk* chunk, size_t page) {
  if (__atomic_exchange_n(&chunk->page_state[page], uint8_t{kWritten}, __ATOMIC_RELAXED) != kUntouched)
    return;
  HugePage const huge(chunk, page);
  if (huge.is_whole() && begin_huge_page(huge)) return;
  size_t const count = pages_to_expect(chunk, page);
  if (count != 1 && !platform::failed(platform::sys_madvise(&chunk->cells[page * kPageCells], count * 4096,
                                                            kPopulateWrite))) {
    for (size_t i = page + 1; i < page + count; ++i) make_ready(chunk, i);
  }
  if (huge.is_whole()) join_pages(huge);
}

void FatCell::reserve(unsigned size) {
  if (size <= capacity()) return;
  uint8_t grown = 3;
  while ((1u << grown) < size) ++grown;
  auto* const moved = static_cast<Record*>(platform::allocate(sizeof(Record) << grown));
  Record* const old = records();
  for (unsigned i = 0; i < count; ++i) moved[i] = old[i];
  if (is_elsewhere()) platform::release(old, sizeof(Record) << capacity_log);
  set_elsewhere(moved);
  __atomic_store_n(&capacity_log, grown, __ATOMIC_RELAXED);
}

void FatCell::bring_back_elsewhere() {
  auto* const from = static_cast<Record*>(elsewhere());
  for (unsigned i = 0; i < count; ++i) few[i] = from[i];
  platform::release(from, sizeof(Record) << capacity_log);
  __atomic_store_n(&capacity_log, uint8_t{0}, __ATOMIC_RELAXED);
}

void FatCell::release_records() {
  if (is_elsewhere()) platform::release(elsewhere(), sizeof(Record) << capacity_log);
  __atomic_store_n(&capacity_log, uint8_t{0}, __ATOMIC_RELAXED);
  count = 0;
}

void FatCell::set_syncs(SyncVar* first) {
  if (first == nullptr) {
    __atomic_store_n(&has_syncs, false, __ATOMIC_RELAXED);
    return;
  }
  if (!has_syncs && !is_elsewhere() && count == kFew) reserve(kFew + 1);
  __atomic_store_n(sync_list(), first, __ATOMIC_RELAXED);
  set_last_release({});
  __atomic_store_n(&has_syncs, true, __ATOMIC_RELAXED);
}

void thin_again(DhCell* cell, FatCell* fat, const DhCell& thin) {
  FatNumber const number = number_of(*cell);
  store_cell(cell, thin);
  release_fat(fat);
  give_back(fat, number);
}

namespace {
// Which of the others the cell shows beside the latest access, as Record::bits; 0: none.
uint64_t shown_beside_latest(const Record* all, unsigned count) {
  const Record& latest = all[count - 1];
  for (unsigned i = count - 1u; i-- != 0;) {
    bool const hidden =
        all[i].epoch_bits != latest.epoch_bits && all[i].epoch().slot() == latest.epoch().slot();
    if (!hidden) return all[i].bits();
  }
  return 0;
}
}  // namespace

void FatCell::show() {
  if (count == 0) {
    FatNumber const number = number_of(*owner);
    if (number != 0) store_cell(owner, cell_by_pointer(this, number));
    return;
  }
  const Record* const all = records();
  show(all[count - 1].bits(), shown_beside_latest(all, count));
}

Chunk* make_chunk_for(uintptr_t address) {
  uintptr_t const index = address >> kDhChunkBits;
  if (index >= (uintptr_t{1} << kDhDirectoryBits)) return nullptr;
  return make_chunk(index);
}

FatCell* make_fat_from(Chunk* chunk, DhCell* cell, const DhCell& old) {
  DhCell const fresh = take_fat();
  FatCell* const fat = fat_of(fresh);
  fat->owner = cell;
  StackPair const stacks = shape_stacks(shape_of(old));
  fat->reserve(2);
  if ((old.half[0] & 0xff) != 0) fat->few[fat->count++] = unpack_half(old.half[0], stacks.first);
  if ((old.half[1] & 0xff) != 0) fat->few[fat->count++] = unpack_half(old.half[1], stacks.second);
  note_touched(chunk, static_cast<size_t>(cell - chunk->cells));
  note_may_be_long(chunk, cell);
  if (compare_and_swap_cell(cell, old, fresh)) {
    for (unsigned i = 0; i < fat->count; ++i) ReadNotes::resolve(cell, &fat->few[i]);
    return fat;
  }
  // Somebody else was faster.
  release_fat(fat);
  give_back(fat, number_of(fresh));
  return nullptr;
}

bool make_long_of_three(Chunk* chunk, DhCell* cell, const DhCell& old, const Record (&records)[3]) {
  DhCell const fresh = take_fat();
  FatCell* const fat = fat_of(fresh);
  fat->owner = cell;
  for (unsigned i = 0; i < 3; ++i) fat->few[i] = records[i];
  fat->count = 3;
  note_may_be_long(chunk, cell);
  FatNumber const number = number_of(fresh);
  DhCell const next =
      number != 0 ? cell_that_shows(number, records[2].bits(), shown_beside_latest(records, 3)) : fresh;
  if (__builtin_expect(compare_and_swap_cell(cell, old, next), 1)) {
    fat->lock.unlock();
    return true;
  }
  release_fat(fat);
  give_back(fat, number);
  return false;
}

FatCell* make_fat_of(DhCell* cell, const Record* records, unsigned count) {
  DhCell const fresh = take_fat();
  FatCell* const fat = fat_of(fresh);
  fat->owner = cell;
  fat->reserve(count);
  for (unsigned i = 0; i < count; ++i) fat->records()[i] = records[i];
  fat->count = static_cast<uint16_t>(count);
  store_cell(cell, fresh);
  fat->show();
  return fat;
}

FatCell* make_fat(Chunk* chunk, DhCell* cell) {
  for (;;) {
    if (FatCell* const fat = lock_existing_fat(cell)) return fat;
    DhCell const old = load_cell(cell);
    if (is_fat(old)) continue;
    if (FatCell* const fat = make_fat_from(chunk, cell, old)) return fat;
  }
}

void clear_shadow(uintptr_t address, size_t size, MemoryIs memory) {
  if (current_thread != nullptr) current_thread->walked.forget();
  uintptr_t at = address & ~uintptr_t{7};
  uintptr_t const end = (address + size + 7) & ~uintptr_t{7};
  while (at < end) {
    uintptr_t const chunk_end = ((at >> kDhChunkBits) + 1) << kDhChunkBits;
    uintptr_t const stop = end < chunk_end ? end : chunk_end;
    Chunk* const chunk = existing_chunk(at);
    if (chunk == nullptr) {
      at = stop;
      continue;
    }
    size_t first = cell_index(at);
    size_t const last = first + (stop - at) / 8;
    // The edges group by group, whole pages between them at once.
    size_t const whole_first = (first + kPageCells - 1) / kPageCells;
    size_t const whole_last = last / kPageCells;
    size_t const edge = whole_first < whole_last ? whole_first * kPageCells : last;
    clear_in_groups(chunk, first, edge);
    if (whole_first < whole_last) {
      clear_pages(chunk, whole_first, whole_last, memory);
      clear_in_groups(chunk, whole_last * kPageCells, last);
    }
    at = stop;
  }
}

uint64_t fat_cells() {
  return numbered_fats.count() + __atomic_load_n(&fats_without_number, __ATOMIC_RELAXED) - free_fats.count();
}

}  // namespace deadheat::watch
