#include "replay/stops.h"

namespace deadheat::replay {

using recording::SequencerKind;
using recording::Tag;

std::uint64_t Stops::access_of(ThreadId thread) const {
  for (const Stop& stop : stops_)
    if (stop.thread == thread) return stop.access;
  return 0;
}

void Stops::find_sequencer(Kept& kept, std::uint64_t first_number) {
  while (kept.stream.next(kept.item))
    if (kept.item.tag == Tag::kSequencer && kept.item.sequencer.number.value() >= first_number) return;
  kept.is_over = true;
}

void Stops::keep(ThreadId thread, std::uint64_t first_number) {
  const auto [at, is_new] = kept_.try_emplace(thread, Kept{recording_.stream(thread), {}, false});
  if (is_new) find_sequencer(at->second, first_number);
}

void Stops::advance(Kept& kept, std::uint64_t before) {
  while (!kept.is_over && kept.item.sequencer.number.value() < before) {
    if (kept.item.sequencer.object.value() != 0) objects_.insert(kept.item.sequencer.object.value());
    find_sequencer(kept, 0);
  }
}

bool Stops::follows(const recording::Sequencer& sequencer) {
  for (auto& [id, kept] : kept_) advance(kept, sequencer.number.value());
  if (sequencer.kind == SequencerKind::kThreadJoined && is_kept(sequencer.other_thread())) return true;
  return sequencer.object.value() != 0 && objects_.contains(sequencer.object.value());
}

}  // namespace deadheat::replay
