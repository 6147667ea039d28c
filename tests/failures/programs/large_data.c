// More static data than an instruction can reach, for -mcmodel=medium.
#include "racer.h"

static char large[3ul << 30];

int main(void) {
  large[sizeof large - 1] = 1;
  race_once();
}
