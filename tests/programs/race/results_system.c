// rule: library results
// claim: what calls about processes, users and the machine fill or read races with who reads or writes it meanwhile
// expect: race any@a any@aa
// expect: race any@b any@bb
// expect: race any@c any@cc
// expect: race any@d any@dd
// expect: race any@e any@ee
// expect: race any@f any@ff
// expect: race any@g any@gg
// expect: race any@h any@hh
// expect: race any@j any@jj
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

char* home;
struct sysinfo machine;
cpu_set_t processors;
struct passwd user, *user_found;
char user_text[1024];
gid_t groups[64];
int group_count = 64;
struct rlimit limit;
char thread_name[16];
pthread_mutexattr_t attribute;
double load[3];

static void* first(void* _) {
  setenv("DEADHEAT_X", "1", 1);                                         // @a
  sysinfo(&machine);                                                    // @b
  sched_getaffinity(0, sizeof processors, &processors);                 // @c
  getpwuid_r(0, &user, user_text, sizeof user_text, &user_found);       // @d
  getgrouplist("root", 0, groups, &group_count);                        // @e
  prlimit(0, RLIMIT_NOFILE, NULL, &limit);                              // @f
  pthread_getname_np(pthread_self(), thread_name, sizeof thread_name);  // @g
  pthread_mutexattr_init(&attribute);                                   // @h
  getloadavg(load, 3);                                                  // @j
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  home = getenv("DEADHEAT_Y");                                     // @aa
  use((long)machine.totalram);                                     // @bb
  use(CPU_ISSET(0, &processors));                                  // @cc
  use(user.pw_uid);                                                // @dd
  use(group_count);                                                // @ee
  use((long)limit.rlim_cur);                                       // @ff
  use(thread_name[1]);                                             // @gg
  pthread_mutexattr_settype(&attribute, PTHREAD_MUTEX_RECURSIVE);  // @hh
  use((long)load[0]);                                              // @jj
  return NULL;
}

int main(void) {
  run2(first, second);
}
