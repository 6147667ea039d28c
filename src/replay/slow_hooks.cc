#include "replay/slow_hooks.h"

#include <algorithm>
#include <cstring>

#include "replay/flow.h"
#include "replay/hook_bodies.h"
#include "replay/hook_shapes.h"
#include "replay/program.h"
#include "replay/thread.h"
#include "replay/world.h"

using namespace deadheat;
using namespace deadheat::replay;
using namespace deadheat::replay::shapes;

DhReplay* __dh_replay = nullptr;

namespace {

Thread& thread_of(DhReplay* hot) { return *static_cast<Thread*>(hot->owner); }

// --- Steps of copies, fills and atomics (hook_shapes.h)

template <bool kObserved>
struct Steps {
  static void copy_step(DhReplay* hot, std::uint64_t to, std::uint64_t from, std::uint32_t size,
                        std::uint32_t site) {
    const std::uint64_t value = load_any<kObserved>(hot, from, size, site);
    store_any<kObserved>(hot, to, value, size, site);
  }
  static void store(DhReplay* hot, std::uint64_t address, std::uint64_t value, std::uint32_t size,
                    std::uint32_t site) {
    store_any<kObserved>(hot, address, value, size, site);
  }
  static void begin_atomic(DhReplay* hot, std::uint32_t operation, std::uint32_t site) {
    thread_of(hot).atomic_sequencer(operation, SiteId(site));
  }
  static std::uint64_t atomic_load(DhReplay* hot, std::uint64_t address, std::uint32_t size,
                                   std::uint32_t site) {
    const std::uint64_t value = value_any(hot, address, size);
    if (kObserved) __dh_rep_observe(hot, address, value, size | thread_of(hot).atomic_flags(), site);
    return value;
  }
  static void atomic_store(DhReplay* hot, std::uint64_t address, std::uint64_t value, std::uint32_t size,
                           std::uint32_t site) {
    if (kObserved)
      __dh_rep_observe(hot, address, low_bytes(value, size),
                       size | kDhAccessWrite | thread_of(hot).atomic_flags(), site);
    store_any<false>(hot, address, value, size, site);
  }
};

// Whole words, as long as they do not pass the end of the image: how many from here on.
std::uint64_t plain_words(std::uint64_t at, std::uint64_t most) {
  return std::min<std::uint64_t>(most, (kDhImageBytes - (at & kDhImageMask)) >> 3);
}

// Words are copied and filled at once as far as they were all predicted, and each has a place of its own.
void copy(DhReplay* hot, std::uint64_t to, std::uint64_t from, std::uint64_t size, std::uint32_t may_overlap,
          std::uint32_t site) {
  const bool is_backwards = may_overlap != 0 && to > from && to < from + size;
  if (hot->is_tagged != 0 || is_backwards || size < 16)
    return shapes::copy<Steps<false>>(hot, to, from, size, may_overlap, site);
  while (size >= 8) {
    const std::uint64_t count = plain_words(to, plain_words(from, std::min(size >> 3, hot->run)));
    if (count == 0) {
      Steps<false>::copy_step(hot, to, from, 8, site);
      to += 8, from += 8, size -= 8;
      continue;
    }
    const std::uint8_t* const source = bodies::image_at(hot, from);
    std::uint8_t* const target = bodies::image_at(hot, to);
    std::uint64_t hash = hot->hash;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t value;
      std::memcpy(&value, source + 8 * i, 8);
      std::memcpy(target + 8 * i, &value, 8);
      hash = dh_record_mix(hash, to + 8 * i, value);
    }
    hot->hash = hash;
    hot->run -= count;
    hot->stores += count;
    to += 8 * count, from += 8 * count, size -= 8 * count;
  }
  if (size != 0) Steps<false>::copy_step(hot, to, from, static_cast<std::uint32_t>(size), site);
}

