// longjmp and its kin. They change nothing that is told, unless they leave a handler of a fault.
#include <setjmp.h>

#include "runtime/interpose/signals.h"

using namespace deadheat;
using namespace deadheat::interpose;

#define JUMPS(name)                                     \
  INTERPOSE(void, name, __jmp_buf_tag* to, int value) { \
    leave_handlers_of_faults();                         \
    REAL(name)(to, value);                              \
  }
JUMPS(longjmp)
JUMPS(_longjmp)
JUMPS(siglongjmp)
JUMPS(__longjmp_chk)
