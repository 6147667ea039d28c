// The hot hooks of a replay, compiled to bitcode and inlined into mirrored code: with DEADHEAT_OBSERVED 0,
// with 1, and with DEADHEAT_LIVE 1 as well; and the first two with DEADHEAT_TAGGED 1, for old recordings.
#include "replay/hook_bodies.h"

using namespace deadheat::replay::bodies;

#define DH_AT \
  Copies { thread, *run, *hash, *stores }

namespace {
constexpr bool kObserved = DEADHEAT_OBSERVED;
constexpr bool kLive = DEADHEAT_LIVE;

template <uint32_t kSize>
DH_BODY uint64_t load_here(Copies at, uint64_t address, uint32_t site) {
  return kLive ? __dh_rep_live_load(at.thread, address, kSize, site)
               : load<kObserved>(at, address, kSize, site);
}

template <uint32_t kSize>
DH_BODY void store_here(Copies at, uint64_t address, uint64_t value, uint32_t site) {
  if (kLive)
    __dh_rep_live_store(at.thread, address, value, kSize, site);
  else
    store<kObserved>(at, address, value, kSize, site);
}

// Not known to be aligned: inline as long as they are one value.
template <uint32_t kSize>
DH_BODY uint64_t load_unaligned(Copies at, uint64_t address, uint32_t site) {
  if (kLive || is_likely(!is_split(at.thread, address, kSize))) return load_here<kSize>(at, address, site);
  flush(at);
  const uint64_t value = __dh_rep_load_any(at.thread, address, kSize, site);
  reload(at);
  return value;
}

template <uint32_t kSize>
DH_BODY void store_unaligned(Copies at, uint64_t address, uint64_t value, uint32_t site) {
  if (kLive || is_likely(!is_split(at.thread, address, kSize)))
    return store_here<kSize>(at, address, value, site);
  flush(at);
  __dh_rep_store_any(at.thread, address, value, kSize, site);
  reload(at);
}

template <uint32_t kSize>
DH_BODY uint64_t atomic_load(Copies at, uint64_t address, uint32_t site) {
  if (is_likely(at.run != 0)) {
    --at.run;
    return peek(at.thread, address, kSize);
  }
  flush(at);
  const uint64_t value = __dh_rep_atomic(at.thread, address, 0, 0, kDhAtomicLoad, kSize, site);
  reload(at);
  return value;
}
}  // namespace

void __dh_rep_flush(DH_REPLAY_COPIES) {
  if (!kLive) flush(DH_AT);
}
void __dh_rep_reload(DH_REPLAY_COPIES) {
  if (!kLive) reload(DH_AT);
}
void __dh_rep_flush_run(DH_REPLAY_COPIES) {
  (void)hash;
  (void)stores;
  if (!kLive) *const_cast<volatile uint64_t*>(&thread->run) = *run;
}

uint64_t __dh_rep_load1(DH_REPLAY_COPIES, uint64_t a, uint32_t site) { return load_here<1>(DH_AT, a, site); }
uint64_t __dh_rep_load2(DH_REPLAY_COPIES, uint64_t a, uint32_t site) { return load_here<2>(DH_AT, a, site); }
uint64_t __dh_rep_load4(DH_REPLAY_COPIES, uint64_t a, uint32_t site) { return load_here<4>(DH_AT, a, site); }
uint64_t __dh_rep_load8(DH_REPLAY_COPIES, uint64_t a, uint32_t site) { return load_here<8>(DH_AT, a, site); }
uint64_t __dh_rep_load_any2(DH_REPLAY_COPIES, uint64_t a, uint32_t site) {
  return load_unaligned<2>(DH_AT, a, site);
}
uint64_t __dh_rep_load_any4(DH_REPLAY_COPIES, uint64_t a, uint32_t site) {
  return load_unaligned<4>(DH_AT, a, site);
}
uint64_t __dh_rep_load_any8(DH_REPLAY_COPIES, uint64_t a, uint32_t site) {
  return load_unaligned<8>(DH_AT, a, site);
}

void __dh_rep_store1(DH_REPLAY_COPIES, uint64_t a, uint64_t v, uint32_t site) {
  store_here<1>(DH_AT, a, v, site);
}
void __dh_rep_store2(DH_REPLAY_COPIES, uint64_t a, uint64_t v, uint32_t site) {
  store_here<2>(DH_AT, a, v, site);
}
void __dh_rep_store4(DH_REPLAY_COPIES, uint64_t a, uint64_t v, uint32_t site) {
  store_here<4>(DH_AT, a, v, site);
}
void __dh_rep_store8(DH_REPLAY_COPIES, uint64_t a, uint64_t v, uint32_t site) {
  store_here<8>(DH_AT, a, v, site);
}
void __dh_rep_store_any2(DH_REPLAY_COPIES, uint64_t a, uint64_t v, uint32_t site) {
  store_unaligned<2>(DH_AT, a, v, site);
}
void __dh_rep_store_any4(DH_REPLAY_COPIES, uint64_t a, uint64_t v, uint32_t site) {
  store_unaligned<4>(DH_AT, a, v, site);
}
void __dh_rep_store_any8(DH_REPLAY_COPIES, uint64_t a, uint64_t v, uint32_t site) {
  store_unaligned<8>(DH_AT, a, v, site);
}
void __dh_rep_store_vptr(DH_REPLAY_COPIES, uint64_t a, uint64_t v, uint32_t site) {
  if (kLive) return __dh_rep_live_store(thread, a, v, 8, site);
  store_vptr<kObserved>(DH_AT, a, v, site);
}
void __dh_rep_mix(DH_REPLAY_COPIES, uint64_t a, uint64_t v) {
  (void)run;
  mix(DH_AT, a, v);
}
void __dh_rep_mix2(DH_REPLAY_COPIES, uint64_t address, uint64_t a, uint64_t b) {
  (void)run;
  mix2(DH_AT, address, a, b);
}

