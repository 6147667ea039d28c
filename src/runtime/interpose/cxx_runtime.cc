// The C++ library's own synchronisation that programs reach without a lock of theirs.
//
// Local statics: compiled code looks at the guard's first byte itself (an acquire load, instrumented like any
// other) and calls __cxa_guard_acquire if it is zero. What the initialiser did is released to the guard's
// address, where both find it.
//
// Exceptions that several threads own (std::exception_ptr, rethrown by each): the count of owners is inside
// libstdc++. The last owner destroys the exception, so it comes after whatever the others did to it. Which
// one is the last must be known before it is: so letting go counts down here (the count's place is part of
// the ABI), and is left to the library for the last one; the end of a handler holds on to the exception until
// the library has let go of it.
//
// What copies of exceptions share inside of the library: the text of std::logic_error, std::runtime_error and
// what derives from them. Each thread uses and destroys its own copy; letting go of one is ordered before the
// end of what they share, which the program sees as a free. Copying needs no order. (The same of locales and
// of std::filesystem: cxx_locale.cc, cxx_filesystem.cc.)
//
// std::thread: the constructor's end is ordered before the new thread's beginning, so the handle that the
// library has pthread_create write is, too (thread.h).
//
// set_value_at_thread_exit: the library makes the future ready when the thread ends, by a store that is not
// seen. What came before, the destructors of its thread_local objects among it, is released to the word that
// is waited for right before that.
//
// Nothing needed: std::thread, mutex, condition_variable, call_once, future and the like call pthread
// functions, and shared_ptr, atomic and jthread are headers, compiled into the program. __cxa_throw and
// __cxa_rethrow touch only their own thread's exceptions. ios_base::Init counts its references with atomics
// of the library on objects that only the library touches.
#include "runtime/interpose/cxx_library.h"
#include "runtime/interpose/thread.h"
#include "runtime/platform/syscalls.h"

using namespace deadheat;
using namespace deadheat::interpose;

// --- Guards of local statics

WEAK_REAL(int, __cxa_guard_acquire, uint64_t* guard);
WEAK_REAL(void, __cxa_guard_release, uint64_t* guard);
WEAK_REAL(void, __cxa_guard_abort, uint64_t* guard);

namespace {

// For programs whose C++ library is linked in statically, where ours has taken the place of its definition.
// Byte 0 says "done", as the ABI wants it; byte 1 "somebody is at it"; waiting is by yielding.
uint8_t* guard_byte(uint64_t* guard, unsigned index) { return reinterpret_cast<uint8_t*>(guard) + index; }

int own_guard_acquire(uint64_t* guard) {
  for (;;) {
    if (__atomic_load_n(guard_byte(guard, 0), __ATOMIC_ACQUIRE) != 0) return 0;
    if (__atomic_exchange_n(guard_byte(guard, 1), uint8_t{1}, __ATOMIC_ACQUIRE) == 0) {
      if (__atomic_load_n(guard_byte(guard, 0), __ATOMIC_ACQUIRE) == 0) return 1;
      __atomic_store_n(guard_byte(guard, 1), uint8_t{0}, __ATOMIC_RELEASE);
      return 0;
    }
    platform::sys_yield();
  }
}
void own_guard_release(uint64_t* guard, bool done) {
  if (done) __atomic_store_n(guard_byte(guard, 0), uint8_t{1}, __ATOMIC_RELEASE);
  __atomic_store_n(guard_byte(guard, 1), uint8_t{0}, __ATOMIC_RELEASE);
}

// Either the library's three or our three.
bool library_has_guards() {
  return REAL_OR_NULL(__cxa_guard_acquire) != nullptr && REAL_OR_NULL(__cxa_guard_release) != nullptr &&
         REAL_OR_NULL(__cxa_guard_abort) != nullptr;
}

}  // namespace

