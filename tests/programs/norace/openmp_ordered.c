// rule: OpenMP
// claim: ordered blocks follow each other, and so do iterations that wait for others
// flags: -fopenmp
// expect: nothing
#include "../order.h"

int inside, row[33];

int main(void) {
#pragma omp parallel num_threads(4)
  {
#pragma omp for ordered schedule(dynamic, 1)
    for (int i = 0; i < 40; i++) {
#pragma omp ordered
      inside++;
    }
#pragma omp for ordered(1) schedule(static, 1)
    for (int i = 1; i < 33; i++) {
#pragma omp ordered depend(sink : i - 1)
      row[i] = row[i - 1] + 1;
#pragma omp ordered depend(source)
    }
  }
  use(inside + row[32]);
}
