// The bodies of the record lane's hot hooks: what every load, store and call of a recorded program executes.
//
// Compiled twice: into the runtime, and to bitcode that the plugin inlines into the program. It may therefore
// use nothing but record_abi.h and value_hooks.h.
#include "runtime/record/value_hooks.h"

using namespace deadheat::record;

#define DH_AT \
  Copies { *record, *run, *hash }
#define DH_NUMBER(pointer) reinterpret_cast<uint64_t>(pointer)

void __dh_rec_reload(DH_COPIES) { reload(DH_AT); }

void __dh_rec_load1(const void* address, uint64_t value, DH_COPIES) {
  load<uint8_t>(DH_NUMBER(address), value, DH_AT);
}
void __dh_rec_load2(const void* address, uint64_t value, DH_COPIES) {
  load<uint16_t>(DH_NUMBER(address), value, DH_AT);
}
void __dh_rec_load4(const void* address, uint64_t value, DH_COPIES) {
  load<uint32_t>(DH_NUMBER(address), value, DH_AT);
}
void __dh_rec_load8(const void* address, uint64_t value, DH_COPIES) {
  load<uint64_t>(DH_NUMBER(address), value, DH_AT);
}
void __dh_rec_opaque(uint64_t site, uint64_t value, DH_COPIES) { load<uint64_t>(site, value, DH_AT); }
void __dh_rec_nothing(DH_COPIES) {
  (void)hash;
  (*record)->run = ++*run;
}

void __dh_rec_store1(void* address, uint64_t value, DH_COPIES) {
  store<uint8_t>(DH_NUMBER(address), value, DH_AT);
}
void __dh_rec_store2(void* address, uint64_t value, DH_COPIES) {
  store<uint16_t>(DH_NUMBER(address), value, DH_AT);
}
void __dh_rec_store4(void* address, uint64_t value, DH_COPIES) {
  store<uint32_t>(DH_NUMBER(address), value, DH_AT);
}
void __dh_rec_store8(void* address, uint64_t value, DH_COPIES) {
  store<uint64_t>(DH_NUMBER(address), value, DH_AT);
}

void __dh_rec_load16(const void* address, DhPair value, DH_COPIES) {
  load_words<1, true>(DH_NUMBER(address), {{value}}, DH_AT);
}
void __dh_rec_load32(const void* address, DhPair low, DhPair high, DH_COPIES) {
  load_words<2, true>(DH_NUMBER(address), {{low, high}}, DH_AT);
}
void __dh_rec_load_any16(const void* address, DhPair value, DH_COPIES) {
  load_words<1, false>(DH_NUMBER(address), {{value}}, DH_AT);
}
void __dh_rec_load_any32(const void* address, DhPair low, DhPair high, DH_COPIES) {
  load_words<2, false>(DH_NUMBER(address), {{low, high}}, DH_AT);
}
void __dh_rec_store16(void* address, DhPair value, DH_COPIES) {
  store_words<1, true>(DH_NUMBER(address), {{value}}, DH_AT);
}
void __dh_rec_store32(void* address, DhPair low, DhPair high, DH_COPIES) {
  store_words<2, true>(DH_NUMBER(address), {{low, high}}, DH_AT);
}
void __dh_rec_store_any16(void* address, DhPair value, DH_COPIES) {
  store_words<1, false>(DH_NUMBER(address), {{value}}, DH_AT);
}
void __dh_rec_store_any32(void* address, DhPair low, DhPair high, DH_COPIES) {
  store_words<2, false>(DH_NUMBER(address), {{low, high}}, DH_AT);
}

uint64_t __dh_rec_relaxed_load1(void* address, DH_COPIES) { return relaxed_load<uint8_t>(address, DH_AT); }
uint64_t __dh_rec_relaxed_load2(void* address, DH_COPIES) { return relaxed_load<uint16_t>(address, DH_AT); }
uint64_t __dh_rec_relaxed_load4(void* address, DH_COPIES) { return relaxed_load<uint32_t>(address, DH_AT); }
uint64_t __dh_rec_relaxed_load8(void* address, DH_COPIES) { return relaxed_load<uint64_t>(address, DH_AT); }

// The cache holds the target seen last, and in its highest two bits, which no address uses, the answer.
uint32_t __dh_rec_is_visible(const void* target, uint64_t* cache) {
  uint64_t const seen = *cache;
  if (__builtin_expect(seen != 0 && (seen ^ reinterpret_cast<uint64_t>(target)) << 2 == 0, 1))
    return static_cast<uint32_t>(seen >> 62);
  return __dh_rec_is_visible_slow(target, cache);
}

// From `invisible` on, and until it is reset, a signal's handler may run and count on: what was counted
// before must be in memory by then, and is read from there no earlier than afterwards.
void __dh_rec_call_begin(uint32_t is_visible) {
  DhRecord* const record = __dh_record;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  record->invisible = is_visible ^ 1;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  // Not before a visible call: nothing there marks the place, and a replay would run the handler later.
  if (__builtin_expect(record->attention != 0, 0) && is_visible == 0) __dh_rec_attend(record);
}
void __dh_rec_call_end() {
  __dh_record->invisible = 0;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

uint32_t __dh_rec_is_off() { return __dh_record->is_off; }
uint32_t __dh_rec_is_callback() { return __dh_record->invisible; }
uint32_t __dh_rec_depth() { return __dh_record->depth; }
void __dh_rec_set_depth(uint32_t depth) { __dh_record->depth = depth; }
