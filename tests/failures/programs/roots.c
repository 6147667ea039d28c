// A race after the program has left the place it was started in, word by word:
//   root FOLDER   its root is FOLDER
//   user          it is nobody
//   proc          nothing is at /proc
//   all           all descriptors from 3 on are closed
//   load LIBRARY  a library is loaded, whose race is the one then
//   fork          the race is a child's
// Exit code 9: the system does not let it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <grp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "racer.h"

static void need(int result) {
  if (result != 0) _exit(9);
}

int main(int argc, char** argv) {
  void (*race)(void) = race_once;
  for (int i = 1; i < argc; i++) {
    const char* const word = argv[i];
    if (strcmp(word, "root") == 0) {
      need(chroot(argv[++i]));
      need(chdir("/"));
    } else if (strcmp(word, "user") == 0) {
      need(setgroups(0, 0));
      need(setgid(65534));
      need(setuid(65534));
    } else if (strcmp(word, "proc") == 0) {
      need(unshare(CLONE_NEWNS));
      need(mount("none", "/", 0, MS_REC | MS_PRIVATE, 0));
      need(umount2("/proc", MNT_DETACH));
    } else if (strcmp(word, "all") == 0) {
      closefrom(3);
    } else if (strcmp(word, "load") == 0) {
      void* const library = dlopen(argv[++i], RTLD_NOW);
      need(library == 0);
      race = (void (*)(void))dlsym(library, "race_in_library");
    } else if (strcmp(word, "fork") == 0) {
      pid_t const child = fork();
      if (child != 0) {
        int status = 0;
        waitpid(child, &status, 0);
        return 0;
      }
    }
  }
  race();
  return 0;
}
