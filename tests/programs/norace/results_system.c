// rule: library results
// claim: calls about processes, users and the machine fill places of each thread's own; the environment may be read by all
// expect: nothing
#define _GNU_SOURCE
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "../order.h"

static char name[] = "root";
static sigset_t shared;

static void* body(void* _) {
  for (int i = 0; i < 20; i++) {
    struct sysinfo machine;
    cpu_set_t processors;
    struct passwd user, *user_found;
    char text[1024];
    struct rlimit limit;
    sigset_t signals;
    pthread_attr_t attribute;
    if (sysinfo(&machine) || sched_getaffinity(0, sizeof processors, &processors)) abort();
    if (getpwnam_r(name, &user, text, sizeof text, &user_found) || !user_found || user.pw_name[0] != 'r') abort();
    if (getrlimit(RLIMIT_NOFILE, &limit) || sigemptyset(&signals) || sigaddset(&signals, SIGUSR1)) abort();
    if (pthread_attr_init(&attribute) || pthread_attr_setguardsize(&attribute, 4096)) abort();
    pthread_attr_destroy(&attribute);
    use(getenv("PATH") != NULL);
    use(sigismember(&shared, SIGUSR1) + (long)limit.rlim_cur + CPU_COUNT(&processors));
  }
  return NULL;
}

int main(void) {
  sigemptyset(&shared);
  setenv("DEADHEAT_X", "1", 1);
  run2(body, body);
}
