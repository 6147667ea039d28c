// Its one race is one that it suppresses.
#include "racer.h"

const char* __tsan_default_suppressions(void) { return "# known\nrace:racer_first\n"; }

int main(void) { race_once(); }
