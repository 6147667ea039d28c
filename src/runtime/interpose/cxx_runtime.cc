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
// What copies share inside of the library: the text of exceptions (std::logic_error, std::runtime_error and
// what derives from them), the paths of std::filesystem::filesystem_error, the facets of std::locale. Each
// thread uses and destroys its own copy; letting go of one is ordered before the end of what they share,
// which the program sees as a free. Copying needs no order.
//
// std::thread: the constructor's end is ordered before the new thread's beginning, so the handle that the
// library has pthread_create write is, too (thread.h).
//
// set_value_at_thread_exit: the library makes the future ready when the thread ends, by a store that is not
// seen. What came before is released to the word that is waited for when that is arranged.
//
// std::ctype<char> caches what it has converted, in tables that it fills when they are first needed, without
// any order: every thread writes the same. The half of that which is in a header is left out by the compiler
// plugin (src/instrument/library_caches.h); the half in the library copies with memcpy, which is ignored.
//
// Nothing needed: std::thread, mutex, condition_variable, call_once, future and the like call pthread
// functions, and shared_ptr, atomic and jthread are headers, compiled into the program. __cxa_throw and
// __cxa_rethrow touch only their own thread's exceptions. ios_base::Init counts its references with atomics
// of the library on objects that only the library touches.
#include "runtime/interpose/ignored.h"
#include "runtime/interpose/thread.h"
#include "runtime/platform/syscalls.h"

using namespace deadheat;
using namespace deadheat::interpose;

#ifdef DEADHEAT_INTERPOSE_STATIC
// A static C program has no C++ library, and a C++ one pulls in only what it refers to: weak, with our own to
// fall back on.
#define WEAK_REAL(result, name, ...) \
  extern "C" __attribute__((weak)) result real_##name(__VA_ARGS__) __asm__("__real_" #name)
#define REAL_OR_NULL(name) real_or_null(&real_##name)
namespace {
template <class Function>
Function* real_or_null(Function* function) {
  __asm__("" : "+r"(function));
  return function;
}
}  // namespace
#else
#define WEAK_REAL(result, name, ...) DECLARE_REAL_OF(result, name, __VA_ARGS__)
#define REAL_OR_NULL(name) REAL_IF_ANY(name)
#endif

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

#ifdef DEADHEAT_INTERPOSE_STATIC
// Not interposed, so under its own name.
extern "C" __attribute__((weak)) void real__ZSt17current_exceptionv(ExceptionPointer* result) __asm__(
    "_ZSt17current_exceptionv");
#else
WEAK_REAL(void, _ZSt17current_exceptionv, ExceptionPointer* result);
#endif
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

template <class Function>
Function* existing(Function* function, const char* name) {
  if (function == nullptr) no_such_function(name);
  return function;
}
}  // namespace

