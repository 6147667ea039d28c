#include "runtime/watch/again.h"

#include "runtime/watch/quick_inside.h"

namespace deadheat::watch {

void learn_again(Thread* thread, const DhCell* cell, uintptr_t pc, uint32_t size_and_kind) {
  if (!enter_quickly(thread)) return;
  DhCell const seen = load_cell(cell);
  ShapeId const shape = shape_of(seen);
  quick::Place place;
  if (!is_fat(seen) && quick::find_place(thread, pc, size_and_kind, &place) &&
      shape_stacks(shape).first == place.stack) {
    thread->places_again.entry[PlacesAgain::index(pc, shape)] = {pc, thread->hot->next_frame[-1].context,
                                                                 thread->lockset, shape};
  }
  leave_quickly(thread, 0);
}

}  // namespace deadheat::watch
