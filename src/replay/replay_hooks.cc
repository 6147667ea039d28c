// The hot hooks of a replay, compiled to bitcode and inlined into mirrored code: with DEADHEAT_OBSERVED 0,
// with 1, and with DEADHEAT_LIVE 1 as well.
#include "replay/hook_bodies.h"

using namespace deadheat::replay::bodies;

namespace {
constexpr bool kObserved = DEADHEAT_OBSERVED;
constexpr bool kLive = DEADHEAT_LIVE;

DH_BODY uint64_t load_here(DhReplay* t, uint64_t a, uint32_t size, uint32_t site) {
  return kLive ? __dh_rep_live_load(t, a, size, site) : load<kObserved>(t, a, size, site);
}
DH_BODY void store_here(DhReplay* t, uint64_t a, uint64_t v, uint32_t size, uint32_t site) {
  if (kLive)
    __dh_rep_live_store(t, a, v, size, site);
  else
    store<kObserved>(t, a, v, size, site);
}
}  // namespace

uint64_t __dh_rep_load1(DhReplay* t, uint64_t a, uint32_t site) { return load_here(t, a, 1, site); }
uint64_t __dh_rep_load2(DhReplay* t, uint64_t a, uint32_t site) { return load_here(t, a, 2, site); }
uint64_t __dh_rep_load4(DhReplay* t, uint64_t a, uint32_t site) { return load_here(t, a, 4, site); }
uint64_t __dh_rep_load8(DhReplay* t, uint64_t a, uint32_t site) { return load_here(t, a, 8, site); }

void __dh_rep_store1(DhReplay* t, uint64_t a, uint64_t v, uint32_t site) { store_here(t, a, v, 1, site); }
void __dh_rep_store2(DhReplay* t, uint64_t a, uint64_t v, uint32_t site) { store_here(t, a, v, 2, site); }
void __dh_rep_store4(DhReplay* t, uint64_t a, uint64_t v, uint32_t site) { store_here(t, a, v, 4, site); }
void __dh_rep_store8(DhReplay* t, uint64_t a, uint64_t v, uint32_t site) { store_here(t, a, v, 8, site); }

void __dh_rep_store_vptr(DhReplay* t, uint64_t a, uint64_t v, uint32_t site) {
  if (kLive) return __dh_rep_live_store(t, a, v, 8, site);
  store_vptr<kObserved>(t, a, v, site);
}

// Not known to be aligned: inline as long as they do not cross into the next granule.
namespace {

template <uint32_t kSize>
DH_BODY uint64_t load_unaligned(DhReplay* t, uint64_t a, uint32_t site) {
  if (kLive || is_likely((a & 7) <= 8 - kSize)) return load_here(t, a, kSize, site);
  return __dh_rep_load_any(t, a, kSize, site);
}

template <uint32_t kSize>
DH_BODY void store_unaligned(DhReplay* t, uint64_t a, uint64_t v, uint32_t site) {
  if (kLive || is_likely((a & 7) <= 8 - kSize))
    store_here(t, a, v, kSize, site);
  else
    __dh_rep_store_any(t, a, v, kSize, site);
}

}  // namespace

uint64_t __dh_rep_load_any2(DhReplay* t, uint64_t a, uint32_t site) { return load_unaligned<2>(t, a, site); }
uint64_t __dh_rep_load_any4(DhReplay* t, uint64_t a, uint32_t site) { return load_unaligned<4>(t, a, site); }
uint64_t __dh_rep_load_any8(DhReplay* t, uint64_t a, uint32_t site) { return load_unaligned<8>(t, a, site); }
void __dh_rep_store_any2(DhReplay* t, uint64_t a, uint64_t v, uint32_t site) {
  store_unaligned<2>(t, a, v, site);
}
void __dh_rep_store_any4(DhReplay* t, uint64_t a, uint64_t v, uint32_t site) {
  store_unaligned<4>(t, a, v, site);
}
void __dh_rep_store_any8(DhReplay* t, uint64_t a, uint64_t v, uint32_t site) {
  store_unaligned<8>(t, a, v, site);
}

uint64_t __dh_rep_opaque(DhReplay* t, uint64_t pseudo_address) { return value(t, pseudo_address, 8, 0); }

void __dh_rep_nothing(DhReplay* t) {
  if (kLive) return __dh_rep_live_nothing(t);
  if (is_likely(t->run != 0))
    --t->run;
  else
    __dh_rep_nothing_slow(t);
}

void __dh_rep_invisible(DhReplay* t, uint64_t target, uint32_t site) {
  if (kLive) return __dh_rep_live_invisible(t, target, site);
  if (kObserved) __dh_rep_observe_invisible(t, target, site);
  if (t->run == 0) __dh_rep_invisible_slow(t, target, site);
  if (kObserved && t->wants_calls != 0) __dh_rep_observe_invisible_end(t);
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
