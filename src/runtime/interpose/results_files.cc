// What calls about files fill, and the paths they read.
#include "runtime/interpose/results.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>
#include <utime.h>
#include <wordexp.h>

using namespace deadheat;
using namespace deadheat::interpose;

// --- About files
TELLS(int, statx, (int fd, const char* path, int flags, unsigned mask, struct statx* to),
      (fd, path, flags, mask, to), NOTHING, call.path(path, result) && result == 0 && call.writes(to))
TELLS(int, statfs, (const char* path, struct statfs* to), (path, to), NOTHING,
      call.path(path, result) && result == 0 && call.writes(to))
TELLS(int, statfs64, (const char* path, struct statfs64* to), (path, to), NOTHING,
      call.path(path, result) && result == 0 && call.writes(to))
TELLS(int, fstatfs, (int fd, struct statfs* to), (fd, to), NOTHING, result == 0 && call.writes(to))
TELLS(int, fstatfs64, (int fd, struct statfs64* to), (fd, to), NOTHING, result == 0 && call.writes(to))
TELLS(int, statvfs, (const char* path, struct statvfs* to), (path, to), NOTHING,
      call.path(path, result) && result == 0 && call.writes(to))
TELLS(int, statvfs64, (const char* path, struct statvfs64* to), (path, to), NOTHING,
      call.path(path, result) && result == 0 && call.writes(to))
TELLS(int, fstatvfs, (int fd, struct statvfs* to), (fd, to), NOTHING, result == 0 && call.writes(to))
TELLS(int, fstatvfs64, (int fd, struct statvfs64* to), (fd, to), NOTHING, result == 0 && call.writes(to))
TELLS(ssize_t, readlinkat, (int fd, const char* path, char* to, size_t room), (fd, path, to, room), NOTHING,
      call.path(path, result) && result > 0 && call.writes(to, static_cast<size_t>(result)))
#define XATTR_GET(name, Type, what)                                               \
  TELLS(ssize_t, name, (Type file, const char* attribute, void* to, size_t room), \
        (file, attribute, to, room), what&& call.text(attribute),                 \
        result > 0 && room != 0 && call.writes(to, static_cast<size_t>(result)))
XATTR_GET(getxattr, const char*, call.text(file))
XATTR_GET(lgetxattr, const char*, call.text(file))
XATTR_GET(fgetxattr, int, NOTHING)
#define XATTR_LIST(name, Type, what)                                               \
  TELLS(ssize_t, name, (Type file, char* to, size_t room), (file, to, room), what, \
        result > 0 && room != 0 && call.writes(to, static_cast<size_t>(result)))
XATTR_LIST(listxattr, const char*, call.text(file))
XATTR_LIST(llistxattr, const char*, call.text(file))
XATTR_LIST(flistxattr, int, NOTHING)
#define XATTR_SET(name, Type, what)                                                                  \
  TELLS(int, name, (Type file, const char* attribute, const void* from, size_t size, int flags),     \
        (file, attribute, from, size, flags), what&& call.text(attribute) && call.reads(from, size), \
        NOTHING)
XATTR_SET(setxattr, const char*, call.text(file))
XATTR_SET(lsetxattr, const char*, call.text(file))
XATTR_SET(fsetxattr, int, NOTHING)
TELLS(int, utime, (const char* path, const utimbuf* times), (path, times), NOTHING,
      call.path(path, result) && call.reads(times))
TELLS(int, utimes, (const char* path, const timeval* times), (path, times), NOTHING,
      call.path(path, result) && call.reads(times, 2 * sizeof *times))
TELLS(int, lutimes, (const char* path, const timeval* times), (path, times), NOTHING,
      call.path(path, result) && call.reads(times, 2 * sizeof *times))
TELLS(int, futimes, (int fd, const timeval* times), (fd, times), call.reads(times, 2 * sizeof *times),
      NOTHING)
TELLS(int, futimens, (int fd, const timespec* times), (fd, times), call.reads(times, 2 * sizeof *times),
      NOTHING)
TELLS(int, utimensat, (int fd, const char* path, const timespec* times, int flags), (fd, path, times, flags),
      NOTHING, call.path(path, result) && call.reads(times, 2 * sizeof *times))

// --- Paths
#define PATH(name) TELLS(int, name, (const char* path), (path), NOTHING, call.path(path, result))
#define PATH_AND(name, Type) \
  TELLS(int, name, (const char* path, Type more), (path, more), NOTHING, call.path(path, result))
