#include "runtime/watch/quick.h"

namespace deadheat::watch {

StackId intern_current_frames(Thread* thread) { return current_frames(thread); }

StackId number_innermost_frame(const Thread* thread) {
  // Functions that have not looked at anything have no number, either: a few of them, more is unusual.
  constexpr int kFew = 8;
  DhFrame* const innermost = thread->hot->next_frame - 1;
  DhFrame* frame = innermost;
  do {
    if (frame <= thread->frames || innermost - frame == kFew) return 0;
    --frame;
  } while (frame->context == 0);
  StackId id = frame->context;
  do {
    ++frame;
    id = known_frame(thread->cache, id, reinterpret_cast<uintptr_t>(frame->return_address));
    frame->context = id;
  } while (frame != innermost && id != 0);
  return id;
}

void bring_known_up_to_date(Thread* thread) {
  thread->until_known = static_cast<int32_t>(advance_known_to_all());
}

void enter_for_known_access(Thread* thread, uintptr_t granule, uint64_t mask, const AccessRequest& whole,
                            StackId stack) {
  Inside const inside(thread);
  ++thread->statistics.slow_accesses;
  count_down_to_known(thread);
  thread->span.note_used();
  known_access(thread, granule, mask, whole, stack);
}

const QuickCache::Site* remember_site(Thread* thread, uintptr_t pc, StackId frames, uint32_t size_and_kind) {
  bool const write = (size_and_kind & kWriteSite) != 0;
  AccessType type = write ? AccessType::kWrite : AccessType::kRead;
  if ((size_and_kind & kAtomicSite) != 0) type = write ? AccessType::kAtomicWrite : AccessType::kAtomicRead;
  StackId const stack = stack_at(thread, pc, type, size_and_kind & (kWriteSite - 1));
  if (stack == 0) return nullptr;
  ShapeId const alone = intern_shape(thread->cache, stack, 0);
  if (alone == kNoShape) return nullptr;
  uint64_t const key = quick::site_key(pc, size_and_kind);
  uint64_t const context = quick::known_context(frames, thread->lockset);
  DhCell const halves = with_shape(0, 0, alone);
  uint32_t const index = quick::site_index(key, context);
  QuickCache::Site* const site = &thread->quick.site[index];
  for (uint32_t way = quick::kSiteWays; --way != 0;) site[way] = site[way - 1];
  *site = {key,
           context,
           stack,
           alone,
           {static_cast<uint32_t>(halves.half[0]), static_cast<uint32_t>(halves.half[1])}};
  return site;
}

ShapeId shape_after(Thread* thread, uintptr_t address, const DhCell& old, uint32_t how, StackId stack) {
  ShapeId const shape = shape_of(old);
  uint32_t const hash = quick::move_hash(shape, how, stack);
  const QuickCache::Known& hit = thread->quick.known.at(hash);
  if (hit.old_shape == shape && hit.stack == stack && hit.how == how && hit.shape != 0) return hit.shape;
  if (__builtin_expect(++thread->cache.asked_in_vain > RoomyTables::kOften, 0)) grow_tables(thread);
  StackPair pair = shape_stacks(shape);
  uint32_t const masks = how >> 3;
  auto const others = static_cast<uint8_t>(masks >> 8);
  auto const mine = static_cast<uint8_t>(masks);
  bool refused = false;
  auto const into = [&](StackId base) {
    if (base == stack) return stack;
    if (!quick::shall_make_composites(thread, address) &&
        !knows_composite(thread->cache, base, others, stack, mine)) {
      refused = true;  // better byte by byte (byte_history.h)
      return base;
    }
    return intern_composite(thread->cache, base, others, stack, mine);
  };
  switch (static_cast<Move>(how & 7)) {
    case Move::kAfterFirst:
      pair = {pair.first, stack};
      break;
    case Move::kBeforeFirst:
      pair = {stack, pair.first};
      break;
    case Move::kBeforeSecond:
      pair = {stack, pair.second};
      break;
    case Move::kAfterSecond:
      pair = {pair.second, stack};
      break;
    case Move::kIntoFirst:
      pair.first = into(pair.first);
      break;
    case Move::kIntoSecond:
      pair.second = into(pair.second);
      break;
    case Move::kIntoFirstAlone:
      pair = {into(pair.first), 0};
      break;
  }
  if (refused) return kNoShape;
  ShapeId const after = intern_shape(thread->cache, pair.first, pair.second);
  if (after != kNoShape) thread->quick.known.at(hash) = {shape, stack, how, after};
  return after;
}

}  // namespace deadheat::watch
