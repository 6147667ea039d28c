// Streams: the program's buffers, and order through the stream (streams.h). printf and scanf are in
// stdio_formatted.cc.
#include <stdio.h>
#include <stdio_ext.h>
#include <wchar.h>

#include "runtime/interpose/recursion.h"
#include "runtime/interpose/streams.h"
#include "runtime/interpose/strings.h"

using namespace deadheat;
using namespace deadheat::interpose;

DECLARE_REAL(int, fileno_unlocked, FILE* stream);

namespace deadheat::interpose {

int descriptor_of(FILE* stream) {
  int const saved = errno;
  int const fd = REAL(fileno_unlocked)(stream);
  errno = saved;
  return fd;
}

}  // namespace deadheat::interpose

// --- Blocks

INTERPOSE(size_t, fread, void* to, size_t size, size_t count, FILE* stream) {
  StreamOperation const operation(stream, Direction::kIn);
  size_t const got = REAL(fread)(to, size, count, stream);
  if (got != 0 && size != 0) lane::write(to, got * size, CALLER);
  return got;
}
INTERPOSE(size_t, fread_unlocked, void* to, size_t size, size_t count, FILE* stream) {
  size_t const got = REAL(fread_unlocked)(to, size, count, stream);
  if (got != 0 && size != 0) lane::write(to, got * size, CALLER);
  after_receiving(descriptor_of(stream));
  return got;
}
INTERPOSE(size_t, __fread_chk, void* to, size_t room, size_t size, size_t count, FILE* stream) {
  StreamOperation const operation(stream, Direction::kIn);
  size_t const got = REAL(__fread_chk)(to, room, size, count, stream);
  if (got != 0 && size != 0) lane::write(to, got * size, CALLER);
  return got;
}
INTERPOSE(size_t, __fread_unlocked_chk, void* to, size_t room, size_t size, size_t count, FILE* stream) {
  size_t const got = REAL(__fread_unlocked_chk)(to, room, size, count, stream);
  if (got != 0 && size != 0) lane::write(to, got * size, CALLER);
  after_receiving(descriptor_of(stream));
  return got;
}
INTERPOSE(size_t, fwrite, const void* from, size_t size, size_t count, FILE* stream) {
  if (size * count != 0) lane::read(from, size * count, CALLER);
  StreamOperation const operation(stream, Direction::kOut);
  return REAL(fwrite)(from, size, count, stream);
}
INTERPOSE(size_t, fwrite_unlocked, const void* from, size_t size, size_t count, FILE* stream) {
  if (size * count != 0) lane::read(from, size * count, CALLER);
  before_sending(descriptor_of(stream));
  return REAL(fwrite_unlocked)(from, size, count, stream);
}

// --- Lines

INTERPOSE(char*, fgets, char* to, int size, FILE* stream) {
  StreamOperation const operation(stream, Direction::kIn);
  char* const got = REAL(fgets)(to, size, stream);
  if (got != nullptr) lane::write(to, length(to) + 1, CALLER);
  return got;
}
INTERPOSE(char*, fgets_unlocked, char* to, int size, FILE* stream) {
  char* const got = REAL(fgets_unlocked)(to, size, stream);
  if (got != nullptr) lane::write(to, length(to) + 1, CALLER);
  after_receiving(descriptor_of(stream));
  return got;
}
INTERPOSE(char*, __fgets_chk, char* to, size_t room, int size, FILE* stream) {
  StreamOperation const operation(stream, Direction::kIn);
  char* const got = REAL(__fgets_chk)(to, room, size, stream);
  if (got != nullptr) lane::write(to, length(to) + 1, CALLER);
  return got;
}
INTERPOSE(wchar_t*, fgetws, wchar_t* to, int size, FILE* stream) {
  StreamOperation const operation(stream, Direction::kIn);
  wchar_t* const got = REAL(fgetws)(to, size, stream);
  if (got != nullptr) lane::write(to, (length(to) + 1) * sizeof(wchar_t), CALLER);
  return got;
}
INTERPOSE(int, fputs, const char* s, FILE* stream) {
  reads_string(s, CALLER);
  StreamOperation const operation(stream, Direction::kOut);
  return REAL(fputs)(s, stream);
}
INTERPOSE(int, fputs_unlocked, const char* s, FILE* stream) {
  reads_string(s, CALLER);
  before_sending(descriptor_of(stream));
  return REAL(fputs_unlocked)(s, stream);
}
INTERPOSE(int, fputws, const wchar_t* s, FILE* stream) {
  reads_string(s, CALLER);
  StreamOperation const operation(stream, Direction::kOut);
  return REAL(fputws)(s, stream);
}
INTERPOSE(int, puts, const char* s) {
  reads_string(s, CALLER);
  StreamOperation const operation(stdout, Direction::kOut);
  return REAL(puts)(s);
}

// getline and getdelim keep the line in a block of the program's, which they may reallocate (through our
// realloc).
#define READS_LINE(name, parameters, arguments)                                         \
  INTERPOSE(ssize_t, name, char** line, size_t* room, EXPAND parameters FILE* stream) { \
    auto const pc = CALLER;                                                             \
    StreamOperation const operation(stream, Direction::kIn);                            \
    ssize_t const size = REAL(name)(line, room, EXPAND arguments stream);               \
    lane::write(line, sizeof *line, pc);                                                \
    lane::write(room, sizeof *room, pc);                                                \
    if (size >= 0) lane::write(*line, static_cast<size_t>(size) + 1, pc);               \
    return size;                                                                        \
  }
#define EXPAND(...) __VA_ARGS__ __VA_OPT__(, )
READS_LINE(getline, (), ())
READS_LINE(getdelim, (int delimiter), (delimiter))
READS_LINE(__getdelim, (int delimiter), (delimiter))

