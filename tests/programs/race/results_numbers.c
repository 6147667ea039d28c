// rule: library results
// claim: numbers that come back through a pointer, and states of generators, race with who looks at them meanwhile
// flags: -lm
// expect: race any@a any@aa
// expect: race any@b any@bb
// expect: race any@c any@cc
// expect: race any@d any@dd
// expect: race any@e any@ee
// expect: race any@f any@ff
// expect: race any@g any@gg
// expect: race any@h any@hh
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

#include "../order.h"

static volatile double number = 10.5;
int exponent;
double whole;
int quotient;
float sine, cosine;
int sign;
unsigned state;
unsigned short state48[3];
char digits[32];

static void* first(void* _) {
  frexp(number, &exponent);                // @a
  modf(number, &whole);                    // @b
  remquo(number, 3, &quotient);            // @c
  sincosf((float)number, &sine, &cosine);  // @d
  lgamma_r(number, &sign);                 // @e
  rand_r(&state);                          // @f
  erand48(state48);                        // @g
  gcvt(number, 5, digits);                 // @h
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  use(exponent);        // @aa
  use((long)whole);     // @bb
  use(quotient);        // @cc
  use((long)cosine);    // @dd
  use(sign);            // @ee
  use(rand_r(&state));  // @ff
  use(state48[1]);      // @gg
  use(digits[1]);       // @hh
  return NULL;
}

int main(void) { run2(first, second); }
