// What the interposers of the C++ library share: its functions may not be there at all.
//
// WEAK_REAL declares a real one, INTERPOSE_ONLY follows; REAL_OR_NULL looks for it.
#pragma once

#include "runtime/interpose/ignored.h"

#ifdef DEADHEAT_INTERPOSE_STATIC
// A static C program has no C++ library, and a C++ one pulls in only what it refers to: weak, with our own to
// fall back on.
#define WEAK_REAL(result, name, ...) \
  extern "C" __attribute__((weak)) result real_##name(__VA_ARGS__) __asm__("__real_" #name)
// Called, but not interposed: so under its own name.
#define WEAK_OTHER(result, name, ...) \
  extern "C" __attribute__((weak)) result real_##name(__VA_ARGS__) __asm__(#name)
#define REAL_OR_NULL(name) ::deadheat::interpose::real_or_null(&real_##name)
#else
#define WEAK_REAL(result, name, ...) DECLARE_REAL_OF(result, name, __VA_ARGS__)
#define WEAK_OTHER(result, name, ...) DECLARE_REAL_OF(result, name, __VA_ARGS__)
#define REAL_OR_NULL(name) REAL_IF_ANY(name)
#endif
// It must be there, since it was called.
#define EXISTING(name) ::deadheat::interpose::existing(REAL_OR_NULL(name), #name)

namespace deadheat::interpose {

// The compiler takes a weak function for one that is there, once its address is used.
template <class Function>
Function* real_or_null(Function* function) {
  __asm__("" : "+r"(function));
  return function;
}

template <class Function>
Function* existing(Function* function, const char* name) {
  if (function == nullptr) no_such_function(name);
  return function;
}

}  // namespace deadheat::interpose