#define TWO_PATHS(name)                                                     \
  TELLS(int, name, (const char* from, const char* to), (from, to), NOTHING, \
        call.path(from, result) && call.path(to, result))
PATH(unlink)
PATH(rmdir)
PATH(remove)
PATH(chdir)
PATH(chroot)
PATH_AND(access, int)
PATH_AND(euidaccess, int)
PATH_AND(mkdir, mode_t)
PATH_AND(mkfifo, mode_t)
PATH_AND(chmod, mode_t)
PATH_AND(creat, mode_t)
PATH_AND(truncate, off_t)
TWO_PATHS(rename)
TWO_PATHS(link)
TWO_PATHS(symlink)
TELLS(int, unlinkat, (int fd, const char* path, int flags), (fd, path, flags), NOTHING,
      call.path(path, result))
TELLS(int, mkdirat, (int fd, const char* path, mode_t mode), (fd, path, mode), NOTHING,
      call.path(path, result))
TELLS(int, faccessat, (int fd, const char* path, int mode, int flags), (fd, path, mode, flags), NOTHING,
      call.path(path, result))
TELLS(int, fchmodat, (int fd, const char* path, mode_t mode, int flags), (fd, path, mode, flags), NOTHING,
      call.path(path, result))
TELLS(int, chown, (const char* path, uid_t user, gid_t group), (path, user, group), NOTHING,
      call.path(path, result))
TELLS(int, lchown, (const char* path, uid_t user, gid_t group), (path, user, group), NOTHING,
      call.path(path, result))
TELLS(int, renameat, (int from_fd, const char* from, int to_fd, const char* to), (from_fd, from, to_fd, to),
      NOTHING, call.path(from, result) && call.path(to, result))
TELLS(int, renameat2, (int from_fd, const char* from, int to_fd, const char* to, unsigned flags),
      (from_fd, from, to_fd, to, flags), NOTHING, call.path(from, result) && call.path(to, result))
TELLS(int, linkat, (int from_fd, const char* from, int to_fd, const char* to, int flags),
      (from_fd, from, to_fd, to, flags), NOTHING, call.path(from, result) && call.path(to, result))
TELLS(int, symlinkat, (const char* from, int fd, const char* to), (from, fd, to), NOTHING,
      call.path(from, result) && call.path(to, result))
TELLS(long, pathconf, (const char* path, int name), (path, name), NOTHING, call.path(path, result))
TELLS(FILE*, fopen, (const char* path, const char* mode), (path, mode), call.text(mode),
      call.path(path, result))
TELLS(FILE*, fopen64, (const char* path, const char* mode), (path, mode), call.text(mode),
      call.path(path, result))
TELLS(FILE*, fdopen, (int fd, const char* mode), (fd, mode), call.text(mode), NOTHING)
TELLS(DIR*, opendir, (const char* path), (path), NOTHING, call.path(path, result))

// --- Names that are made in the program's buffer
namespace {
bool made(int fd) { return fd != -1; }
bool made(const char* path) { return path != nullptr; }
}  // namespace
// The six characters that stand before the suffix.
#define TEMPORARY(type, name, parameters, arguments, suffix) \
  TELLS(type, name, parameters, arguments, call.text(path),  \
        made(result) && call.writes(path + length(path) - (suffix) - 6, 6))
TEMPORARY(int, mkstemp, (char* path), (path), 0)
TEMPORARY(int, mkstemp64, (char* path), (path), 0)
TEMPORARY(int, mkostemp, (char* path, int flags), (path, flags), 0)
TEMPORARY(int, mkostemp64, (char* path, int flags), (path, flags), 0)
TEMPORARY(int, mkstemps, (char* path, int suffix), (path, suffix), suffix)
TEMPORARY(int, mkostemps, (char* path, int suffix, int flags), (path, suffix, flags), suffix)
TEMPORARY(char*, mkdtemp, (char* path), (path), 0)
// With no buffer it is the library's, one for all threads.
TELLS(char*, tmpnam, (char* to), (to), NOTHING, result&& call.writes_text(result))
TELLS(char*, tmpnam_r, (char* to), (to), NOTHING, result&& call.writes_text(result))
TELLS(char*, getwd, (char* to), (to), NOTHING, result&& call.writes_text(to))
TELLS(char*, ctermid, (char* to), (to), NOTHING, to&& call.writes_text(to))
TELLS(int, ttyname_r, (int fd, char* to, size_t room), (fd, to, room), NOTHING,
      result == 0 && call.writes_text(to))
