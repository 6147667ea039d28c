// rule: library results
// claim: numbers come back to each thread through a pointer of its own
// flags: -lm
// expect: nothing
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

#include "../order.h"

static volatile double number = 10.5;
static double const drand[] = {1, 2};

static void* body(void* _) {
  unsigned state = 1;
  unsigned short state48[3] = {1, 2, 3};
  for (int i = 0; i < 50; i++) {
    int exponent, quotient, sign;
    double whole, sine, cosine;
    char digits[32];
    double sum = frexp(number, &exponent) + modf(number, &whole) + remquo(number, 3, &quotient) + lgamma_r(number, &sign);
    sincos(number, &sine, &cosine);
    gcvt(sum, 5, digits);
    use((long)(rand_r(&state) + erand48(state48) + rand() + drand[number > 3]));
    use(exponent + quotient + sign + (long)(whole + sine + cosine) + digits[0]);
  }
  return NULL;
}

int main(void) { run2(body, body); }
