// rule: OpenMP
// claim: tasks in one reduction are not ordered by it
// flags: -fopenmp
// expect: race write@a write@b
#include "../order.h"

int data;

int main(void) {
  int sum = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
  {
#pragma omp task in_reduction(+ : sum)
    {
      sum++;
      data = 1;  // @a
      step();
      await(2);
    }
#pragma omp task in_reduction(+ : sum)
    {
      sum++;
      await(1);
      data = 2;  // @b
      step();
    }
  }
  use(sum);
}
