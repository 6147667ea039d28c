#include "replay/live/live_hooks.h"

#include "replay/hook_shapes.h"
#include "replay/live/history.h"
#include "replay/live/live_world.h"
#include "replay/thread.h"
#include "replay/world.h"

using namespace deadheat;
using namespace deadheat::replay;
using namespace deadheat::replay::shapes;
using live::History;
using live::LiveWorld;

namespace {

Thread& thread_of(DhReplay* hot) { return *static_cast<Thread*>(hot->owner); }

// Counts an access that is about to happen; the thread may have to stop before it, and when it goes on, its
// world may have become a live one.
void count(DhReplay* hot, std::uint32_t site) {
  if (++hot->accesses != hot->stop_at) return;
  hot->site = site;
  thread_of(hot).stop_before_access();
}

// The live world, if it is one, when it is this thread's turn in it.
LiveWorld* live_turn(DhReplay* hot, std::uint32_t site) {
  LiveWorld* const live = LiveWorld::current();
  if (live == nullptr) return nullptr;
  hot->site = site;
  live->step(thread_of(hot));
  return live;
}

LiveWorld* live_access(DhReplay* hot, std::uint32_t site) {
  if (LiveWorld* const live = live_turn(hot, site)) return live;
  count(hot, site);
  return LiveWorld::current();
}

struct LiveSteps {
  static void copy_step(DhReplay* hot, std::uint64_t to, std::uint64_t from, std::uint32_t size,
                        std::uint32_t site) {
    std::uint64_t value = 0;
    if (LiveWorld* const live = live_access(hot, site)) return live->copy(thread_of(hot), to, from, size);
    value = load_any<true>(hot, from, size, site);
    // A thread may also stop between the two.
    if (LiveWorld* const live = live_access(hot, site))
      return live->store(thread_of(hot), to, low_bytes(value, size), size);
    store_any<true>(hot, to, value, size, site);
  }
  static void store(DhReplay* hot, std::uint64_t address, std::uint64_t value, std::uint32_t size,
                    std::uint32_t site) {
    __dh_rep_live_store(hot, address, value, size, site);
  }
  static void begin_atomic(DhReplay* hot, std::uint32_t operation, std::uint32_t site) {
    if (LiveWorld* const live = live_turn(hot, site)) return live->synchronise(thread_of(hot));
    thread_of(hot).atomic_sequencer(operation, SiteId(site));
    if (LiveWorld* const live = LiveWorld::current()) return live->synchronise(thread_of(hot));
    // One step for all others: whoever is to stop before its second half stops before the first.
    if (operation == kDhAtomicLoad || operation == kDhAtomicStore || hot->stop_at != hot->accesses + 2)
      return;
    hot->stop_at = 0;
    hot->site = site;
    thread_of(hot).stop_before_access();
  }
  static std::uint64_t atomic_load(DhReplay* hot, std::uint64_t address, std::uint32_t size,
                                   std::uint32_t site) {
    if (LiveWorld::current() == nullptr) count(hot, site);
    if (LiveWorld* const live = LiveWorld::current()) return live->load(thread_of(hot), address, size);
    const std::uint64_t value = value_any(hot, address, size);
    __dh_rep_observe(hot, address, value, size | thread_of(hot).atomic_flags(), site);
    return value;
  }
  static void atomic_store(DhReplay* hot, std::uint64_t address, std::uint64_t value, std::uint32_t size,
                           std::uint32_t site) {
    if (LiveWorld::current() == nullptr) count(hot, site);
    value = low_bytes(value, size);
    if (LiveWorld* const live = LiveWorld::current())
      return live->store(thread_of(hot), address, value, size);
    __dh_rep_observe(hot, address, value, size | kDhAccessWrite | thread_of(hot).atomic_flags(), site);
    store_any<false>(hot, address, value, size, site);
  }
};

std::uint64_t load_any_live(DhReplay* hot, std::uint64_t address, std::uint32_t size, std::uint32_t site) {
  return __dh_rep_live_load(hot, address, size, site);
}

void store_any_live(DhReplay* hot, std::uint64_t address, std::uint64_t value, std::uint32_t size,
                    std::uint32_t site) {
  __dh_rep_live_store(hot, address, value, size, site);
}

void fence(DhReplay* hot, std::uint32_t site) {
  if (LiveWorld* const live = live_turn(hot, site)) return live->synchronise(thread_of(hot));
  thread_of(hot).atomic_sequencer(kDhAtomicFence, SiteId(site));
}

void resume(DhReplay* hot, std::uint32_t site) {
  if (LiveWorld* const live = live_turn(hot, site)) return live->resume_exception(thread_of(hot));
  thread_of(hot).resume_exception();
  if (LiveWorld* const live = LiveWorld::current()) live->resume_exception(thread_of(hot));
}

void unreachable(DhReplay* hot, std::uint32_t) {
  if (LiveWorld* const live = LiveWorld::current()) live->unreachable(thread_of(hot));
  thread_of(hot).unreachable();
}

}  // namespace

std::uint64_t __dh_rep_live_load(DhReplay* hot, std::uint64_t address, std::uint32_t size,
                                 std::uint32_t site) {
  if (LiveWorld* const live = live_access(hot, site)) return live->load(thread_of(hot), address, size);
  const std::uint64_t value = value_any(hot, address, size);
  if (LiveWorld* const live = LiveWorld::current()) return live->load(thread_of(hot), address, size);
  __dh_rep_observe(hot, address, value, size, site);
  return value;
}

