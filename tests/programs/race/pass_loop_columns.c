// rule: loops
// claim: two walks over one column race, whatever their directions, steps and ends
// expect: race write@a read@b
#include "../order.h"

short table[300][12];
int rows = 300;

static void* down(void* _) {
  for (int i = 0; i < rows; i++) table[i][5] = (short)i;  // @a
  step();
  return NULL;
}

static void* up(void* _) {
  await(1);
  long sum = 0;
  for (int i = rows - 90; i > 90; i -= 2) sum += table[i][5];  // @b
  for (int i = rows - 91; i > 90; i -= 3) table[i][8] = 1;
  use(sum);
  return NULL;
}

int main(void) { run2(down, up); }
