// One race, certain to be found: nothing orders the two writes, and the second comes later in time.
#pragma once
#include "../../programs/order.h"

int raced;

static void* racer_first(void* _) {
  raced = 1;
  step();
  return NULL;
}

static void* racer_second(void* _) {
  await(1);
  raced = 2;
  return NULL;
}

static void race_once(void) { run2(racer_first, racer_second); }
