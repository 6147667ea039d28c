// What stands in for the process around the engine: nobody reports, no signals come.
#include "runtime/lane.h"
#include "runtime/platform/modules.h"
#include "runtime/watch/byte_history.h"
#include "runtime/watch/library_frames.h"
#include "runtime/watch/race_report.h"
#include "runtime/watch/tests/actors.h"

namespace deadheat::lane {
void (*deliver_pending_signals)() = nullptr;
__thread uint32_t signals_pending = 0;
void initialise() {}
}  // namespace deadheat::lane

namespace deadheat::platform {
bool orders_by_itself(uintptr_t) { return false; }
}  // namespace deadheat::platform

namespace deadheat::watch {

bool is_known_as_instrumented(uintptr_t pc) { return pc != kPcInLibrary; }

std::size_t event_now;
std::set<Told> told;

void report_race(Thread*, const AccessRequest& request, const Record& other, uintptr_t granule) {
  for (unsigned i = 0; i < 8; ++i) {
    uintptr_t const at = granule + i;
    bool const in_request = at >= request.address && at < request.address + request.size;
    if (in_request && ((other.mask >> i) & 1) != 0)
      told.insert({event_now, access_of(other.stack, i).pc, at});
  }
}

namespace {
Thread* root_thread() {
  static Thread* const root = (threads_initialise(), current_thread);
  return root;
}
}  // namespace

Actors::Actors() : root_(root_thread()) {
  histories_worth = {};  // as if all that was handed over in other runs had not been
  current_thread = root_;
  told.clear();
}

Actors::~Actors() {
  while (!actors_.empty()) end(actors_.begin()->first);
  for (const Ended& ended : ended_) root_->clock.set(ended.slot, ended.last_clock);
  current_thread = root_;
}

void Actors::end(uint32_t id) {
  Thread* const thread = actors_.at(id).thread;
  ended_.push_back({thread->slot, thread->span.used()});
  thread->notes.settle_all(root_, thread);
  thread_abandon(thread);
  actors_.erase(id);
}

Thread* Actors::get(uint32_t id, Thread* parent) {
  Actor& a = actors_[id];
  if (a.thread == nullptr) {
    a.thread = thread_create(parent != nullptr ? parent : root_, 0);
    a.frames.resize(4);
    a.thread->frames = a.frames.data() + 1;
    a.thread->frames_end = a.frames.data() + a.frames.size();
    // In one function, so that accesses have a frame to stand in.
    a.frames[1].return_address = a.frames.data();
    a.hot.next_frame = a.frames.data() + 2;
    a.thread->hot = &a.hot;
    a.thread->publish_floor();
  }
  alone = false;
  return a.thread;
}

Thread* Actors::enter(uint32_t id) { return current_thread = get(id); }

}  // namespace deadheat::watch
