// As library.c, of the same layout, with other names at other lines.
#include "../../programs/order.h"

int raced_in_other;

static void* first_of_other(void* _) {
  raced_in_other = 1;
  step();
  return NULL;
}

static void* second_of_other(void* _) {
  await(1);
  raced_in_other = 2;
  return NULL;
}

void race_in_library(void) { run2(first_of_other, second_of_other); }
