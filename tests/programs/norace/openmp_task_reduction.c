// rule: OpenMP
// claim: the shares of tasks in a reduction are added up when the tasks are done
// flags: -fopenmp
// expect: nothing
#include "../order.h"

static void work(void) {
  for (volatile int i = 0; i < 3000; i++) {
  }
}

// Of one taskgroup, of a loop of tasks, and of all threads' tasks.
int main(void) {
  for (int round = 0; round < 5; round++) {
    long sum = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum)
      for (int i = 0; i < 64; i++) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
        {
          work();
          sum += i;
        }
      }
      if (sum != 2016) abort();
#pragma omp taskloop reduction(+ : sum) grainsize(4)
      for (int i = 0; i < 64; i++) {
        work();
        sum += i;
      }
      if (sum != 4032) abort();
    }
#pragma omp parallel num_threads(4) reduction(task, + : sum)
    for (int i = 0; i < 16; i++) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
      {
        work();
        sum += i;
      }
    }
    if (sum != 4032 + 4 * 120) abort();
#pragma omp parallel for num_threads(4) reduction(task, + : sum)
    for (int i = 0; i < 16; i++) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
      {
        work();
        sum += i;
      }
    }
    if (sum != 4632) abort();
  }
}
