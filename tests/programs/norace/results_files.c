// rule: library results
// claim: calls about files fill places of each thread's own, from paths that all read
// expect: nothing
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../order.h"

static char path[] = "/", pattern[] = "/*";

static void* body(void* _) {
  for (int i = 0; i < 20; i++) {
    struct statvfs system;
    struct statx status;
    glob_t found;
    char made[] = "/tmp/deadheat.XXXXXX";
    int const fd = mkstemp(made);
    if (fd < 0 || unlink(made) != 0 || close(fd) != 0) abort();
    if (statvfs(path, &system) != 0 || statx(AT_FDCWD, path, 0, STATX_ALL, &status) != 0 || access(path, R_OK)) abort();
    if (glob(pattern, 0, NULL, &found) != 0) abort();
    use((long)(found.gl_pathc + system.f_bsize + status.stx_ino));
    globfree(&found);
    DIR* const folder = opendir(path);
    while (readdir(folder)) {
    }
    closedir(folder);
  }
  return NULL;
}

int main(void) { run2(body, body); }
