#include "counter.h"

int counter;
void count_once(void) { counter++; }
