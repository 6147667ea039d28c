// The lines of /etc/passwd and its like, read from a stream of the program's and printed to one. What is
// filled is told where it is the program's; of the library's own places (fgetpwent) only the order is.
#include <grp.h>
#include <gshadow.h>
#include <mntent.h>
#include <pwd.h>
#include <shadow.h>
#include <stdio.h>

#include "runtime/interpose/streams.h"

using namespace deadheat;
using namespace deadheat::interpose;

// Not in static programs: all of them would have it.
#ifndef DEADHEAT_INTERPOSE_STATIC

#define ENTRIES(Entry, get, put)                                                               \
  ON_STREAM(Entry*, get, kIn, (FILE * stream), (stream), stream)                               \
  INTERPOSE(int, get##_r, FILE* stream, Entry* to, char* buffer, size_t room, Entry** found) { \
    StreamOperation const operation(stream, Direction::kIn);                                   \
    int const result = REAL(get##_r)(stream, to, buffer, room, found);                         \
    if (result == 0) lane::write(to, sizeof *to, CALLER);                                      \
    lane::write(found, sizeof *found, CALLER);                                                 \
    return result;                                                                             \
  }                                                                                            \
  INTERPOSE(int, put, const Entry* entry, FILE* stream) {                                      \
    lane::read(entry, sizeof *entry, CALLER);                                                  \
    StreamOperation const operation(stream, Direction::kOut);                                  \
    return REAL(put)(entry, stream);                                                           \
  }
ENTRIES(passwd, fgetpwent, putpwent)
ENTRIES(group, fgetgrent, putgrent)
ENTRIES(spwd, fgetspent, putspent)
ENTRIES(sgrp, fgetsgent, putsgent)

ON_STREAM(mntent*, getmntent, kIn, (FILE * stream), (stream), stream)
INTERPOSE(mntent*, getmntent_r, FILE* stream, mntent* to, char* buffer, int room) {
  StreamOperation const operation(stream, Direction::kIn);
  mntent* const got = REAL(getmntent_r)(stream, to, buffer, room);
  if (got != nullptr) lane::write(got, sizeof *got, CALLER);
  return got;
}
INTERPOSE(int, addmntent, FILE* stream, const mntent* entry) {
  lane::read(entry, sizeof *entry, CALLER);
  StreamOperation const operation(stream, Direction::kOut);
  return REAL(addmntent)(stream, entry);
}

#endif