INTERPOSE_ONLY(int, __cxa_guard_acquire, uint64_t* guard) {
  int const mine = library_has_guards() ? REAL_OR_NULL(__cxa_guard_acquire)(guard) : own_guard_acquire(guard);
  // Done by another: ordered after it. Ours to do: ordered after whoever tried before and gave up.
  lane::acquire(guard);
  return mine;
}
INTERPOSE_ONLY(void, __cxa_guard_release, uint64_t* guard) {
  lane::release(guard);
  if (library_has_guards()) {
    REAL_OR_NULL(__cxa_guard_release)(guard);
  } else {
    own_guard_release(guard, true);
  }
}
INTERPOSE_ONLY(void, __cxa_guard_abort, uint64_t* guard) {
  lane::release(guard);
  if (library_has_guards()) {
    REAL_OR_NULL(__cxa_guard_abort)(guard);
  } else {
    own_guard_release(guard, false);
  }
}

// --- std::exception_ptr. The object is one pointer to the exception.

namespace {
struct ExceptionPointer {
  void* exception;
};
}  // namespace

WEAK_REAL(void, _ZNSt15__exception_ptr13exception_ptr9_M_addrefEv, ExceptionPointer* self);
WEAK_REAL(void, _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv, ExceptionPointer* self);

INTERPOSE_ONLY(void, _ZNSt15__exception_ptr13exception_ptr9_M_addrefEv, ExceptionPointer* self) {
  auto* const real = REAL_OR_NULL(_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv);
  if (real == nullptr) no_such_function("std::exception_ptr");
  real(self);
}
namespace {

// How many own it: the first word of what the ABI puts before an exception (__cxa_refcounted_exception).
int* owners_of(void* exception) {
  constexpr ptrdiff_t kHeader = 128;
  return reinterpret_cast<int*>(static_cast<char*>(exception) - kHeader);
}

void let_go(ExceptionPointer* self) {
  auto* const real = REAL_OR_NULL(_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv);
  if (real == nullptr) no_such_function("std::exception_ptr");
  void* const exception = self->exception;
  if (exception != nullptr) {
    lane::release(exception);
    int* const owners = owners_of(exception);
    int count = __atomic_load_n(owners, __ATOMIC_ACQUIRE);
    while (count > 1) {
      if (!__atomic_compare_exchange_n(owners, &count, count - 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        continue;
      self->exception = nullptr;
      return;
    }
    lane::acquire(exception);
  }
  real(self);
}

}  // namespace

INTERPOSE_ONLY(void, _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv, ExceptionPointer* self) {
  let_go(self);
}

WEAK_OTHER(void, _ZSt17current_exceptionv, ExceptionPointer* result);
WEAK_REAL(void, __cxa_end_catch, void);

INTERPOSE_ONLY(void, __cxa_end_catch, void) {
  auto* const real = REAL_OR_NULL(__cxa_end_catch);
  if (real == nullptr) no_such_function("__cxa_end_catch");
  auto* const current = REAL_OR_NULL(_ZSt17current_exceptionv);
  ExceptionPointer held{nullptr};
  if (current != nullptr && REAL_OR_NULL(_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv) != nullptr)
    current(&held);
  real();
  if (held.exception != nullptr) let_go(&held);
}

// --- Texts of exceptions: after the exception's vtable comes a pointer to the characters, which stand behind
// their count. Only who lets go last calls _M_destroy. The other destructors of the library end here.

namespace {
struct Error {
  void* vtable;
  char* text;
};
struct TextHeader {
  size_t length;
  size_t capacity;
  int owners;
};
void lets_go_of_text(const Error* self) { lane::release(self->text - sizeof(TextHeader)); }
}  // namespace

#define ERROR_LETS_GO(name)                 \
  WEAK_REAL(void, name, Error* self);       \
  INTERPOSE_ONLY(void, name, Error* self) { \
    lets_go_of_text(self);                  \
    EXISTING(name)(self);                   \
  }
#define ERROR_ASSIGNED(name)                                      \
  WEAK_REAL(Error*, name, Error* self, const Error* other);       \
  INTERPOSE_ONLY(Error*, name, Error* self, const Error* other) { \
    lets_go_of_text(self);                                        \
    return EXISTING(name)(self, other);                           \
  }
ERROR_LETS_GO(_ZNSt11logic_errorD1Ev)
ERROR_LETS_GO(_ZNSt11logic_errorD2Ev)
ERROR_ASSIGNED(_ZNSt11logic_erroraSERKS_)
ERROR_LETS_GO(_ZNSt13runtime_errorD1Ev)
ERROR_LETS_GO(_ZNSt13runtime_errorD2Ev)
ERROR_ASSIGNED(_ZNSt13runtime_erroraSERKS_)

// Where the library is linked in statically, its own definition may have made room for ours, being weak, too.
extern "C" __attribute__((weak)) void delete_text(void* text) __asm__("_ZdlPv");
WEAK_REAL(void, _ZNSs4_Rep10_M_destroyERKSaIcE, TextHeader* text, const void* allocator);
INTERPOSE_ONLY(void, _ZNSs4_Rep10_M_destroyERKSaIcE, TextHeader* text, const void* allocator) {
  lane::acquire(text);
  auto* const real = REAL_OR_NULL(_ZNSs4_Rep10_M_destroyERKSaIcE);
  if (real != nullptr) {
    real(text, allocator);
  } else {
    delete_text(text);
  }
}

// --- std::thread: pthread_create must know whose handle it makes.

namespace {
// The std::thread that the library is about to start on this thread: its handle is its first member.
__thread const void* cxx_thread_starting;
}  // namespace

WEAK_REAL(void, _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE,
          void* self, void* state, void (*depend)());

INTERPOSE_ONLY(void, _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE,
               void* self, void* state, void (*depend)()) {
  auto* const real =
      REAL_OR_NULL(_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE);
  if (real == nullptr) no_such_function("std::thread");
  cxx_thread_starting = self;
  real(self, state, depend);
}

namespace deadheat::interpose {

bool starts_cxx_thread(const void* handle, lane::Pc caller) {
  bool const told = handle == cxx_thread_starting;
  cxx_thread_starting = nullptr;
  if (told) return true;
  // Where the library is linked in statically, its function has taken the place of ours, and is the caller.
  constexpr uintptr_t kSize = 64;
  auto* function =
      &interposed__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE;
  __asm__("" : "+r"(function));
  return caller.value - reinterpret_cast<uintptr_t>(function) < kSize;
}

}  // namespace deadheat::interpose

// --- std::promise::set_value_at_thread_exit

namespace {
// std::__future_base::_State_baseV2::_Make_ready: what the library calls for it when the thread ends, behind
// all destructors of thread_local objects; then a weak_ptr to the state, whose third word is what is waited
// for.
struct MakeReady {
  MakeReady* next;
  void (*at_thread_exit)(MakeReady* self);
  void** state;
  const struct Counts {
    void* functions;
    int owners;
  }* counts;

  void release() const {
    if (counts != nullptr && __atomic_load_n(&counts->owners, __ATOMIC_RELAXED) != 0)
      lane::release(state + 2);
  }
};
void (*make_ready)(MakeReady* self);

void release_and_make_ready(MakeReady* self) {
  self->release();
  __atomic_load_n(&make_ready, __ATOMIC_RELAXED)(self);
}
}  // namespace
WEAK_REAL(void, _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv, MakeReady* self);

INTERPOSE_ONLY(void, _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv, MakeReady* self) {
  auto* const real = REAL_OR_NULL(_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv);
  if (real == nullptr) no_such_function("std::promise::set_value_at_thread_exit");
  real(self);
  __atomic_store_n(&make_ready, self->at_thread_exit, __ATOMIC_RELAXED);  // the same for all
  self->at_thread_exit = release_and_make_ready;
}