#define ERROR_LETS_GO(name)                    \
  WEAK_REAL(void, name, Error* self);          \
  INTERPOSE_ONLY(void, name, Error* self) {    \
    lets_go_of_text(self);                     \
    existing(REAL_OR_NULL(name), #name)(self); \
  }
#define ERROR_ASSIGNED(name)                                      \
  WEAK_REAL(Error*, name, Error* self, const Error* other);       \
  INTERPOSE_ONLY(Error*, name, Error* self, const Error* other) { \
    lets_go_of_text(self);                                        \
    return existing(REAL_OR_NULL(name), #name)(self, other);      \
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

// --- std::locale. A facet may belong to several locales that are not copies of each other, so all that there
// are let go of one object. The classic one, which most streams have, lives for ever.

namespace {
struct LocaleImplementation;
struct Locale {
  LocaleImplementation* implementation;
};
struct alignas(8) {
  char order;
} locales;
}  // namespace

#ifdef DEADHEAT_INTERPOSE_STATIC
extern "C" __attribute__((weak)) const Locale* real__ZNSt6locale7classicEv() __asm__(
    "_ZNSt6locale7classicEv");
#else
WEAK_REAL(const Locale*, _ZNSt6locale7classicEv, void);
#endif
WEAK_REAL(void, _ZNSt6localeD1Ev, Locale* self);
WEAK_REAL(void, _ZNSt6localeD2Ev, Locale* self);
WEAK_REAL(const Locale*, _ZNSt6localeaSERKS_, Locale* self, const Locale* other);
WEAK_REAL(void, _ZNSt6locale5_ImplD1Ev, LocaleImplementation* self);

namespace {
void lets_go_of_locale(const Locale* self) {
  auto* const classic = REAL_OR_NULL(_ZNSt6locale7classicEv);
  if (classic != nullptr && self->implementation == classic()->implementation) return;
  lane::release(&locales);
}
}  // namespace

INTERPOSE_ONLY(void, _ZNSt6localeD1Ev, Locale* self) {
  lets_go_of_locale(self);
  existing(REAL_OR_NULL(_ZNSt6localeD1Ev), "std::locale")(self);
}
INTERPOSE_ONLY(void, _ZNSt6localeD2Ev, Locale* self) {
  lets_go_of_locale(self);
  existing(REAL_OR_NULL(_ZNSt6localeD2Ev), "std::locale")(self);
}
INTERPOSE_ONLY(const Locale*, _ZNSt6localeaSERKS_, Locale* self, const Locale* other) {
  lets_go_of_locale(self);
  return existing(REAL_OR_NULL(_ZNSt6localeaSERKS_), "std::locale")(self, other);
}
// The last one that held it lets go.
INTERPOSE_ONLY(void, _ZNSt6locale5_ImplD1Ev, LocaleImplementation* self) {
  lane::acquire(&locales);
  existing(REAL_OR_NULL(_ZNSt6locale5_ImplD1Ev), "std::locale")(self);
}

// --- std::filesystem::filesystem_error has a shared_ptr, after what std::system_error has, and lets go of it
// inside of the library, where nothing is called by name. So it is held until the library has let go, as an
// exception is above.

namespace {
struct SharedCount {
  void (**functions)(SharedCount*);  // two destructors, _M_dispose, _M_destroy
  int owners;
  int observers;
};
struct FilesystemError {
  Error error;
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
// std::__future_base::_State_baseV2::_Make_ready: two pointers of its base, then a weak_ptr to the state,
// whose third word is what is waited for.
struct MakeReady {
  void* base[2];
  void** state;
};
}  // namespace
WEAK_REAL(void, _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv, MakeReady* self);

INTERPOSE_ONLY(void, _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv, MakeReady* self) {
  if (self->state != nullptr) lane::release(self->state + 2);
  auto* const real = REAL_OR_NULL(_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv);
  if (real == nullptr) no_such_function("std::promise::set_value_at_thread_exit");
  real(self);
}

// --- std::ctype<char>::_M_widen_init, _M_narrow_init

WEAK_REAL(void, _ZNKSt5ctypeIcE13_M_widen_initEv, const void* self);
WEAK_REAL(void, _ZNKSt5ctypeIcE14_M_narrow_initEv, const void* self);

INTERPOSE_ONLY(void, _ZNKSt5ctypeIcE13_M_widen_initEv, const void* self) {
  auto* const real = REAL_OR_NULL(_ZNKSt5ctypeIcE13_M_widen_initEv);
  if (real == nullptr) no_such_function("std::ctype<char>::_M_widen_init");
  begin_ignoring(true, true);
  real(self);
  end_ignoring(true, true);
}
INTERPOSE_ONLY(void, _ZNKSt5ctypeIcE14_M_narrow_initEv, const void* self) {
  auto* const real = REAL_OR_NULL(_ZNKSt5ctypeIcE14_M_narrow_initEv);
  if (real == nullptr) no_such_function("std::ctype<char>::_M_narrow_init");
  begin_ignoring(true, true);
  real(self);
  end_ignoring(true, true);
}
