// Streams: the program's buffers, and order through the stream (streams.h). printf and scanf are in
// stdio_formatted.cc, wide characters in stdio_wide.cc.
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>

#include "runtime/interpose/allocator.h"
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

// libc's list of all streams.
DECLARE_REAL(void, _IO_list_lock, void);
DECLARE_REAL(void, _IO_list_unlock, void);
DECLARE_REAL(void*, _IO_iter_begin, void);
DECLARE_REAL(void*, _IO_iter_end, void);
DECLARE_REAL(void*, _IO_iter_next, void*);
DECLARE_REAL(FILE*, _IO_iter_file, void*);
namespace {
// A lane that does not tell objects apart needs no more than one.
void sending_to_all() {
  if (!lane::tells_objects_apart()) return lane::release(stdout);
  CriticalSection const critical;
  REAL(_IO_list_lock)();
  void* const end = REAL(_IO_iter_end)();
  for (void* at = REAL(_IO_iter_begin)(); at != end; at = REAL(_IO_iter_next)(at)) {
    FILE* const stream = REAL(_IO_iter_file)(at);
    if (__fwritable(stream) == 0) continue;
    StreamOperation const operation(stream, Direction::kOut);
  }
  REAL(_IO_list_unlock)();
}
}  // namespace

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
INTERPOSE(char*, __fgets_unlocked_chk, char* to, size_t room, int size, FILE* stream) {
  char* const got = REAL(__fgets_unlocked_chk)(to, room, size, stream);
  if (got != nullptr) lane::write(to, length(to) + 1, CALLER);
  after_receiving(descriptor_of(stream));
  return got;
}
// The linker warns of these where they are linked in, which every static program would be.
#ifndef DEADHEAT_INTERPOSE_STATIC
INTERPOSE(char*, gets, char* to) {
  StreamOperation const operation(stdin, Direction::kIn);
  char* const got = REAL(gets)(to);
  if (got != nullptr) lane::write(to, length(to) + 1, CALLER);
  return got;
}
INTERPOSE(char*, __gets_chk, char* to, size_t room) {
  StreamOperation const operation(stdin, Direction::kIn);
  char* const got = REAL(__gets_chk)(to, room);
  if (got != nullptr) lane::write(to, length(to) + 1, CALLER);
  return got;
}
#endif
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

// --- Characters and words: only the order

ON_STREAM(int, fgetc, kIn, (FILE * stream), (stream), stream)
ON_STREAM(int, getc, kIn, (FILE * stream), (stream), stream)
ON_STREAM(int, _IO_getc, kIn, (FILE * stream), (stream), stream)
ON_STREAM(int, getchar, kIn, (void), (), stdin)
ON_STREAM(int, getw, kIn, (FILE * stream), (stream), stream)
ON_STREAM(int, ungetc, kIn, (int c, FILE* stream), (c, stream), stream)
ON_STREAM(int, fputc, kOut, (int c, FILE* stream), (c, stream), stream)
ON_STREAM(int, putc, kOut, (int c, FILE* stream), (c, stream), stream)
ON_STREAM(int, _IO_putc, kOut, (int c, FILE* stream), (c, stream), stream)
ON_STREAM(int, putchar, kOut, (int c), (c), stdout)
ON_STREAM(int, putw, kOut, (int word, FILE* stream), (word, stream), stream)
ON_STREAM(int, fseek, kOut, (FILE * stream, long offset, int whence), (stream, offset, whence), stream)
ON_STREAM(int, fseeko, kOut, (FILE * stream, off_t offset, int whence), (stream, offset, whence), stream)
ON_STREAM(int, fseeko64, kOut, (FILE * stream, off_t offset, int whence), (stream, offset, whence), stream)
INTERPOSE(int, fsetpos, FILE* stream, const fpos_t* at) {
  lane::read(at, sizeof *at, CALLER);
  StreamOperation const operation(stream, Direction::kOut);
  return REAL(fsetpos)(stream, at);
}
INTERPOSE(int, fsetpos64, FILE* stream, const fpos64_t* at) {
  lane::read(at, sizeof *at, CALLER);
  StreamOperation const operation(stream, Direction::kOut);
  return REAL(fsetpos64)(stream, at);
}
ON_STREAM(void, rewind, kOut, (FILE * stream), (stream), stream)