void __dh_rep_live_store(DhReplay* hot, std::uint64_t address, std::uint64_t value, std::uint32_t size,
                         std::uint32_t site) {
  if (LiveWorld* const live = live_access(hot, site))
    return live->store(thread_of(hot), address, low_bytes(value, size), size);
  store_any<true>(hot, address, value, size, site);
}

std::uint64_t __dh_rep_live_opaque(DhReplay* hot, std::uint64_t pseudo_address, std::uint32_t site) {
  if (LiveWorld::current() == nullptr) {
    const std::uint64_t value = bodies::value(hot, pseudo_address, 8, site);
    if (LiveWorld::current() == nullptr) {
      if (History* const history = History::current())
        history->on_opaque(thread_of(hot), SiteId(site), value);
      return value;
    }
  }
  return LiveWorld::current()->opaque(thread_of(hot), SiteId(site));
}

void __dh_rep_live_void(DhReplay* hot, std::uint32_t site) {
  if (LiveWorld* const live = live_turn(hot, site)) live->effect(thread_of(hot), SiteId(site));
}

void __dh_rep_live_va_start(DhReplay* hot, std::uint64_t list, const void* native, std::uint32_t site) {
  if (LiveWorld* const live = live_turn(hot, site)) live->start_arguments(thread_of(hot), list, native);
}

void __dh_rep_live_va_copy(DhReplay* hot, std::uint64_t to, std::uint64_t from, std::uint32_t site) {
  if (LiveWorld* const live = live_turn(hot, site)) live->copy(thread_of(hot), to, from, 24);
}

std::uint64_t __dh_rep_live_by_value(DhReplay* hot, std::uint64_t pseudo_address, std::uint32_t site,
                                     std::uint64_t pointer, std::uint64_t size) {
  if (LiveWorld::current() == nullptr) {
    const std::uint64_t value = bodies::value(hot, pseudo_address, 8, site);
    if (LiveWorld::current() == nullptr) return value;
  }
  return LiveWorld::current()->copy_of_argument(thread_of(hot), pointer, size);
}

void __dh_rep_live_nothing(DhReplay* hot) {
  if (LiveWorld::current() != nullptr) return;
  if (hot->run != 0)
    --hot->run;
  else
    thread_of(hot).nothing();
}

void __dh_rep_live_invisible(DhReplay* hot, std::uint64_t target, std::uint32_t site) {
  Thread& thread = thread_of(hot);
  OpenCall call;
  call.target = target;
  call.site = SiteId(site);
  call.words = hot->call_words;
  call.count = hot->call_word_count;
  if (LiveWorld* const live = live_turn(hot, site)) return live->call(thread, call);
  const bool is_told = hot->wants_calls != 0;
  __dh_rep_observe_invisible(hot, target, site);
  History* const history = History::current();
  if (history != nullptr) history->on_call(thread, call);
  // Frames between here and the log own nothing, and may be left by a jump: so the vector is the thread's.
  thread.live_calls().push_back(&call);
  if (hot->run == 0) thread.invisible();
  thread.live_calls().pop_back();
  if (is_told && LiveWorld::current() == nullptr) __dh_rep_observe_invisible_end(hot);
  if (LiveWorld* const live = LiveWorld::current()) return live->continue_call(thread, call);
  if (history != nullptr) history->after_call(thread, call);
}

void __dh_rep_live_enter(DhReplay* hot) {
  if (LiveWorld* const live = LiveWorld::current()) live->enter(thread_of(hot));
}

namespace deadheat::replay {

std::span<const LiveHook> live_hooks() {
  const auto hook = [](const char* name, auto* function) {
    return LiveHook{name, reinterpret_cast<void*>(function)};
  };
  static const LiveHook hooks[] = {
      hook("__dh_rep_live_load", &__dh_rep_live_load),
      hook("__dh_rep_live_store", &__dh_rep_live_store),
      hook("__dh_rep_live_opaque", &__dh_rep_live_opaque),
      hook("__dh_rep_live_void", &__dh_rep_live_void),
      hook("__dh_rep_live_va_start", &__dh_rep_live_va_start),
      hook("__dh_rep_live_va_copy", &__dh_rep_live_va_copy),
      hook("__dh_rep_live_by_value", &__dh_rep_live_by_value),
      hook("__dh_rep_live_nothing", &__dh_rep_live_nothing),
      hook("__dh_rep_live_invisible", &__dh_rep_live_invisible),
      hook("__dh_rep_live_enter", &__dh_rep_live_enter),
      hook("__dh_rep_load_any", &load_any_live),
      hook("__dh_rep_store_any", &store_any_live),
      hook("__dh_rep_copy", &shapes::copy<LiveSteps>),
      hook("__dh_rep_fill", &shapes::fill<LiveSteps>),
      hook("__dh_rep_atomic", &shapes::atomic<LiveSteps>),
      hook("__dh_rep_atomic16", &shapes::atomic16<LiveSteps>),
      hook("__dh_rep_fence", &fence),
      hook("__dh_rep_resume", &resume),
      hook("__dh_rep_unreachable", &unreachable),
  };
  return hooks;
}

}  // namespace deadheat::replay