uint64_t __dh_rep_atomic_load1(DH_REPLAY_COPIES, uint64_t a, uint32_t site) {
  return atomic_load<1>(DH_AT, a, site);
}
uint64_t __dh_rep_atomic_load2(DH_REPLAY_COPIES, uint64_t a, uint32_t site) {
  return atomic_load<2>(DH_AT, a, site);
}
uint64_t __dh_rep_atomic_load4(DH_REPLAY_COPIES, uint64_t a, uint32_t site) {
  return atomic_load<4>(DH_AT, a, site);
}
uint64_t __dh_rep_atomic_load8(DH_REPLAY_COPIES, uint64_t a, uint32_t site) {
  return atomic_load<8>(DH_AT, a, site);
}

uint64_t __dh_rep_opaque(DH_REPLAY_COPIES, uint64_t pseudo_address) {
  return value(DH_AT, pseudo_address, 8, 0);
}

void __dh_rep_nothing(DH_REPLAY_COPIES) {
  if (kLive) return __dh_rep_live_nothing(thread);
  if (is_likely(*run != 0)) {
    --*run;
    return;
  }
  flush(DH_AT);
  __dh_rep_nothing_slow(thread);
  reload(DH_AT);
}

void __dh_rep_invisible(DH_REPLAY_COPIES, uint64_t target, uint32_t site) {
  if (kLive) return __dh_rep_live_invisible(thread, target, site);
  if (kObserved) __dh_rep_observe_invisible(thread, target, site);
  if (*run == 0) {
    flush(DH_AT);
    __dh_rep_invisible_slow(thread, target, site);
    reload(DH_AT);
  }
  if (kObserved && thread->wants_calls != 0) __dh_rep_observe_invisible_end(thread);
}

void __dh_rep_argument(DhReplay* t, uint64_t word, uint32_t is_pointer) {
  if (!kObserved || t->wants_calls == 0 || t->argument_count == kDhMaxArguments) return;
  t->argument_pointers |= static_cast<uint64_t>(is_pointer) << t->argument_count;
  t->arguments[t->argument_count++] = word;
}

void* __dh_rep_target(uint64_t target, DhTargetCache* cache) {
  if (is_likely(cache->address == target)) return cache->code;
  return __dh_rep_target_slow(target, cache);
}

uint32_t __dh_rep_returns_nothing(const DhTargetCache* cache) { return cache->returns_nothing != 0 ? 1 : 0; }

void* __dh_rep_code(DhInstance* instance, void** code, uint64_t index) {
  if (void* known = code[index]; is_likely(known != nullptr)) return known;
  return __dh_rep_compile(instance, index);
}

uint32_t __dh_rep_enter(DhReplay* t, DhInstance* instance, uint64_t function) {
  if (!kObserved) return 0;
  if (kLive) __dh_rep_live_enter(t);
  if (t->wants_calls != 0) __dh_rep_observe_enter(t, instance, function);
  return t->frame;
}

void __dh_rep_call_begin(DhReplay* t, uint32_t frame, uint32_t site) {
  if (!kObserved) return;
  if (frame < kDhMaxFrames) t->frames[frame] = site;
  t->frame = frame + 1;
}

void __dh_rep_call_end(DhReplay* t, uint32_t frame) {
  if (kObserved) t->frame = frame;
}

// Labels: nearly all are 0.
uint32_t __dh_rep_join(DhReplay* t, uint32_t a, uint32_t b) {
  if (a == b || b == 0) return a;
  return a == 0 ? b : __dh_rep_join_slow(t, a, b);
}

uint32_t __dh_rep_gather(DhReplay* t, const uint32_t* labels, uint32_t count) {
  uint32_t all = labels[0];
  for (uint32_t i = 1; i < count; ++i) all = __dh_rep_join(t, all, labels[i]);
  return all;
}

void __dh_rep_spread(uint32_t* labels, uint32_t count, uint32_t label) {
  for (uint32_t i = 0; i < count; ++i) labels[i] = label;
}

void __dh_rep_branch(DhReplay* t, uint32_t label, uint32_t site) {
  if (label != 0) __dh_rep_observe_branch(t, label, site);
}
