// Places of the C++ library that hold one pointer for the whole program: the handlers of new, terminate and
// unexpected, and the default memory resource. The standard says that setting one is ordered before the calls
// that get what was set. Setting is an exchange: it gets what was there as well.
//
// Getting is done by the library itself, too, at every throw, so it tells nothing before somebody has set.
//
// Where the library is linked in statically, nothing but these calls may ask for the part of it that has the
// place. Then that part is not there, and the place is ours.
#include <stdlib.h>

#include "runtime/interpose/cxx_library.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

struct Place {
  void* value;  // if it is ours
  bool was_set;
};
using Set = void*(void*);
using Get = void*();

void* set(Place* place, Set* real, void* value) {
  lane::release(place);
  __atomic_store_n(&place->was_set, true, __ATOMIC_RELAXED);
  void* const before =
      real != nullptr ? real(value) : __atomic_exchange_n(&place->value, value, __ATOMIC_ACQ_REL);
  lane::acquire(place);
  return before;
}

void* get(Place* place, Get* real) {
  void* const value = real != nullptr ? real() : __atomic_load_n(&place->value, __ATOMIC_ACQUIRE);
  if (__atomic_load_n(&place->was_set, __ATOMIC_RELAXED)) lane::acquire(place);
  return value;
}

// --- The default memory resource, if it is ours: what std::pmr::new_delete_resource() does.

void destroy(void*) {}
void* allocate(void*, size_t size, size_t alignment) {
  void* block = nullptr;
  // Throwing is not ours to do.
  if (posix_memalign(&block, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) != 0) abort();
  return block;
}
void deallocate(void*, void* block, size_t, size_t) { free(block); }
bool is_equal(const void* self, const void* other) { return self == other; }

// The object's table begins after the offset and the type.
const struct {
  size_t offset;
  const void* type;
  void (*destroy[2])(void*);
  void* (*allocate)(void*, size_t, size_t);
  void (*deallocate)(void*, void*, size_t, size_t);
  bool (*is_equal)(const void*, const void*);
} resource_functions = {0, nullptr, {destroy, destroy}, allocate, deallocate, is_equal};
const void* resource = &resource_functions.destroy;

Place new_handler;
Place terminate_handler;
Place unexpected_handler;
Place default_resource = {&resource, false};

}  // namespace

#define PLACE(place, setter, getter)                                                                \
  WEAK_REAL(void*, setter, void* value);                                                            \
  WEAK_REAL(void*, getter, void);                                                                   \
  INTERPOSE_ONLY(void*, setter, void* value) { return set(&(place), REAL_OR_NULL(setter), value); } \
  INTERPOSE_ONLY(void*, getter, void) { return get(&(place), REAL_OR_NULL(getter)); }
PLACE(new_handler, _ZSt15set_new_handlerPFvvE, _ZSt15get_new_handlerv)
PLACE(terminate_handler, _ZSt13set_terminatePFvvE, _ZSt13get_terminatev)
PLACE(unexpected_handler, _ZSt14set_unexpectedPFvvE, _ZSt14get_unexpectedv)

WEAK_REAL(void*, _ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE, void* value);
WEAK_REAL(void*, _ZNSt3pmr20get_default_resourceEv, void);
INTERPOSE_ONLY(void*, _ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE, void* value) {
  auto* const real = REAL_OR_NULL(_ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE);
  if (real == nullptr && value == nullptr) value = &resource;
  return set(&default_resource, real, value);
}
INTERPOSE_ONLY(void*, _ZNSt3pmr20get_default_resourceEv, void) {
  return get(&default_resource, REAL_OR_NULL(_ZNSt3pmr20get_default_resourceEv));
}
