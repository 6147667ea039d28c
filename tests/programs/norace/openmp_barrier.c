// rule: OpenMP
// claim: barriers, explicit and at the end of loops, single with copyprivate, and master order
// flags: -fopenmp
// expect: nothing
#include <omp.h>

#include "../order.h"

int values[4], shared;

int main(void) {
#pragma omp parallel num_threads(4)
  {
    int own = omp_get_thread_num();
    for (int round = 0; round < 20; round++) {
#pragma omp for schedule(static, 1)
      for (int i = 0; i < 4; i++) values[i] = round;
      use(values[(own + 1) % 4]);
#pragma omp barrier
      values[own] = own;
#pragma omp barrier
      use(values[(own + 1) % 4]);
      int copied = 0;
#pragma omp single copyprivate(copied)
      copied = values[0] + 1;
      use(copied);
#pragma omp barrier
#pragma omp master
      shared++;
#pragma omp barrier
      use(shared);
    }
  }
  use(values[3] + shared);
}
