// A library call that does nothing but read and write places of the program's: one line each.
//
//   TELLS(int, statvfs, (const char* path, struct statvfs* to), (path, to),
//         call.text(path), result == 0 && call.writes(to))
//
// Type, name, parameters and arguments; then what it reads, told before the real call; then what it has
// written, told after it, which may look at `result`. Both are expressions: whatever `call` tells is true, so
// that && joins them. NOTHING where there is nothing. TELLS_VOID for functions without a result.
//
// What is told is what the function's definition says it touches, and where that is less than the place (a
// text in a buffer, the fields of a struct that were set) no more than that.
#pragma once

#include "runtime/interpose/strings.h"

namespace deadheat::interpose {

class Call {
 public:
  explicit Call(lane::Pc pc) : pc_(pc) {}

  // Places that the program may leave out are null.
  template <class T>
  bool reads(const T* place) const {
    return reads(place, sizeof *place);
  }
  template <class T>
  bool writes(T* place) const {
    return writes(place, sizeof *place);
  }
  bool reads(const void* from, size_t size) const {
    if (from != nullptr && size != 0) lane::read(from, size, pc_);
    return true;
  }
  bool writes(void* to, size_t size) const {
    if (to != nullptr && size != 0) lane::write(to, size, pc_);
    return true;
  }
  template <class T>
  bool reads_and_writes(T* place) const {
    return reads(place) && writes(place);
  }
  // The whole string and its end.
  template <class Char>
  bool text(const Char* from) const {
    if (from != nullptr) reads_string(from, pc_);
    return true;
  }
  // A path for the kernel, told after the call: a pointer to nowhere is an error that programs may ask for.
  template <class Result>
  bool path(const char* from, Result result) const {
    return (failed(result) && errno == EFAULT) || text(from);
  }
  template <class Char>
  bool writes_text(Char* to) const {
    return to == nullptr || writes(to, (length(to) + 1) * sizeof *to);
  }
  // Those of the words of `place` that are not what they were.
  template <class T>
  bool writes_changes(T* place, const T& before) const {
    auto* const words = reinterpret_cast<int*>(place);
    auto* const old = reinterpret_cast<const int*>(&before);
    for (size_t i = 0; i < sizeof(T) / sizeof(int); ++i)
      if (words[i] != old[i]) writes(words + i);
    return true;
  }

 private:
  static bool failed(long result) { return result == -1; }
  static bool failed(const void* result) { return result == nullptr; }

  lane::Pc pc_;
};

}  // namespace deadheat::interpose

#define DH_PLAIN(...) __VA_ARGS__
#define NOTHING true
#define TELLS(type, name, parameters, arguments, before, after) \
  INTERPOSE_ACCESSES(type, name, DH_PLAIN parameters) {         \
    [[maybe_unused]] Call const call(CALLER);                   \
    (void)(before);                                             \
    type const result = REAL(name) arguments;                   \
    (void)(after);                                              \
    return result;                                              \
  }
#define TELLS_VOID(name, parameters, arguments, before, after) \
  INTERPOSE_ACCESSES(void, name, DH_PLAIN parameters) {        \
    [[maybe_unused]] Call const call(CALLER);                  \
    (void)(before);                                            \
    REAL(name) arguments;                                      \
    (void)(after);                                             \
  }
