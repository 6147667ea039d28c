// Ways to end a process. Each runs in a child; the parent looks at what came out.
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

#include "runtime/interpose/tests/fake_lane.h"

static bool late;

// After main, in the order in which a process ends: a static's destructor, a destructor function, and then
// the lane.
struct Static {
  ~Static() {
    if (late) CHECK(record_finish_calls == 0);
  }
} a_static;
__attribute__((destructor)) static void destructor_function() {
  if (late) CHECK(record_finish_calls == 0);
}

template <class F>
static int child(F f) {
  fflush(nullptr);
  pid_t const pid = fork();
  if (pid == 0) {
    f();
    abort();  // f must not return
  }
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid);
  return status;
}

#define CHECK_EXIT(code, ...)                                                                            \
  do {                                                                                                   \
    int const status_ = child([&] __VA_ARGS__);                                                          \
    if (!WIFEXITED(status_) || WEXITSTATUS(status_) != (code)) {                                         \
      fprintf(stderr, "%s:%d: expected exit %d, found status %#x\n", __FILE__, __LINE__, code, status_); \
      exit(1);                                                                                           \
    }                                                                                                    \
  } while (0)
#define CHECK_SIGNAL(signal, ...)                                                                            \
  do {                                                                                                       \
    int const status_ = child([&] __VA_ARGS__);                                                              \
    if (!WIFSIGNALED(status_) || WTERMSIG(status_) != (signal)) {                                            \
      fprintf(stderr, "%s:%d: expected signal %d, found status %#x\n", __FILE__, __LINE__, signal, status_); \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

static void* exits(void*) { exit(5); }

int main(int argc, char**) {
  if (argc > 1) return 7;
  record_finish_code = -1;
  late = true;

  // The lane's code replaces the program's.
  CHECK_EXIT(5, { exit(5); });
  CHECK_EXIT(66, {
    record_finish_code = 66;
    exit(5);
  });
  CHECK_EXIT(66, {
    record_finish_code = 66;
    _exit(5);
  });
  CHECK_EXIT(66, {
    record_finish_code = 66;
    _Exit(5);
  });
  CHECK_EXIT(66, {
    record_finish_code = 66;
    quick_exit(5);
  });
  CHECK_EXIT(9, {
    at_quick_exit([] { _exit(record_finish_calls == 0 ? 9 : 10); });
    quick_exit(5);
  });
  CHECK_EXIT(66, {
    record_finish_code = 66;
    pthread_t t;
    pthread_create(&t, nullptr, exits, nullptr);
    pthread_join(t, nullptr);
  });
  // Handlers run before the lane ends, and get what they were registered with.
  CHECK_EXIT(3, {
    atexit([] { CHECK(record_finish_calls == 0); });
    on_exit([](int status, void* p) { CHECK(status == 3 && p == &late); }, &late);
    exit(3);
  });
  // Output buffered at exit is not lost when the code changes.
  int ends[2];
  CHECK(pipe(ends) == 0);
  CHECK_EXIT(66, {
    record_finish_code = 66;
    dup2(ends[1], 1);
    printf("buffered");
    exit(0);
  });
  char text[16] = {};
  CHECK(read(ends[0], text, 15) == 8 && strcmp(text, "buffered") == 0);

  // Deaths by signal: the lane is asked first, and the signal stays what it was.
  for (int signal : {SIGABRT, SIGSEGV, SIGTERM, SIGINT, SIGPIPE, SIGFPE, SIGUSR1, SIGALRM}) {
    CHECK_SIGNAL(signal, { raise(signal); });
  }
  CHECK_SIGNAL(SIGABRT, { abort(); });
  CHECK_SIGNAL(SIGKILL, { raise(SIGKILL); });
  CHECK_SIGNAL(SIGSEGV, { *reinterpret_cast<int volatile*>(8) = 1; });
  CHECK_EXIT(0, {
    signal(SIGTERM, SIG_IGN);
    raise(SIGTERM);
    exit(0);
  });
  // vfork: the child's end is not ours.
  record_finish_code = 66;
  pid_t const pid = vfork();
  if (pid == 0) _exit(4);
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 4);
  CHECK(record_finish_calls == 0);
  record_finish_code = -1;
  return 0;
}