void fill(DhReplay* hot, std::uint64_t to, std::uint32_t byte, std::uint64_t size, std::uint32_t site) {
  const std::uint64_t word = (byte & 0xff) * UINT64_C(0x0101010101010101);
  while (hot->is_tagged == 0 && size >= 8) {
    const std::uint64_t count = plain_words(to, size >> 3);
    if (count == 0) {
      Steps<false>::store(hot, to, word, 8, site);
      to += 8, size -= 8;
      continue;
    }
    std::uint8_t* const target = bodies::image_at(hot, to);
    std::uint64_t hash = hot->hash;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::memcpy(target + 8 * i, &word, 8);
      hash = dh_record_mix(hash, to + 8 * i, word);
    }
    hot->hash = hash;
    hot->stores += count;
    to += 8 * count, size -= 8 * count;
  }
  shapes::fill<Steps<false>>(hot, to, byte, size, site);
}

void fence(DhReplay* hot, std::uint32_t site) {
  thread_of(hot).atomic_sequencer(kDhAtomicFence, SiteId(site));
}

void resume(DhReplay* hot, std::uint32_t) { thread_of(hot).resume_exception(); }

void unreachable(DhReplay* hot, std::uint32_t) { thread_of(hot).unreachable(); }

void local(DhReplay* hot, std::uint64_t address, std::uint64_t size, std::uint32_t site) {
  for (Observer* observer : World::current()->observers())
    observer->on_local(thread_of(hot).id(), SiteId(site), Address(address), size);
}

void local_end(DhReplay* hot, std::uint64_t address, std::uint64_t size, std::uint32_t site) {
  for (Observer* observer : World::current()->observers())
    observer->on_local_end(thread_of(hot).id(), SiteId(site), Address(address), size);
}

void copy_labels(DhReplay* hot, std::uint64_t to, std::uint64_t from, std::uint64_t size) {
  if (hot->flow != nullptr) static_cast<Flow*>(hot->flow)->copy(Address(to), Address(from), size);
}

void* jump_buffer(DhReplay* hot, std::uint64_t environment) {
  return thread_of(hot).jump_buffer(environment);
}

}  // namespace

// --- Slow paths of the hot hooks

std::uint64_t __dh_rep_value_slow(DhReplay* hot, std::uint64_t address, std::uint32_t size, std::uint32_t) {
  hot->run = 0;  // what was left of it is counted in the caller's copy
  return thread_of(hot).value(address, size);
}

void __dh_rep_nothing_slow(DhReplay* hot) { thread_of(hot).nothing(); }

void __dh_rep_invisible_slow(DhReplay* hot, std::uint64_t, std::uint32_t) { thread_of(hot).invisible(); }

void __dh_rep_observe_invisible(DhReplay* hot, std::uint64_t target, std::uint32_t site) {
  hot->site = site;
  if (hot->wants_calls == 0) return;
  CallWord arguments[kDhMaxArguments];
  const std::uint32_t count = hot->argument_count;
  for (std::uint32_t i = 0; i < count; ++i)
    arguments[i] = {hot->arguments[i], (hot->argument_pointers >> i & 1) != 0};
  hot->argument_count = 0;
  hot->argument_pointers = 0;
  thread_of(hot).invisible_begins();
  World::current()->notify([&](Observer& observer) {
    observer.on_invisible_call(thread_of(hot).id(), Address(target), SiteId(site));
    observer.on_invisible_arguments(thread_of(hot).id(), SiteId(site), std::span(arguments, count));
  });
  if (hot->flow != nullptr)
    static_cast<Flow*>(hot->flow)->begin_call(*hot, thread_of(hot).id(), SiteId(site), Address(target),
                                              World::current()->observers());
}

void __dh_rep_observe_invisible_end(DhReplay* hot) { thread_of(hot).invisible_ends(); }

void* __dh_rep_target_slow(std::uint64_t target, DhTargetCache* cache) {
  Status status = Nothing{};
  void* const code = World::current()->program().code_at(Address(target), status);
  if (!status) thread_of(__dh_replay).fail(status.error().message);
  cache->address = target;
  cache->code = code;
  cache->returns_nothing = World::current()->program().returns_nothing(Address(target)) ? 1 : 0;
  return code;
}

void* __dh_rep_compile(DhInstance* header, std::uint64_t index) {
  auto& instance = *static_cast<Instance*>(header->owner);
  Status status = Nothing{};
  void* const code = instance.program->compile(instance, index, status);
  if (!status) thread_of(__dh_replay).fail(status.error().message);
  return code;
}