// --- Characters: only the order

#define ON_STREAM(result, name, direction, parameters, arguments, stream) \
  INTERPOSE(result, name, PLAIN parameters) {                             \
    StreamOperation const operation(stream, Direction::direction);        \
    return REAL(name) arguments;                                          \
  }
#define PLAIN(...) __VA_ARGS__
ON_STREAM(int, fgetc, kIn, (FILE * stream), (stream), stream)
ON_STREAM(int, getc, kIn, (FILE * stream), (stream), stream)
ON_STREAM(int, _IO_getc, kIn, (FILE * stream), (stream), stream)
ON_STREAM(int, getchar, kIn, (void), (), stdin)
ON_STREAM(int, ungetc, kIn, (int c, FILE* stream), (c, stream), stream)
ON_STREAM(wint_t, fgetwc, kIn, (FILE * stream), (stream), stream)
ON_STREAM(int, fputc, kOut, (int c, FILE* stream), (c, stream), stream)
ON_STREAM(int, putc, kOut, (int c, FILE* stream), (c, stream), stream)
ON_STREAM(int, _IO_putc, kOut, (int c, FILE* stream), (c, stream), stream)
ON_STREAM(int, putchar, kOut, (int c), (c), stdout)
ON_STREAM(wint_t, fputwc, kOut, (wchar_t c, FILE* stream), (c, stream), stream)
ON_STREAM(int, fseek, kOut, (FILE * stream, long offset, int whence), (stream, offset, whence), stream)
ON_STREAM(int, fseeko, kOut, (FILE * stream, off_t offset, int whence), (stream, offset, whence), stream)
ON_STREAM(int, fseeko64, kOut, (FILE * stream, off_t offset, int whence), (stream, offset, whence), stream)
ON_STREAM(void, rewind, kOut, (FILE * stream), (stream), stream)
ON_STREAM(int, fflush, kOut, (FILE * stream), (stream), stream)

// Without the stream's lock. The macros and inline functions of these names come to __overflow and __uflow
// when the buffer is full or empty, which is when something is sent or received.
#define UNLOCKED_OUT(name, parameters, arguments, stream) \
  INTERPOSE(int, name, PLAIN parameters) {                \
    before_sending(descriptor_of(stream));                \
    return REAL(name) arguments;                          \
  }
#define UNLOCKED_IN(name, parameters, arguments, stream) \
  INTERPOSE(int, name, PLAIN parameters) {               \
    int const result = REAL(name) arguments;             \
    after_receiving(descriptor_of(stream));              \
    return result;                                       \
  }
UNLOCKED_OUT(putc_unlocked, (int c, FILE* stream), (c, stream), stream)
UNLOCKED_OUT(fputc_unlocked, (int c, FILE* stream), (c, stream), stream)
UNLOCKED_OUT(putchar_unlocked, (int c), (c), stdout)
UNLOCKED_OUT(__overflow, (FILE * stream, int c), (stream, c), stream)
UNLOCKED_IN(getc_unlocked, (FILE * stream), (stream), stream)
UNLOCKED_IN(fgetc_unlocked, (FILE * stream), (stream), stream)
UNLOCKED_IN(getchar_unlocked, (void), (), stdin)
UNLOCKED_IN(__uflow, (FILE * stream), (stream), stream)

// To standard error.
INTERPOSE(void, perror, const char* s) {
  if (s != nullptr) reads_string(s, CALLER);
  StreamOperation const operation(stderr, Direction::kOut);
  REAL(perror)(s);
}
INTERPOSE(void, psignal, int signal, const char* s) {
  if (s != nullptr) reads_string(s, CALLER);
  StreamOperation const operation(stderr, Direction::kOut);
  REAL(psignal)(signal, s);
}

// --- Streams themselves

// Whoever reads the other end of its pipe comes after. The FILE is freed in there, through our free.
INTERPOSE(int, fclose, FILE* stream) {
  lane::acquire(stream);
  int const fd = descriptor_of(stream);
  before_sending(fd);
  if (fd >= 0) {
    closing_lockable(fd);
    closed(fd);
  }
  lane::forget(stream);
  return REAL(fclose)(stream);
}
INTERPOSE(int, pclose, FILE* stream) {
  lane::acquire(stream);
  int const fd = descriptor_of(stream);
  before_sending(fd);
  if (fd >= 0) {
    closing_lockable(fd);
    closed(fd);
  }
  lane::forget(stream);
  int const status = REAL(pclose)(stream);
  heard_from_outside();
  return status;
}

// The lock itself, for programs that hold it over several calls. Recursive: only the outermost pair is told,
// by count.
namespace {
__thread RecursionTable<8> held_streams __attribute__((tls_model("initial-exec")));

void stream_locked(FILE* stream, lane::Pc pc) {
  if (!held_streams.enter(stream)) return;
  lane::lock_acquired(stream, lane::LockMode::kExclusive, lane::LockIs::kName, pc);
  lane::acquire(stream);
}
void stream_unlocking(FILE* stream, lane::Pc pc) {
  if (!held_streams.leave(stream)) return;
  lane::release(stream);
  lane::lock_releasing(stream, pc);
}
}  // namespace

INTERPOSE(void, flockfile, FILE* stream) {
  REAL(flockfile)(stream);
  stream_locked(stream, CALLER);
}
INTERPOSE(int, ftrylockfile, FILE* stream) {
  int const result = REAL(ftrylockfile)(stream);
  if (result == 0) stream_locked(stream, CALLER);
  return result;
}
INTERPOSE(void, funlockfile, FILE* stream) {
  stream_unlocking(stream, CALLER);
  REAL(funlockfile)(stream);
}
