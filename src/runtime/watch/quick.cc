#include "runtime/watch/quick.h"

namespace deadheat::watch {

StackId intern_current_frames(Thread* thread) { return current_frames(thread); }

const QuickCache::Site* remember_site(Thread* thread, uintptr_t pc, StackId frames, uint32_t size_and_kind) {
  AccessType const type = (size_and_kind & 16) != 0 ? AccessType::kWrite : AccessType::kRead;
  StackId const stack = stack_at(thread, pc, type, size_and_kind & 15);
  if (stack == 0) return nullptr;
  ShapeId const alone = intern_shape(thread->cache, stack, 0);
  if (alone == kNoShape) return nullptr;
  QuickCache::Site* const site = &thread->quick.site[quick::site_index(pc, frames, thread->lockset)];
  *site = {pc, frames, thread->lockset, stack, alone, size_and_kind, 0};
  return site;
}

ShapeId remember_move(Thread* thread, const DhCell& old, Move move, uint32_t masks, StackId stack) {
  ShapeId const shape = shape_of(old);
  StackPair pair = shape_stacks(shape);
  auto const into = [&](StackId base) {
    if (base == stack) return stack;
    return intern_composite(thread->cache, base, static_cast<uint8_t>(masks >> 8), stack,
                            static_cast<uint8_t>(masks));
  };
  switch (move) {
    case Move::kAfterFirst:
      pair = {pair.first, stack};
      break;
    case Move::kBeforeFirst:
      pair = {stack, pair.first};
      break;
    case Move::kBeforeSecond:
      pair = {stack, pair.second};
      break;
    case Move::kIntoFirst:
      pair.first = into(pair.first);
      break;
    case Move::kIntoSecond:
      pair.second = into(pair.second);
      break;
  }
  ShapeId const after = intern_shape(thread->cache, pair.first, pair.second);
  if (after == kNoShape) return after;
  uint32_t const how = (masks << 3) | static_cast<uint32_t>(move);
  thread->quick.known[quick::move_index(shape, how, stack)] = {shape, stack, how, after};
  return after;
}

}  // namespace deadheat::watch