TELLS(int, ptsname_r, (int fd, char* to, size_t room), (fd, to, room), NOTHING,
      result == 0 && call.writes_text(to))
TELLS(size_t, confstr, (int name, char* to, size_t room), (name, to, room), NOTHING,
      result != 0 && to != nullptr && call.writes(to, result < room ? result : room))

// --- Directories and patterns
TELLS(int, readdir_r, (DIR * folder, dirent* to, dirent** found), (folder, to, found), NOTHING,
      result == 0 && call.writes(found) && *found != nullptr && call.writes(to, (*found)->d_reclen))
TELLS(int, readdir64_r, (DIR * folder, dirent64* to, dirent64** found), (folder, to, found), NOTHING,
      result == 0 && call.writes(found) && *found != nullptr && call.writes(to, (*found)->d_reclen))
TELLS(ssize_t, getdents64, (int fd, void* to, size_t room), (fd, to, room), NOTHING,
      result > 0 && call.writes(to, static_cast<size_t>(result)))
TELLS(int, scandir,
      (const char* path, dirent*** names, int (*filter)(const dirent*),
       int (*compare)(const dirent**, const dirent**)),
      (path, names, filter, compare), call.text(path),
      result != -1 && call.writes(names) && call.writes(*names, static_cast<size_t>(result) * sizeof **names))
TELLS(int, scandir64,
      (const char* path, dirent64*** names, int (*filter)(const dirent64*),
       int (*compare)(const dirent64**, const dirent64**)),
      (path, names, filter, compare), call.text(path),
      result != -1 && call.writes(names) && call.writes(*names, static_cast<size_t>(result) * sizeof **names))
namespace {
template <class Glob>
bool writes_list(const Call& call, int flags, Glob* to) {
  size_t const before = (flags & GLOB_DOOFFS) != 0 ? to->gl_offs : 0;
  return call.writes(to->gl_pathv, (before + to->gl_pathc + 1) * sizeof *to->gl_pathv);
}
}  // namespace
TELLS(int, glob, (const char* pattern, int flags, int (*failed)(const char*, int), glob_t* to),
      (pattern, flags, failed, to), call.text(pattern),
      call.writes(&to->gl_pathc) && call.writes(&to->gl_pathv) &&
          (result != 0 || writes_list(call, flags, to)))
TELLS(int, glob64, (const char* pattern, int flags, int (*failed)(const char*, int), glob64_t* to),
      (pattern, flags, failed, to), call.text(pattern),
      call.writes(&to->gl_pathc) && call.writes(&to->gl_pathv) &&
          (result != 0 || writes_list(call, flags, to)))
TELLS_VOID(globfree, (glob_t * to), (to), call.reads(&to->gl_pathv) && call.writes(&to->gl_pathv), NOTHING)
TELLS(int, wordexp, (const char* words, wordexp_t* to, int flags), (words, to, flags), call.text(words),
      result == 0 && call.writes(&to->we_wordc) && call.writes(&to->we_wordv) &&
          call.writes(to->we_wordv, (((flags & WRDE_DOOFFS) != 0 ? to->we_offs : 0) + to->we_wordc + 1) *
                                        sizeof *to->we_wordv))
TELLS_VOID(wordfree, (wordexp_t * to), (to), call.reads(&to->we_wordv) && call.writes(&to->we_wordv), NOTHING)

// --- Offsets that are the program's
TELLS(ssize_t, copy_file_range, (int from, off64_t* at, int to, off64_t* to_at, size_t size, unsigned flags),
      (from, at, to, to_at, size, flags), call.reads(at) && call.reads(to_at),
      result > 0 && call.writes(at) && call.writes(to_at))
TELLS(int, fgetpos, (FILE * stream, fpos_t* to), (stream, to), NOTHING, result == 0 && call.writes(to))
TELLS(int, fgetpos64, (FILE * stream, fpos64_t* to), (stream, to), NOTHING, result == 0 && call.writes(to))
TELLS(int, tcgetattr, (int fd, termios* to), (fd, to), NOTHING, result == 0 && call.writes(to))
TELLS(int, tcsetattr, (int fd, int when, const termios* from), (fd, when, from), call.reads(from), NOTHING)
TELLS(int, mincore, (void* start, size_t size, unsigned char* to), (start, size, to), NOTHING,
      result == 0 && call.writes(to, (size + 4095) / 4096))
