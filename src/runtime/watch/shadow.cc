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
  DhCell taken = free_fats.take(
      current_thread, [](const DhCell& fat) { return fat_of(fat)->next_free(); },
      [](const DhCell& fat) { return fat_of(fat); });
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
  fresh->program = index << kDhChunkBits;
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

}  // namespace

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
