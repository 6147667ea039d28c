// Order through a FILE.
//
// Every operation on a stream takes the stream's lock inside libc, so of two of them one comes before the
// other. We cannot stand inside the lock; instead everything before an operation is released when it starts,
// and acquired by whoever ends an operation after that. Two operations that overlap may thus be ordered both
// ways: more order than there is, never less. Holding the lock around the call would be exact, and would be
// lost if the thread were cancelled in it.
//
// Bytes that go through a stream to a pipe or socket carry order like any others (descriptors.h).
#pragma once

#include <stdio.h>

#include "runtime/interpose/descriptors.h"

namespace deadheat::interpose {

// Whether operations on a stream order anything. As glibc's locks do, they do; a program whose threads print
// is therefore more ordered than it looks. flockfile counts in any case.
inline constexpr bool kStreamsOrder = true;

int descriptor_of(FILE* stream);  // -1: none. Keeps errno.

enum class Direction { kIn, kOut };

class StreamOperation {
 public:
  StreamOperation(FILE* stream, Direction direction) : stream_(stream), direction_(direction) {
    if (stream_ == nullptr) return;
    if (kStreamsOrder) lane::release(stream_);
    if (direction_ == Direction::kOut) before_sending(descriptor_of(stream_));
  }
  ~StreamOperation() {
    if (stream_ == nullptr) return;
    if (kStreamsOrder) lane::acquire(stream_);
    if (direction_ == Direction::kIn) after_receiving(descriptor_of(stream_));
  }
  StreamOperation(const StreamOperation&) = delete;
  StreamOperation& operator=(const StreamOperation&) = delete;

 private:
  FILE* stream_;
  Direction direction_;
};

}  // namespace deadheat::interpose
