// Order through a FILE.
//
// What is read from a stream was written to it before: output releases to the stream, input acquires from it.
// Two threads that both print are not ordered by that: the lock inside libc keeps their lines apart, but
// neither C nor POSIX says that it synchronises memory, and counting it would hide the races of every program
// that logs. flockfile is a lock like any other.
//
// Bytes that go through a stream to a pipe or socket carry order like any others (descriptors.h).
#pragma once

#include <stdio.h>

#include "runtime/interpose/descriptors.h"

namespace deadheat::interpose {

int descriptor_of(FILE* stream);  // -1: none. Keeps errno.

enum class Direction { kIn, kOut };

class StreamOperation {
 public:
  StreamOperation(FILE* stream, Direction direction) : stream_(stream), direction_(direction) {
    if (stream_ == nullptr) return;
    if (direction_ != Direction::kOut) return;
    lane::release(stream_);
    before_sending(descriptor_of(stream_));
  }
  ~StreamOperation() {
    if (stream_ == nullptr || direction_ != Direction::kIn) return;
    lane::acquire(stream_);
    after_receiving(descriptor_of(stream_));
  }
  StreamOperation(const StreamOperation&) = delete;
  StreamOperation& operator=(const StreamOperation&) = delete;

 private:
  FILE* stream_;
  Direction direction_;
};

}  // namespace deadheat::interpose

// Calls of which nothing else is told than the order: with the stream's lock, and without it.
#define ON_STREAM(result, name, direction, parameters, arguments, stream) \
  INTERPOSE(result, name, PLAIN parameters) {                             \
    StreamOperation const operation(stream, Direction::direction);        \
    return REAL(name) arguments;                                          \
  }
#define UNLOCKED_OUT(result, name, parameters, arguments, stream) \
  INTERPOSE(result, name, PLAIN parameters) {                     \
    before_sending(descriptor_of(stream));                        \
    return REAL(name) arguments;                                  \
  }
#define UNLOCKED_IN(type, name, parameters, arguments, stream) \
  INTERPOSE(type, name, PLAIN parameters) {                    \
    type const result = REAL(name) arguments;                  \
    after_receiving(descriptor_of(stream));                    \
    return result;                                             \
  }
#define PLAIN(...) __VA_ARGS__
