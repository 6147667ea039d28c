// rule: OpenMP
// claim: critical sections of two names do not exclude each other
// flags: -fopenmp
// expect: race write@a write@b
#include "../order.h"

int data;

int main(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp sections
    {
#pragma omp section
      {
#pragma omp critical(one)
        data = 1;  // @a
        step();
        await(2);
      }
#pragma omp section
      {
        await(1);
#pragma omp critical(two)
        data = 2;  // @b
        step();
      }
    }
  }
}
