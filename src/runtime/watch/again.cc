#include "runtime/watch/again.h"

#include "runtime/watch/quick_inside.h"

namespace deadheat::watch {

void learn_again(Thread* thread, const DhCell* cell, uint64_t bytes, uintptr_t pc, uint32_t size_and_kind) {
  if (!enter_quickly(thread)) return;
  DhCell const seen = load_cell(cell);
  quick::Place place;
  if (!is_fat(seen) && quick::find_place(thread, pc, size_and_kind, &place)) {
    ShapeId const shape = shape_of(seen);
    StackPair const stacks = shape_stacks(shape);
    StackId const frames = thread->hot->next_frame[-1].context;
    auto const add = [&](uint32_t key) {
      thread->places_again.entry[PlacesAgain::index(pc, key)] = {pc, frames, thread->lockset, key};
    };
    if (stacks.first == place.stack) add(shape);
    if (stacks.second == place.stack) add(shape | PlacesAgain::kSecond);

    auto const [h0, h1] = seen.half;
    uint64_t const now = thread->hot->floor | ((size_and_kind & kWriteSite) != 0 ? kDhWriteBit : 0);
    bool const joins = quick::is_joined_by(h0, now) && (h0 & 0xff & ~bytes) != 0 && (h1 & 0xff) == 0;
    uint32_t const how = static_cast<uint32_t>(Move::kIntoFirst) | quick::joining(h0 & 0xff, bytes);
    DhCell next;
    if (joins && quick::find_pair(thread, seen, how, place.stack, h0, 0, &next)) {
      uint64_t const what = JoinsAgain::what(shape, h0, bytes);
      thread->joins_again.entry[JoinsAgain::index(pc, what)] = {pc, frames, thread->lockset, what,
                                                                shape_of(next)};
    }
  }
  leave_quickly(thread, 0);
}

}  // namespace deadheat::watch
