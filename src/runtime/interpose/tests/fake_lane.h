// A lane that writes down what it is told, so that a test can say what it expects, call by call.
//
//   record(&m, "m");  record_begin();  pthread_mutex_lock(&m);  CHECK_RECORD("read m 1; lock m X");
//
// Only named addresses appear, so that what libc does on the side does not disturb; allocations only if asked
// for. C and C++.
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

void record_name(const volatile void* address, size_t size,
                 const char* name);  // [address, address+size) is `name`
void record_forget_names(void);
void record_begin(void);                    // from here on, all threads
const char* record_end(void);               // what was recorded, "a; b; c"
extern __thread int record_inside_runtime;  // what lane::inside_runtime() says
extern int record_allocations;              // allocations, frees and mappings appear too
extern int record_finished_threads;         // how often thread_finishing() was called
extern int record_finish_calls;
extern int record_finish_code;  // what finish() answers; -1: its argument
void* record_caller(void);      // the pc of the last named call

#ifdef __cplusplus
}
#endif

#define CHECK_RECORD(expected)                                                                            \
  do {                                                                                                    \
    const char* recorded_ = record_end();                                                                 \
    if (strcmp(recorded_, (expected)) != 0) {                                                             \
      fprintf(stderr, "%s:%d: expected \"%s\"\n%*sfound \"%s\"\n", __FILE__, __LINE__, (expected), 8, "", \
              recorded_);                                                                                 \
      exit(1);                                                                                            \
    }                                                                                                     \
  } while (0)

// An expression, so that it can stand in EXPECT.
static inline void check_failed(const char* file, int line, const char* condition) {
  fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  exit(1);
}
#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

// Runs `call` and checks what the lane was told.
#define EXPECT(call, expected) \
  do {                         \
    record_begin();            \
    call;                      \
    CHECK_RECORD(expected);    \
  } while (0)