// Without the stream's lock. The macros and inline functions of these names come to __overflow and __uflow
// when the buffer is full or empty, which is when something is sent or received.
UNLOCKED_OUT(int, putc_unlocked, (int c, FILE* stream), (c, stream), stream)
UNLOCKED_OUT(int, fputc_unlocked, (int c, FILE* stream), (c, stream), stream)
UNLOCKED_OUT(int, putchar_unlocked, (int c), (c), stdout)
UNLOCKED_OUT(int, __overflow, (FILE * stream, int c), (stream, c), stream)
UNLOCKED_IN(int, getc_unlocked, (FILE * stream), (stream), stream)
UNLOCKED_IN(int, fgetc_unlocked, (FILE * stream), (stream), stream)
UNLOCKED_IN(int, getchar_unlocked, (void), (), stdin)
UNLOCKED_IN(int, __uflow, (FILE * stream), (stream), stream)

// To standard error. Not `error`, `warn` and `err`: libraries have functions of their own by such names.
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
INTERPOSE(void, psiginfo, const siginfo_t* info, const char* s) {
  lane::read(info, sizeof *info, CALLER);
  if (s != nullptr) reads_string(s, CALLER);
  StreamOperation const operation(stderr, Direction::kOut);
  REAL(psiginfo)(info, s);
}

// --- What is kept back goes on its way

// With everything that this thread did: it may be another one that had it printed.
namespace {
void flushing(FILE* stream) {
  if (stream == nullptr) return sending_to_all();
  StreamOperation const operation(stream, Direction::kOut);
}
}  // namespace
INTERPOSE(int, fflush, FILE* stream) {
  flushing(stream);
  return REAL(fflush)(stream);
}
INTERPOSE(int, fflush_unlocked, FILE* stream) {
  flushing(stream);
  return REAL(fflush_unlocked)(stream);
}
INTERPOSE(void, _flushlbf, void) {
  sending_to_all();
  REAL(_flushlbf)();
}
INTERPOSE(int, fcloseall, void) {
  sending_to_all();
  return REAL(fcloseall)();
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
  HandsOut const hands_out(CALLER);
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
  child_has_ended();
  heard_from_outside();
  return status;
}

// The buffer is the program's; fclose cuts it to its size.
INTERPOSE(FILE*, open_memstream, char** to, size_t* size) {
  HandsOut const hands_out(CALLER);
  return REAL(open_memstream)(to, size);
}
INTERPOSE(FILE*, open_wmemstream, wchar_t** to, size_t* size) {
  HandsOut const hands_out(CALLER);
  return REAL(open_wmemstream)(to, size);
}

// What was at the other end of the old descriptor hears of its end, and the number is another file's now.
namespace {
void reopening(const char* path, const char* mode, FILE* stream, lane::Pc pc) {
  if (path != nullptr) reads_string(path, pc);
  reads_string(mode, pc);
  StreamOperation const operation(stream, Direction::kOut);
  int const fd = descriptor_of(stream);
  if (fd < 0) return;
  closing_lockable(fd);
  closed(fd);
}
}  // namespace
INTERPOSE(FILE*, freopen, const char* path, const char* mode, FILE* stream) {
  reopening(path, mode, stream, CALLER);
  return REAL(freopen)(path, mode, stream);
}
INTERPOSE(FILE*, freopen64, const char* path, const char* mode, FILE* stream) {
  reopening(path, mode, stream, CALLER);
  return REAL(freopen64)(path, mode, stream);
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
