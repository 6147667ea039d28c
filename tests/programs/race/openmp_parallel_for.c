// rule: OpenMP
// claim: threads of a loop that add to one variable race
// flags: -fopenmp
// expect: race any@a any@a
#include "../order.h"

int values[64], sum;

int main(void) {
#pragma omp parallel for num_threads(2) schedule(static)
  for (int i = 0; i < 64; i++) sum = sum + i;  // @a
  use(sum + values[0]);
}
