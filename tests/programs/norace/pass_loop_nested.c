// rule: loops
// claim: two threads may walk the rows of one matrix, each its own
// expect: nothing
#include "../order.h"

enum { kSize = 60 };
int matrix[kSize][kSize];
int from = 30;

static void* upper(void* _) {
  for (int row = 0; row < from; row++)
    for (int column = 0; column < kSize; column++) matrix[row][column] = row + column;
  step();
  return NULL;
}

static void* lower(void* _) {
  await(1);
  for (int row = from; row < kSize; row++)
    for (int column = 0; column < kSize; column++) matrix[row][column] = 1;
  return NULL;
}

int main(void) { run2(upper, lower); }
