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

}  // namespace

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
