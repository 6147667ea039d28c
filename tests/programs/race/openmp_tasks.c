// rule: OpenMP
// claim: two tasks that nothing orders race
// flags: -fopenmp
// expect: race write@a write@b
#include "../order.h"

int data;

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task
    {
      data = 1;  // @a
      step();
      await(2);
    }
#pragma omp task
    {
      await(1);
      data = 2;  // @b
      step();
    }
  }
}
