// rule: OpenMP
// claim: without the barrier at its end, a loop is not ordered before what follows it
// flags: -fopenmp
// expect: race write@a read@b
#include "../order.h"

int values[2];

int main(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp for schedule(static, 1) nowait
    for (int i = 0; i < 2; i++) {
      values[i] = i;  // @a
      step();
    }
    await(2);
#pragma omp for schedule(static, 1) nowait
    for (int i = 0; i < 2; i++) use(values[1 - i]);  // @b
  }
}
