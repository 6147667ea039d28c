// Numbers: those that come back through a pointer, and generators that keep their state in the program's
// memory.
#include "runtime/interpose/results.h"

#include <math.h>
#include <stdlib.h>

using namespace deadheat;
using namespace deadheat::interpose;

// --- In all three precisions
#define THREE(name, M) M(name, double) M(name##f, float) M(name##l, long double)
#define FREXP(name, Real) \
  TELLS(Real, name, (Real x, int* exponent), (x, exponent), NOTHING, call.writes(exponent))
#define MODF(name, Real)                                         \
  TELLS(Real, name, (Real x, Real * whole), (x, whole), NOTHING, \
        call.writes(whole, sizeof(Real) == 16 ? 10 : sizeof(Real)))
#define REMQUO(name, Real) \
  TELLS(Real, name, (Real x, Real y, int* quotient), (x, y, quotient), NOTHING, call.writes(quotient))
#define SINCOS(name, Real)                                                           \
  TELLS_VOID(name, (Real x, Real * sine, Real * cosine), (x, sine, cosine), NOTHING, \
             call.writes(sine, sizeof(Real) == 16 ? 10 : sizeof(Real)) &&            \
                 call.writes(cosine, sizeof(Real) == 16 ? 10 : sizeof(Real)))
THREE(frexp, FREXP)
THREE(modf, MODF)
THREE(remquo, REMQUO)
THREE(sincos, SINCOS)
FREXP(lgamma_r, double)
FREXP(lgammaf_r, float)
FREXP(lgammal_r, long double)
#define NAN_OF(name, Real) TELLS(Real, name, (const char* text), (text), call.text(text), NOTHING)
THREE(nan, NAN_OF)
TELLS(int, ecvt_r, (double x, int digits, int* point, int* sign, char* to, size_t room),
      (x, digits, point, sign, to, room), NOTHING,
      result == 0 && call.writes(point) && call.writes(sign) && call.writes_text(to))
TELLS(int, fcvt_r, (double x, int digits, int* point, int* sign, char* to, size_t room),
      (x, digits, point, sign, to, room), NOTHING,
      result == 0 && call.writes(point) && call.writes(sign) && call.writes_text(to))
TELLS(char*, gcvt, (double x, int digits, char* to), (x, digits, to), NOTHING, call.writes_text(to))
TELLS(long, a64l, (const char* from), (from), call.reads(from, length(from, 6)), NOTHING)

// --- Random numbers. `rand`, `random` and `drand48` have one state for all threads; that of the first two is
// locked.
TELLS(int, rand_r, (unsigned* state), (state), call.reads_and_writes(state), NOTHING)
TELLS(int, random_r, (random_data * state, int32_t* to), (state, to), call.reads_and_writes(state),
      result == 0 && call.writes(to))
TELLS(int, srandom_r, (unsigned seed, random_data* state), (seed, state), call.reads_and_writes(state),
      NOTHING)
TELLS(int, initstate_r, (unsigned seed, char* table, size_t size, random_data* state),
      (seed, table, size, state), call.reads(state),
      result == 0 &&
          call.writes(table, size >= 256   ? 256
                             : size >= 128 ? 128
                             : size >= 64  ? 64
                             : size >= 32  ? 32
                                           : 8) &&
          call.writes(state))
TELLS(int, setstate_r, (char* table, random_data* state), (table, state), call.reads_and_writes(state),
      NOTHING)
TELLS(double, erand48, (unsigned short* state), (state), call.reads(state, 6), call.writes(state, 6))
TELLS(long, nrand48, (unsigned short* state), (state), call.reads(state, 6), call.writes(state, 6))
TELLS(long, jrand48, (unsigned short* state), (state), call.reads(state, 6), call.writes(state, 6))
TELLS(int, drand48_r, (drand48_data * state, double* to), (state, to), call.reads_and_writes(state),
      call.writes(to))
TELLS(int, lrand48_r, (drand48_data * state, long* to), (state, to), call.reads_and_writes(state),
      call.writes(to))
TELLS(int, mrand48_r, (drand48_data * state, long* to), (state, to), call.reads_and_writes(state),
      call.writes(to))
TELLS(int, srand48_r, (long seed, drand48_data* state), (seed, state), call.writes(state), NOTHING)
TELLS_VOID(arc4random_buf, (void* to, size_t size), (to, size), NOTHING, call.writes(to, size))
