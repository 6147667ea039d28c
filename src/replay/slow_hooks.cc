#include "replay/slow_hooks.h"

#include "replay/hook_bodies.h"
#include "replay/program.h"
#include "replay/thread.h"
#include "replay/world.h"

using namespace deadheat;
using namespace deadheat::replay;

DhReplay* __dh_replay = nullptr;

namespace {

Thread& thread_of(DhReplay* hot) { return *static_cast<Thread*>(hot->owner); }

std::uint64_t low_bytes(std::uint64_t value, std::uint32_t size) {
  return size >= 8 ? value : value & ((std::uint64_t{1} << (8 * size)) - 1);
}

// --- Up to 8 bytes anywhere: a granule's border splits them, as in the runtime (record/stream.cc)

std::uint64_t value_any(DhReplay* hot, std::uint64_t address, std::uint32_t size) {
  const std::uint32_t first = 8 - static_cast<std::uint32_t>(address & 7);
  if (size <= first) return bodies::value(hot, address, size, 0);
  const std::uint64_t low = bodies::value(hot, address, first, 0);
  return low | bodies::value(hot, address + first, size - first, 0) << (8 * first);
}

void put(DhReplay* hot, std::uint64_t address, std::uint64_t value, std::uint32_t size) {
  const std::uint32_t first = 8 - static_cast<std::uint32_t>(address & 7);
  if (size <= first) return bodies::poke(hot, address, value, size);
  bodies::poke(hot, address, value, first);
  bodies::poke(hot, address + first, value >> (8 * first), size - first);
}

template <bool kObserved>
std::uint64_t load_any(DhReplay* hot, std::uint64_t address, std::uint32_t size, std::uint32_t site) {
  const std::uint64_t value = value_any(hot, address, size);
  if (kObserved) __dh_rep_observe(hot, address, value, size, site);
  return value;
}

template <bool kObserved>
void store_any(DhReplay* hot, std::uint64_t address, std::uint64_t value, std::uint32_t size,
               std::uint32_t site) {
  value = low_bytes(value, size);
  if (kObserved) __dh_rep_observe(hot, address, value, size | kDhAccessWrite, site);
  hot->hash = dh_record_mix(hot->hash, address, value);
  ++hot->stores;
  put(hot, address, value, size);
}

// --- Copies and fills, in the steps of the runtime (record/hooks.cc)

template <bool kObserved>
void copy_step(DhReplay* hot, std::uint64_t to, std::uint64_t from, std::uint32_t size, std::uint32_t site) {
  const std::uint64_t value = load_any<kObserved>(hot, from, size, site);
  store_any<kObserved>(hot, to, value, size, site);
}

template <bool kObserved>
void copy(DhReplay* hot, std::uint64_t to, std::uint64_t from, std::uint64_t size, std::uint32_t may_overlap,
          std::uint32_t site) {
  const auto rest = static_cast<std::uint32_t>(size & 7);
  const std::uint64_t words = size & ~std::uint64_t{7};
  if (may_overlap != 0 && to > from && to < from + size) {
    if (rest != 0) copy_step<kObserved>(hot, to + words, from + words, rest, site);
    for (std::uint64_t at = words; at != 0; at -= 8)
      copy_step<kObserved>(hot, to + at - 8, from + at - 8, 8, site);
    return;
  }
  for (std::uint64_t at = 0; at != words; at += 8) copy_step<kObserved>(hot, to + at, from + at, 8, site);
  if (rest != 0) copy_step<kObserved>(hot, to + words, from + words, rest, site);
}

template <bool kObserved>
void fill(DhReplay* hot, std::uint64_t to, std::uint32_t byte, std::uint64_t size, std::uint32_t site) {
  const std::uint64_t word = (byte & 0xff) * UINT64_C(0x0101010101010101);
  const auto rest = static_cast<std::uint32_t>(size & 7);
  const std::uint64_t words = size & ~std::uint64_t{7};
  for (std::uint64_t at = 0; at != words; at += 8) store_any<kObserved>(hot, to + at, word, 8, site);
  if (rest != 0) store_any<kObserved>(hot, to + words, word, rest, site);
}

// --- Atomics

std::uint64_t outcome_of(std::uint64_t before, std::uint64_t operand, std::uint32_t operation,
                         std::uint32_t size) {
  const unsigned unused = 64 - 8 * size;
  const auto as_signed = [&](std::uint64_t value) {
    return static_cast<std::int64_t>(value << unused) >> unused;
  };
  switch (operation) {
    case kDhAtomicAdd:
      return before + operand;
    case kDhAtomicSub:
      return before - operand;
    case kDhAtomicAnd:
      return before & operand;
    case kDhAtomicOr:
      return before | operand;
    case kDhAtomicXor:
      return before ^ operand;
    case kDhAtomicNand:
      return ~(before & operand);
    case kDhAtomicMax:
      return as_signed(before) < as_signed(operand) ? operand : before;
    case kDhAtomicMin:
      return as_signed(before) < as_signed(operand) ? before : operand;
    case kDhAtomicUMax:
      return low_bytes(before, size) < low_bytes(operand, size) ? operand : before;
    case kDhAtomicUMin:
      return low_bytes(before, size) < low_bytes(operand, size) ? before : operand;
    default:
      return operand;
  }
}

template <bool kObserved>
std::uint64_t atomic_load(DhReplay* hot, std::uint64_t address, std::uint32_t size, std::uint32_t site) {
  const std::uint64_t value = value_any(hot, address, size);
  if (kObserved) __dh_rep_observe(hot, address, value, size | kDhAccessAtomic, site);
  return value;
}

template <bool kObserved>
void atomic_store(DhReplay* hot, std::uint64_t address, std::uint64_t value, std::uint32_t size,
                  std::uint32_t site) {
  if (kObserved)
    __dh_rep_observe(hot, address, low_bytes(value, size), size | kDhAccessWrite | kDhAccessAtomic, site);
  store_any<false>(hot, address, value, size, site);
}

template <bool kObserved>
std::uint64_t atomic(DhReplay* hot, std::uint64_t address, std::uint64_t operand, std::uint64_t expected,
                     std::uint32_t operation, std::uint32_t size, std::uint32_t site) {
  thread_of(hot).atomic_sequencer(operation, SiteId(site));
  std::uint64_t before = 0;
  if (operation != kDhAtomicStore) before = atomic_load<kObserved>(hot, address, size, site);
  if (operation == kDhAtomicLoad) return before;
  if (operation == kDhAtomicCompareExchange && before != low_bytes(expected, size)) return before;
  atomic_store<kObserved>(hot, address, outcome_of(before, operand, operation, size), size, site);
  return before;
}

template <bool kObserved>
void atomic16(DhReplay* hot, std::uint64_t address, const std::uint64_t* expected,
              const std::uint64_t* desired, std::uint64_t* before, std::uint32_t operation,
              std::uint32_t site) {
  thread_of(hot).atomic_sequencer(operation, SiteId(site));
  if (operation != kDhAtomicStore) {
    before[0] = atomic_load<kObserved>(hot, address, 8, site);
    before[1] = atomic_load<kObserved>(hot, address + 8, 8, site);
  }
  if (operation == kDhAtomicLoad) return;
  if (operation == kDhAtomicCompareExchange && (before[0] != expected[0] || before[1] != expected[1])) return;
  atomic_store<kObserved>(hot, address, desired[0], 8, site);
  atomic_store<kObserved>(hot, address + 8, desired[1], 8, site);
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

void* jump_buffer(DhReplay* hot, std::uint64_t environment) {
  return thread_of(hot).jump_buffer(environment);
}

}  // namespace

// --- Slow paths of the hot hooks

std::uint64_t __dh_rep_value_slow(DhReplay* hot, std::uint64_t address, std::uint32_t size, std::uint32_t) {
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
}

void __dh_rep_observe_invisible_end(DhReplay* hot) { thread_of(hot).invisible_ends(); }

void* __dh_rep_target_slow(std::uint64_t target, DhTargetCache* cache) {
  Status status = Nothing{};
  void* const code = World::current()->program().code_at(Address(target), status);
  if (!status) thread_of(__dh_replay).fail(status.error().message);
  cache->address = target;
  cache->code = code;
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
  const Access access{thread_of(hot).id(),
                      SiteId(site),
                      Address(address),
                      size_and_flags & 0xff,
                      value,
                      (size_and_flags & kDhAccessWrite) != 0,
                      (size_and_flags & kDhAccessAtomic) != 0};
  for (Observer* observer : World::current()->observers()) observer->on_access(access);
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
      same("__dh_rep_fence", &fence),
      same("__dh_rep_resume", &resume),
      same("__dh_rep_unreachable", &unreachable),
      same("__dh_rep_jump_buffer", &jump_buffer),
      same("__dh_rep_local", &local),
      same("__dh_rep_local_end", &local_end),
      hook("__dh_rep_load_any", &load_any<false>, &load_any<true>),
      hook("__dh_rep_store_any", &store_any<false>, &store_any<true>),
      hook("__dh_rep_copy", &copy<false>, &copy<true>),
      hook("__dh_rep_fill", &fill<false>, &fill<true>),
      hook("__dh_rep_atomic", &atomic<false>, &atomic<true>),
      hook("__dh_rep_atomic16", &atomic16<false>, &atomic16<true>),
  };
  return hooks;
}

}  // namespace deadheat::replay
