// rule: OpenMP
// claim: tasks whose dependences name different variables race
// flags: -fopenmp
// expect: race write@a write@b
#include "../order.h"

int data, one, two;

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task depend(out : one)
    {
      data = 1;  // @a
      step();
      await(2);
    }
#pragma omp task depend(out : two)
    {
      await(1);
      data = 2;  // @b
      step();
    }
  }
}
