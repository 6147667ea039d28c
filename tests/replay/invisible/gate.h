// A library that is not instrumented: what it does by its own instructions nobody sees.
#pragma once
#ifdef __cplusplus
extern "C" {
#endif

// One thread opens it, another waits until it has.
struct gate {
  int open;
};
void gate_open(struct gate* gate);
void gate_wait(struct gate* gate);

// Counts, in the caller's own counter.
void count_up(long* counter);

// A thread of the library's own making, with a flag that says whether it still runs.
struct worker;
struct worker* worker_start(void (*run)(void*), void* argument);
int worker_is_alive(struct worker* worker);

#ifdef __cplusplus
}
#endif
