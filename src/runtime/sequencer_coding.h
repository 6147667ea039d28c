// How sequencers are made small: what the recording runtime and the readers of its streams both predict of
// the next one. src/recording/FORMAT.md ("coded sequencer") has the bytes.
//
// Programs synchronise in loops: what followed a sequencer of this kind on this object the last time follows
// it again, mostly; and locks are released in the reverse order of their acquisition. So each side remembers,
// for a hash of the last sequencer, the one that came next, and the locks that are held. Whatever it
// predicts, both sides predict the same: the state is a function of the sequencers before.
//
// C-compatible layouts only; goes into the recorded program's runtime.
#pragma once

#include <stdint.h>

enum { kDhCodingBits = 10, kDhCodingEntries = 1 << kDhCodingBits, kDhHeldLocks = 4 };

typedef struct DhCodedSequencer {
  uint64_t object;
  uint64_t extra;
  uint64_t kind;
} DhCodedSequencer;

// Starts as zeros.
typedef struct DhCoding {
  uint64_t context;             // where the prediction stands
  uint64_t held[kDhHeldLocks];  // locks, the last acquired first
  DhCodedSequencer table[kDhCodingEntries];
} DhCoding;

// The byte behind a coded sequencer's first one.
enum DhCodingFlags {
  kDhObjectExplicit = 0,  // svarint of the difference to the last object
  kDhObjectPredicted = 1,
  kDhObjectHeld = 2,  // the lock acquired last that is still held
  kDhObjectLast = 3,  // the last object once more
  kDhObjectMask = 3,
  kDhKindPredicted = 4,  // kind and extra; else a byte and a varint
  kDhHashFollows = 8,    // it differs from that of the thread's last sequencer
  kDhStepShift = 4,      // number - the least it can be; 15: a varint with the rest follows
  kDhLongStep = 15,
};

static inline const DhCodedSequencer* dh_predicted(const DhCoding* coding) {
  return &coding->table[coding->context];
}

// A sequencer has happened.
static inline void dh_coding_advance(DhCoding* coding, uint64_t kind, uint64_t object, uint64_t extra) {
  DhCodedSequencer* const place = &coding->table[coding->context];
  place->object = object;
  place->extra = extra;
  place->kind = kind;
  coding->context = (object + (kind << 56)) * UINT64_C(0x9E3779B97F4A7C15) >> (64 - kDhCodingBits);
  if (kind == 4) {  // lock acquired
    for (int i = kDhHeldLocks - 1; i > 0; --i) coding->held[i] = coding->held[i - 1];
    coding->held[0] = object;
  } else if (kind == 5) {  // lock releasing
    int at = 0;
    while (at < kDhHeldLocks && coding->held[at] != object) ++at;
    for (; at < kDhHeldLocks - 1; ++at) coding->held[at] = coding->held[at + 1];
    if (at == kDhHeldLocks - 1) coding->held[at] = 0;
  }
}
