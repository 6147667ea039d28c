// What copies of std::filesystem's objects share: the paths of filesystem_error, the open directory of
// directory_iterator, those of recursive_directory_iterator.
//
// Each has a shared_ptr and lets go of it inside of the library, where nothing is called by name. So it is
// held until the library has let go, if it is not the last; then letting go is ours, which is ordered before
// the end of what is shared. The program's own code may let go as well (~directory_iterator is in a header):
// the order goes through the count, as it does there.
//
// Going on in a directory may throw. What is held is let go of then, too: the frame that holds has a
// personality routine of its own (as in once.cc), since a C program has no C++ library's.
#include <unwind.h>

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
// Of both kinds.
struct DirectoryIterator {
  void* directories;
  SharedCount* count;
};

void let_go(SharedCount* count) {
  lane::release(&count->owners);
  int owners = __atomic_load_n(&count->owners, __ATOMIC_ACQUIRE);
  while (owners > 1) {
    if (__atomic_compare_exchange_n(&count->owners, &owners, owners - 1, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return;
  }
  lane::acquire(&count->owners);
  __atomic_store_n(&count->owners, 0, __ATOMIC_RELAXED);
  count->functions[2](count);
  if (__atomic_fetch_sub(&count->observers, 1, __ATOMIC_ACQ_REL) == 1) count->functions[3](count);
}

// What this thread holds, the innermost call first.
struct Held {
  SharedCount* count;
  Held* outer;
};
__thread Held* held;

void let_go_of_held() {
  SharedCount* const count = held->count;
  held = held->outer;
  let_go(count);
}

}  // namespace

// Asked about hold_across's frame only. The second time round, that frame is being left.
extern "C" __attribute__((visibility("hidden"), used)) _Unwind_Reason_Code
deadheat_held_unwinding(int, _Unwind_Action actions, uint64_t, _Unwind_Exception*, _Unwind_Context*) {
  if ((actions & _UA_CLEANUP_PHASE) != 0) let_go_of_held();
  return _URC_CONTINUE_UNWIND;
}

namespace {

// Members of the library with no more than one argument; some have no result.
using Member = void*(void* self, void* argument);

__attribute__((noinline)) void* hold_across(SharedCount* count, Member* member, void* self, void* argument) {
  // 0x1b: four bytes, relative to where they are.
  __asm__ volatile(".cfi_personality 0x1b, deadheat_held_unwinding");
  Held here = {count, held};
  held = &here;
  __atomic_fetch_add(&count->owners, 1, __ATOMIC_RELAXED);
  void* const result = member(self, argument);
  let_go_of_held();
  return result;
}

template <class Object>
void* call(Object* self, void* argument, Member* member) {
  SharedCount* const count = self->count;
  if (count == nullptr) return member(self, argument);
  if (__atomic_load_n(&count->owners, __ATOMIC_ACQUIRE) > 1)
    return hold_across(count, member, self, argument);
  // The last one. What is shared ends in the library, so that a report shows the program's line.
  lane::acquire(&count->owners);
  return member(self, argument);
}

}  // namespace

#define LETS_GO(Object, name)                         \
  WEAK_REAL(void*, name, void* self, void* argument); \
  INTERPOSE_ONLY(void*, name, Object* self, void* argument) { return call(self, argument, EXISTING(name)); }
LETS_GO(FilesystemError, _ZNSt10filesystem7__cxx1116filesystem_errorD1Ev)
LETS_GO(FilesystemError, _ZNSt10filesystem7__cxx1116filesystem_errorD2Ev)
LETS_GO(FilesystemError, _ZNSt10filesystem16filesystem_errorD1Ev)
LETS_GO(FilesystemError, _ZNSt10filesystem16filesystem_errorD2Ev)

// operator++, increment, pop, the destructors, operator=; with std::string as it is, and as it was.
LETS_GO(DirectoryIterator, _ZNSt10filesystem7__cxx1118directory_iteratorppEv)
LETS_GO(DirectoryIterator, _ZNSt10filesystem7__cxx1118directory_iterator9incrementERSt10error_code)
LETS_GO(DirectoryIterator, _ZNSt10filesystem7__cxx1128recursive_directory_iteratorppEv)
LETS_GO(DirectoryIterator, _ZNSt10filesystem7__cxx1128recursive_directory_iterator9incrementERSt10error_code)
LETS_GO(DirectoryIterator, _ZNSt10filesystem7__cxx1128recursive_directory_iterator3popEv)
LETS_GO(DirectoryIterator, _ZNSt10filesystem7__cxx1128recursive_directory_iterator3popERSt10error_code)
LETS_GO(DirectoryIterator, _ZNSt10filesystem7__cxx1128recursive_directory_iteratorD1Ev)
LETS_GO(DirectoryIterator, _ZNSt10filesystem7__cxx1128recursive_directory_iteratorD2Ev)
LETS_GO(DirectoryIterator, _ZNSt10filesystem7__cxx1128recursive_directory_iteratoraSEOS1_)
LETS_GO(DirectoryIterator, _ZNSt10filesystem7__cxx1128recursive_directory_iteratoraSERKS1_)
LETS_GO(DirectoryIterator, _ZNSt10filesystem18directory_iteratorppEv)
LETS_GO(DirectoryIterator, _ZNSt10filesystem18directory_iterator9incrementERSt10error_code)
LETS_GO(DirectoryIterator, _ZNSt10filesystem28recursive_directory_iteratorppEv)
LETS_GO(DirectoryIterator, _ZNSt10filesystem28recursive_directory_iterator9incrementERSt10error_code)
LETS_GO(DirectoryIterator, _ZNSt10filesystem28recursive_directory_iterator3popEv)
LETS_GO(DirectoryIterator, _ZNSt10filesystem28recursive_directory_iterator3popERSt10error_code)
LETS_GO(DirectoryIterator, _ZNSt10filesystem28recursive_directory_iteratorD1Ev)
LETS_GO(DirectoryIterator, _ZNSt10filesystem28recursive_directory_iteratorD2Ev)
LETS_GO(DirectoryIterator, _ZNSt10filesystem28recursive_directory_iteratoraSEOS0_)
LETS_GO(DirectoryIterator, _ZNSt10filesystem28recursive_directory_iteratoraSERKS0_)
