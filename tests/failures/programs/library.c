#include "racer.h"

void race_in_library(void) {
  order_steps = 0;
  race_once();
}
