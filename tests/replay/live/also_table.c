#include <stdio.h>

void zero(void) { puts("zero"); }
void one(void) { puts("one"); }
