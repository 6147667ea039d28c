#include "runtime/watch/again.h"

#include "runtime/watch/quick_inside.h"

namespace deadheat::watch {

void learn_again(Thread* thread, const DhCell* cell, uintptr_t pc, uint32_t size_and_kind) {
  if (!enter_quickly(thread)) return;
  DhCell const seen = load_cell(cell);
  quick::Place place;
  if (!is_fat(seen) && quick::find_place(thread, pc, size_and_kind, &place)) {
    ShapeId const shape = shape_of(seen);
    StackPair const stacks = shape_stacks(shape);
    auto const add = [thread, pc](uint32_t key) {
      thread->places_again.entry[PlacesAgain::index(pc, key)] = {pc, thread->hot->next_frame[-1].context,
                                                                 thread->lockset, key};
    };
    if (stacks.first == place.stack) add(shape);
    if (stacks.second == place.stack) add(shape | PlacesAgain::kSecond);
  }
  leave_quickly(thread, 0);
}

}  // namespace deadheat::watch
