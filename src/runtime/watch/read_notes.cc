#include "runtime/watch/read_notes.h"

#include <optional>

#include "runtime/watch/access.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

namespace {

// By slot.
ReadNotes* notes_of_slot[kSlots];

constexpr uint64_t noted_epoch(uint32_t slot) { return Epoch(slot, kNotedClock).bits(); }

constexpr bool is_noted_by(uint64_t half, uint32_t slot) {
  return half >> kDhEpochShift == noted_epoch(slot) && (half & 0xff) != 0;
}

// Is a plain read of `slot` all there is?
constexpr bool is_lone_read(const DhCell& cell, uint64_t slot) {
  auto const [h0, h1] = cell.half;
  return (h0 & (kDhWriteBit | kDhAtomicBit | kDhLongBit)) == 0 && slot_of(h0) == slot && (h1 & 0xff) == 0;
}

// Of a read that may be noted, which half is that of `slot`, if it is of just these bytes?
std::optional<unsigned> half_of_reader(const DhCell& cell, uint64_t slot, uint64_t bytes) {
  if (!is_shared_read(cell, slot) && !is_lone_read(cell, slot)) return {};
  unsigned const own = slot_of(cell.half[0]) == slot ? 0 : 1;
  return (cell.half[own] & 0xff) == bytes ? std::optional(own) : std::nullopt;
}

}  // namespace

bool has_noted_beside(const DhCell* cell) {
  const auto* const line =
      reinterpret_cast<const DhCell*>(reinterpret_cast<uintptr_t>(cell) & ~(platform::kLine - 1));
  bool any = false;
  for (size_t i = 0; i < kCellsOfLine; ++i) any |= has_noted(load_halves(line + i));
  return any;
}

void ReadNotes::is_slot_of(uint32_t slot, ReadNotes* notes) {
  __atomic_store_n(&notes_of_slot[slot], notes, __ATOMIC_RELEASE);
}

void ReadNotes::covered(Thread* thread, Note& note) {
  ++thread->statistics.slow_accesses;
  ++thread->statistics.covered;
  if (note.value >> kTimesShift < kOftenCovered) {
    __atomic_store_n(&note.value, note.value + (uint64_t{1} << kTimesShift), __ATOMIC_RELAXED);
    return;
  }
  settle(thread, thread, note);
  thread->notes.debt_ += kPrice;
}

uint64_t ReadNotes::read_elsewhere(Thread* thread, Note& note, const DhCell* cell, uintptr_t pc) {
  if (note.cell != cell) return 0;
  if ((note.value & kClockMask) >= thread->span.label()) {
    covered(thread, note);
    return kIsCovered;
  }
  quick::Place place;
  if (!quick::find_place(thread, pc, kHookSite, &place)) return 0;
  note.pc = pc;
  note.context = quick::site_context(thread->hot->next_frame[-1].context, thread->lockset);
  return static_cast<uint64_t>(place.stack) << kStackShift;
}

bool ReadNotes::begin(Thread* thread, uintptr_t address, DhCell* cell, uint64_t bytes, uintptr_t pc) {
  ReadNotes& notes = thread->notes;
  DhCell const old = load_cell(cell);
  auto const own = half_of_reader(old, thread->slot, bytes);
  if (!own || is_noted(old.half[*own])) return false;
  // What is looked at and changed here must not be changed by a signal's handler in between.
  Inside const inside(thread);
  StackId const stack =
      site_stack(thread, pc, static_cast<uint32_t>(__builtin_popcountll(bytes)) | kHookSite);
  if (stack == 0) return false;
  Note& note = notes.note_of(cell);
  notes.debt_ += kPrice;
  if (note.cell != nullptr && note.cell != cell) {
    notes.debt_ += kPriceOfPlace;
    settle(thread, thread, note);
  }
  notes.any_ = true;
  note.cell = cell;
  note.chunk = existing_chunk(address);
  note.pc = pc;
  note.context = quick::site_context(thread->hot->next_frame[-1].context, thread->lockset);
  __atomic_store_n(&note.value, thread->span.label() | static_cast<uint64_t>(stack) << kStackShift,
                   __ATOMIC_RELEASE);
  thread->span.note_used();
  note_may_be_long(note.chunk, cell);  // whoever clears the page looks for it, then
  DhCell noted = old;
  noted.half[*own] = (old.half[*own] & kHalfShape) | noted_epoch(thread->slot) << kDhEpochShift | bytes;
  if (!compare_and_swap_cell(cell, old, noted)) return false;
  ++thread->statistics.slow_accesses;
  return true;
}

void ReadNotes::resolve(const DhCell* cell, Record* record) {
  Epoch const epoch = record->epoch();
  if (epoch.clock() != kNotedClock) return;
  ReadNotes* const notes = __atomic_load_n(&notes_of_slot[epoch.slot()], __ATOMIC_ACQUIRE);
  uint64_t const value = __atomic_load_n(&notes->note_of(cell).value, __ATOMIC_ACQUIRE);
  record->epoch_bits = Epoch(epoch.slot(), static_cast<uint32_t>(value & kClockMask)).bits();
  record->stack = static_cast<StackId>(value >> kStackShift & ((uint64_t{1} << kStackIdBits) - 1));
}

void ReadNotes::settle(Thread* acting, const Thread* owner, const Note& note) {
  for (;;) {
    // Long: whoever made it so may not have read the note yet, and has it locked until then.
    if (FatCell* const fat = lock_existing_fat(note.cell)) return unlock_fat(acting, fat);
    DhCell const seen = load_cell(note.cell);
    if (is_fat(seen)) continue;
    if (!is_noted_by(seen.half[0], owner->slot) && !is_noted_by(seen.half[1], owner->slot)) return;
    // Only from what was seen: the memory may be somebody else's by now, and its cell no longer ours to
    // touch.
    if (FatCell* const fat = make_fat_from(note.chunk, note.cell, seen)) return unlock_fat(acting, fat);
  }
}

void ReadNotes::settle_all(Thread* acting, const Thread* owner) {
  if (!any_) return;
  any_ = false;
  for (Note& note : note_) {
    if (note.cell == nullptr) continue;
    settle(acting, owner, note);
    note.cell = nullptr;
  }
}

}  // namespace deadheat::watch
