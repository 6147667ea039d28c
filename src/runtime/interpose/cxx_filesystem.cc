// What copies of std::filesystem's objects share: the paths of
// filesystem_error.
//
// Each has a shared_ptr and lets go of it inside of the library, where nothing
// is called by name. So it is held until the library has let go; then letting
// go is ours, which is ordered before the end of what is shared.
#include "runtime/interpose/cxx_library.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {
struct SharedCount {
  void (**functions)(SharedCount*);  // two destructors, _M_dispose, _M_destroy
  int owners;
  int observers;
};
// After what std::system_error has.
struct FilesystemError {
  void* vtable;
  char* text;
  void* code[2];
  void* paths;
  SharedCount* count;
};

void let_go(SharedCount* count) {
  lane::release(count);
  int owners = __atomic_load_n(&count->owners, __ATOMIC_ACQUIRE);
  while (owners > 1) {
    if (__atomic_compare_exchange_n(&count->owners, &owners, owners - 1, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return;
  }
  lane::acquire(count);
  __atomic_store_n(&count->owners, 0, __ATOMIC_RELAXED);
  count->functions[2](count);
  if (__atomic_fetch_sub(&count->observers, 1, __ATOMIC_ACQ_REL) == 1) count->functions[3](count);
}

void destroy(FilesystemError* self, void (*destructor)(FilesystemError*)) {
  SharedCount* const count = self->count;
  if (count != nullptr) __atomic_fetch_add(&count->owners, 1, __ATOMIC_RELAXED);
  existing(destructor, "std::filesystem::filesystem_error")(self);
  if (count != nullptr) let_go(count);
}
}  // namespace

WEAK_REAL(void, _ZNSt10filesystem7__cxx1116filesystem_errorD1Ev, FilesystemError* self);
WEAK_REAL(void, _ZNSt10filesystem7__cxx1116filesystem_errorD2Ev, FilesystemError* self);

INTERPOSE_ONLY(void, _ZNSt10filesystem7__cxx1116filesystem_errorD1Ev, FilesystemError* self) {
  destroy(self, REAL_OR_NULL(_ZNSt10filesystem7__cxx1116filesystem_errorD1Ev));
}
INTERPOSE_ONLY(void, _ZNSt10filesystem7__cxx1116filesystem_errorD2Ev, FilesystemError* self) {
  destroy(self, REAL_OR_NULL(_ZNSt10filesystem7__cxx1116filesystem_errorD2Ev));
}
