// fork: the lane prepares after the program's own handlers and is back before them; exec writes first.
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/interpose/tests/fake_lane.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void touch() {
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
}

int main() {
  record_name(&m, sizeof m, "m");
  pthread_atfork(touch, touch, touch);
  record_begin();
  pid_t pid = fork();
  if (pid == 0) {
    CHECK_RECORD("read m 1; lock m X; unlock m; fork_preparing; fork_child; read m 1; lock m X; unlock m");
    _exit(3);
  }
  CHECK_RECORD("read m 1; lock m X; unlock m; fork_preparing; fork_parent; read m 1; lock m X; unlock m");
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 3);

  record_begin();
  pid = _Fork();
  if (pid == 0) {
    CHECK_RECORD("fork_preparing; fork_child");
    _exit(3);
  }
  CHECK_RECORD("fork_preparing; fork_parent");
  CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);

  // A failed exec is told, and the program goes on; a successful one replaces it.
  EXPECT(CHECK(execl("/nonexistent", "x", static_cast<char*>(nullptr)) == -1), "before_exec");
  char* const arguments[] = {const_cast<char*>("false"), nullptr};
  EXPECT(CHECK(execv("/nonexistent", arguments) == -1), "before_exec");
  pid = fork();
  if (pid == 0) {
    execlp("sh", "sh", "-c", "exit $1", "sh", "7", static_cast<char*>(nullptr));
    _exit(1);
  }
  CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
  // In the child of a vfork nothing of the parent's is touched.
  int const before = record_finish_calls;
  pid = vfork();
  if (pid == 0) {
    execl("/bin/false", "false", static_cast<char*>(nullptr));
    _exit(9);
  }
  CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 1);
  CHECK(record_finish_calls == before);
  CHECK(system("exit 5") == 5 << 8);
  FILE* const pipe = popen("echo hello", "r");
  char text[16] = {};
  CHECK(fgets(text, sizeof text, pipe) == text && strcmp(text, "hello\n") == 0);
  CHECK(pclose(pipe) == 0);
  return 0;
}
