#include "runtime/watch/ended.h"

#include "runtime/platform/spinlock.h"
#include "runtime/watch/beside.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {
namespace {

bool change(uint8_t* state, GroupState from, GroupState to) {
  uint8_t expected = from;
  return __atomic_compare_exchange_n(state, &expected, uint8_t{to}, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

// The same for all groups of a page.
constexpr uint64_t all(GroupState state) { return state * (~uint64_t{0} / 0xff); }
bool change_all(uint64_t* states, GroupState from, GroupState to) {
  uint64_t expected = all(from);
  return __atomic_compare_exchange_n(states, &expected, all(to), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// Inside the runtime even for who is not there otherwise: a signal's handler that touched the same group in
// between would wait for ever, and so would the child of a fork.
class InsideIfKnown {
 public:
  InsideIfKnown() : thread_(current_thread) {
    if (thread_ != nullptr) Inside::enter(thread_);
  }
  ~InsideIfKnown() {
    if (thread_ != nullptr) Inside::leave(thread_);
  }
  InsideIfKnown(const InsideIfKnown&) = delete;
  InsideIfKnown& operator=(const InsideIfKnown&) = delete;

 private:
  Thread* thread_;
};

// False: somebody else was faster.
bool make_group_real(Chunk* chunk, size_t group) {
  InsideIfKnown const inside;
  uint8_t* const state = &chunk->group_state[group];
  if (!change(state, kEnded, kChanging)) return false;
  DhCell const end = chunk->ended[group];
  DhCell* const cells = &chunk->cells[group * kGroupCells];
  for (size_t i = 0; i < kGroupCells; ++i) compare_and_swap_cell(&cells[i], {}, end);
  __atomic_store_n(state, uint8_t{kTouched}, __ATOMIC_RELEASE);
  return true;
}

// Do all cells of the group say the same, that one plain write of all bytes is all there is?
bool is_one_end(const DhCell* cells) {
  DhCell const end = load_cell(cells);
  auto const [h0, h1] = end.half;
  if ((h0 & (kDhLongBit | kDhAtomicBit | kDhWriteBit | 0xff)) != (kDhWriteBit | 0xff)) return false;
  if ((h1 & (kDhLongBit | 0xff)) != 0) return false;
  for (size_t i = 1; i < kGroupCells; ++i) {
    if (!is_same(load_cell(&cells[i]), end)) return false;
  }
  return true;
}

// A page all of whose groups are changing by this thread's hand, and have a cell of their own that says what
// theirs would be.
class EndedPage {
 public:
  EndedPage(Chunk* chunk, size_t page) : chunk_(chunk), first_(page * kPageGroups) {}

  // False: not all of them have ended, and nothing has changed.
  bool take() {
    for (size_t i = 0; i < kPageGroups; ++i) {
      if (take_group(first_ + i)) continue;
      while (i-- > 0) set(first_ + i, kTouched);
      return false;
    }
    return true;
  }
  void set_all(GroupState state) {
    for (size_t i = 0; i < kPageGroups; ++i) set(first_ + i, state);
  }

 private:
  void set(size_t group, GroupState state) {
    __atomic_store_n(&chunk_->group_state[group], uint8_t{state}, __ATOMIC_RELEASE);
  }
  bool take_group(size_t group) {
    uint8_t* const state = &chunk_->group_state[group];
    DhCell* const cells = &chunk_->cells[group * kGroupCells];
    // One that nobody has touched is made real, so that there is but one way back.
    if (__atomic_load_n(state, __ATOMIC_RELAXED) == kEnded) touch_group(chunk_, group);
    if (!is_one_end(cells) || !change(state, kTouched, kChanging)) return false;
    chunk_->ended[group] = load_cell(cells);
    return true;
  }

  Chunk* chunk_;
  size_t first_;
};

}  // namespace

void give_back_ended(Chunk* chunk, size_t first_page, size_t last_page) {
  if (beside(&chunk->ended, kChunkGroups) == nullptr) return;
  for (size_t page = first_page; page < last_page; ++page) {
    size_t run = page;
    while (run < last_page && is_written(chunk, run) && EndedPage(chunk, run).take()) ++run;
    if (run == page) continue;
    bool const returned = !platform::failed(
        platform::sys_madvise(&chunk->cells[page * kPageCells], (run - page) * 4096, MADV_DONTNEED));
    for (; page < run; ++page) {
      if (returned) __atomic_store_n(&chunk->page_state[page], uint8_t{kUntouched}, __ATOMIC_RELAXED);
      EndedPage(chunk, page).set_all(returned ? kEnded : kTouched);
    }
  }
}

void touch_group(Chunk* chunk, size_t group) {
  size_t const page = group / kPageGroups;
  if (!is_written(chunk, page)) touch_page(chunk, page);
  uint8_t* const state = &chunk->group_state[group];
  for (platform::Patience patience;; patience.wait()) {
    uint8_t const seen = __atomic_load_n(state, __ATOMIC_ACQUIRE);
    if (seen == kTouched || (seen == kEmpty && change(state, kEmpty, kTouched)) ||
        (seen == kEnded && make_group_real(chunk, group))) {
      return;
    }
  }
}

size_t end_empty_groups(Chunk* chunk, size_t group, size_t count, const DhCell& end) {
  DhCell* const ended = beside(&chunk->ended, kChunkGroups);
  if (ended == nullptr) return 0;
  size_t const last = group + count;
  size_t at = group;
  while (at < last) {
    uint64_t* const states = groups_of_page(chunk, at / kPageGroups);
    if (at % kPageGroups == 0 && last - at >= kPageGroups && change_all(states, kEmpty, kChanging)) {
      for (size_t i = 0; i < kPageGroups; ++i) ended[at + i] = end;
      __atomic_store_n(states, all(kEnded), __ATOMIC_RELEASE);
      at += kPageGroups;
      continue;
    }
    uint8_t* const state = &chunk->group_state[at];
    if (!change(state, kEmpty, kChanging)) break;
    ended[at++] = end;
    __atomic_store_n(state, uint8_t{kEnded}, __ATOMIC_RELEASE);
  }
  return at - group;
}

void forget_end(Chunk* chunk, size_t group) {
  // It is being made real.
  if (!change(&chunk->group_state[group], kEnded, kEmpty)) touch_group(chunk, group);
}

void forget_ends_in_page(Chunk* chunk, size_t page) {
  uint64_t* const states = groups_of_page(chunk, page);
  if (change_all(states, kEnded, kEmpty)) return;
  for (size_t group = page * kPageGroups; group < (page + 1) * kPageGroups; ++group) {
    if (state_of_group(chunk, group) >= kEnded) forget_end(chunk, group);
  }
}

}  // namespace deadheat::watch
