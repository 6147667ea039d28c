// rule: library results
// claim: what calls about files fill, or read, races with who reads or writes it meanwhile
// expect: race any@a any@aa
// expect: race any@b any@bb
// expect: race any@c any@cc
// expect: race any@d any@dd
// expect: race any@e any@ee
// expect: race any@f any@ff
// expect: race any@g any@gg
// expect: race any@h any@hh
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

struct statvfs volume;
struct statx status;
char path[] = "/nonexistent";
char made[] = "/tmp/deadheat.XXXXXX";
glob_t found;
struct dirent** names;
fpos_t place;
char value[256];

static void* first(void* _) {
  statvfs("/", &volume);                        // @a
  statx(AT_FDCWD, "/", 0, STATX_ALL, &status);  // @b
  access(path, R_OK);                           // @c
  close(mkstemp(made));                         // @d
  glob("/*", 0, NULL, &found);                  // @e
  scandir("/", &names, NULL, alphasort);        // @f
  fgetpos(stdin, &place);                       // @g
  confstr(_CS_PATH, value, sizeof value);       // @h
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  use((long)volume.f_bsize);  // @aa
  use((long)status.stx_ino);  // @bb
  path[1] = 'N';              // @cc
  use(unlink(made));          // @dd
  use((long)found.gl_pathc);  // @ee
  use(names == NULL);         // @ff
  use(*(long*)&place);        // @gg
  use(value[1]);              // @hh
  return NULL;
}

int main(void) { run2(first, second); }
