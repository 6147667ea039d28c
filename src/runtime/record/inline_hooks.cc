// The bodies of the record lane's hot hooks: what every load, store and call of a recorded program executes.
//
// Compiled twice: into the runtime, and to bitcode that the plugin inlines into the program. It may therefore
// use nothing but record_abi.h.
#include "runtime/record_abi.h"

#define DH_ALWAYS_INLINE static inline __attribute__((always_inline))

namespace {

// An access that is not known to be aligned may cross into the next granule: that is the slow path's
// business.
template <class T, bool kMayCross>
DH_ALWAYS_INLINE bool is_known(const DhRecord* record, uint64_t address) {
  uint64_t const granule = address >> 3;
  bool const within = !kMayCross || (address & 7) <= 8 - sizeof(T);
  return within && record->tags[granule & (kDhGranules - 1)] == dh_tag_of(granule);
}

template <class T>
DH_ALWAYS_INLINE T* image_of(const DhRecord* record, uint64_t address) {
  return reinterpret_cast<T*>(record->image + (address & kDhImageMask));
}

template <class T, bool kMayCross = false>
DH_ALWAYS_INLINE void load(uint64_t address, uint64_t value) {
  DhRecord* const record = __dh_record;
  if (__builtin_expect(
          is_known<T, kMayCross>(record, address) && *image_of<T>(record, address) == static_cast<T>(value),
          1)) {
    ++record->run;
    return;
  }
  __dh_rec_load_slow(record, address, value, sizeof(T));
}

template <class T, bool kMayCross = false>
DH_ALWAYS_INLINE void store(void* at, uint64_t value) {
  auto const address = reinterpret_cast<uint64_t>(at);
  DhRecord* const record = __dh_record;
  record->hash = dh_record_mix(record->hash, address, value);
  if (__builtin_expect(is_known<T, kMayCross>(record, address), 1)) {
    *image_of<T>(record, address) = static_cast<T>(value);
    return;
  }
  __dh_rec_store_slow(record, address, value, sizeof(T));
}

}  // namespace

void __dh_rec_load1(const void* address, uint64_t value) {
  load<uint8_t>(reinterpret_cast<uint64_t>(address), value);
}
void __dh_rec_load2(const void* address, uint64_t value) {
  load<uint16_t>(reinterpret_cast<uint64_t>(address), value);
}
void __dh_rec_load4(const void* address, uint64_t value) {
  load<uint32_t>(reinterpret_cast<uint64_t>(address), value);
}
void __dh_rec_load8(const void* address, uint64_t value) {
  load<uint64_t>(reinterpret_cast<uint64_t>(address), value);
}
void __dh_rec_load_any2(const void* address, uint64_t value) {
  load<uint16_t, true>(reinterpret_cast<uint64_t>(address), value);
}
void __dh_rec_load_any4(const void* address, uint64_t value) {
  load<uint32_t, true>(reinterpret_cast<uint64_t>(address), value);
}
void __dh_rec_load_any8(const void* address, uint64_t value) {
  load<uint64_t, true>(reinterpret_cast<uint64_t>(address), value);
}
void __dh_rec_opaque(uint64_t site, uint64_t value) { load<uint64_t>(site, value); }
void __dh_rec_nothing() { ++__dh_record->run; }

void __dh_rec_store1(void* address, uint64_t value) { store<uint8_t>(address, value); }
void __dh_rec_store2(void* address, uint64_t value) { store<uint16_t>(address, value); }
void __dh_rec_store4(void* address, uint64_t value) { store<uint32_t>(address, value); }
void __dh_rec_store8(void* address, uint64_t value) { store<uint64_t>(address, value); }

void __dh_rec_store_any2(void* address, uint64_t value) { store<uint16_t, true>(address, value); }
void __dh_rec_store_any4(void* address, uint64_t value) { store<uint32_t, true>(address, value); }
void __dh_rec_store_any8(void* address, uint64_t value) { store<uint64_t, true>(address, value); }

// The cache holds the target seen last, and in its highest bit, which no address uses, the answer.
uint32_t __dh_rec_is_visible(const void* target, uint64_t* cache) {
  uint64_t const seen = *cache;
  if (__builtin_expect(seen != 0 && (seen ^ reinterpret_cast<uint64_t>(target)) << 1 == 0, 1))
    return static_cast<uint32_t>(seen >> 63);
  return __dh_rec_is_visible_slow(target, cache);
}

void __dh_rec_call_begin(uint32_t is_visible) {
  DhRecord* const record = __dh_record;
  record->invisible = is_visible ^ 1;
  // Not before a visible call: nothing there marks the place, and a replay would run the handler later.
  if (__builtin_expect(record->attention != 0, 0) && is_visible == 0) __dh_rec_attend(record);
}
void __dh_rec_call_end() { __dh_record->invisible = 0; }

uint32_t __dh_rec_is_off() { return __dh_record->is_off; }
uint32_t __dh_rec_is_callback() { return __dh_record->invisible; }
uint32_t __dh_rec_depth() { return __dh_record->depth; }
void __dh_rec_set_depth(uint32_t depth) { __dh_record->depth = depth; }
