// rule: loops
// claim: a column walk crosses another thread's rows
// expect: race write@a write@b
#include "../order.h"

enum { kSize = 60 };
int matrix[kSize][kSize];
int from = 30;

static void* upper(void* _) {
  for (int row = 0; row < from; row++)
    for (int column = 0; column < kSize; column++) matrix[row][column] = row + column;  // @a
  step();
  return NULL;
}

static void* lower(void* _) {
  await(1);
  for (int column = 0; column < kSize; column++)
    for (int row = from - 1; row < kSize; row++) matrix[row][column] = 1;  // @b
  return NULL;
}

int main(void) { run2(upper, lower); }