void __dh_rep_observe(DhReplay* hot, std::uint64_t address, std::uint64_t value, std::uint32_t size_and_flags,
                      std::uint32_t site) {
  hot->site = site;
  if (hot->fault != 0 && (size_and_flags & kDhAccessWrite) != 0)
    thread_of(hot).fault_at_store(address, value, size_and_flags & 0xff);
  const Access access{thread_of(hot).id(),
                      SiteId(site),
                      Address(address),
                      size_and_flags & 0xff,
                      value,
                      (size_and_flags & kDhAccessWrite) != 0,
                      (size_and_flags & kDhAccessAtomic) != 0,
                      (size_and_flags & kDhAccessSequenced) != 0};
  const std::vector<Observer*>& observers = World::current()->observers();
  if (hot->flow != nullptr) return static_cast<Flow*>(hot->flow)->access(*hot, access, observers);
  for (Observer* observer : observers) observer->on_access(access);
}

std::uint32_t __dh_rep_join_slow(DhReplay* hot, std::uint32_t a, std::uint32_t b) {
  return static_cast<Flow*>(hot->flow)->labels.join(Label(a), Label(b)).value();
}

void __dh_rep_observe_branch(DhReplay* hot, std::uint32_t label, std::uint32_t site) {
  for (Observer* observer : World::current()->observers())
    observer->on_branch(thread_of(hot).id(), SiteId(site), Label(label));
}

void __dh_rep_observe_enter(DhReplay* hot, DhInstance* header, std::uint64_t function) {
  const FunctionId id{static_cast<Instance*>(header->owner)->number, static_cast<std::uint32_t>(function)};
  const Thread& thread = thread_of(hot);
  World::current()->notify(
      [&](Observer& observer) { observer.on_enter(thread.id(), id, thread.call_site()); });
}

namespace deadheat::replay {

namespace {

template <class Function>
SlowHook same(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function), reinterpret_cast<void*>(function)};
}

template <class Function>
SlowHook hook(const char* name, Function* bare, Function* observed) {
  return {name, reinterpret_cast<void*>(bare), reinterpret_cast<void*>(observed)};
}

}  // namespace

std::span<const SlowHook> slow_hooks() {
  static const SlowHook hooks[] = {
      same("__dh_replay", &__dh_replay),
      same("__dh_rep_value_slow", &__dh_rep_value_slow),
      same("__dh_rep_nothing_slow", &__dh_rep_nothing_slow),
      same("__dh_rep_invisible_slow", &__dh_rep_invisible_slow),
      same("__dh_rep_observe_invisible", &__dh_rep_observe_invisible),
      same("__dh_rep_observe_invisible_end", &__dh_rep_observe_invisible_end),
      same("__dh_rep_target_slow", &__dh_rep_target_slow),
      same("__dh_rep_compile", &__dh_rep_compile),
      same("__dh_rep_observe", &__dh_rep_observe),
      same("__dh_rep_observe_enter", &__dh_rep_observe_enter),
      same("__dh_rep_join_slow", &__dh_rep_join_slow),
      same("__dh_rep_observe_branch", &__dh_rep_observe_branch),
      same("__dh_rep_copy_labels", &copy_labels),
      same("__dh_rep_fence", &fence),
      same("__dh_rep_resume", &resume),
      same("__dh_rep_unreachable", &unreachable),
      same("__dh_rep_jump_buffer", &jump_buffer),
      same("__dh_rep_local", &local),
      same("__dh_rep_local_end", &local_end),
      hook("__dh_rep_load_any", &load_any<false>, &load_any<true>),
      hook("__dh_rep_store_any", &store_any<false>, &store_any<true>),
      hook("__dh_rep_copy", &copy, &shapes::copy<Steps<true>>),
      hook("__dh_rep_fill", &fill, &shapes::fill<Steps<true>>),
      hook("__dh_rep_atomic", &shapes::atomic<Steps<false>>, &shapes::atomic<Steps<true>>),
      hook("__dh_rep_atomic16", &shapes::atomic16<Steps<false>>, &shapes::atomic16<Steps<true>>),
  };
  return hooks;
}

}  // namespace deadheat::replay
