// qsort and bsearch. The comparison function is the program's and says what it reads itself; what libc moves,
// it does not.
#include <stdlib.h>

#include "runtime/interpose/interpose.h"

using namespace deadheat;
using namespace deadheat::interpose;

INTERPOSE(void, qsort, void* base, size_t count, size_t size, int (*compare)(const void*, const void*)) {
  if (count > 1 && size != 0) {
    lane::read(base, count * size, CALLER);
    lane::write(base, count * size, CALLER);
  }
  REAL(qsort)(base, count, size, compare);
}
INTERPOSE(void, qsort_r, void* base, size_t count, size_t size,
          int (*compare)(const void*, const void*, void*), void* argument) {
  if (count > 1 && size != 0) {
    lane::read(base, count * size, CALLER);
    lane::write(base, count * size, CALLER);
  }
  REAL(qsort_r)(base, count, size, compare, argument);
}
// bsearch reads nothing itself: it only hands elements to the program's function.
