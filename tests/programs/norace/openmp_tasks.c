// rule: OpenMP
// claim: taskwait, taskgroup and barriers order tasks before what follows
// flags: -fopenmp
// expect: nothing
#include "../order.h"

static int fibonacci(int n) {
  int a = 0, b = 0;
  if (n < 2) return n;
#pragma omp task shared(a)
  a = fibonacci(n - 1);
#pragma omp task shared(b)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

int values[64], sum;

int main(void) {
  for (int round = 0; round < 5; round++) {
    int result = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp single
      result = fibonacci(9);
#pragma omp single nowait
      for (int i = 0; i < 64; i++) {
#pragma omp task firstprivate(i)
        values[i] = i;
      }
#pragma omp barrier
      use(values[13]);
#pragma omp barrier
#pragma omp single
      {
#pragma omp taskgroup
        {
          for (int i = 0; i < 8; i++) {
#pragma omp task firstprivate(i)
            {
#pragma omp task firstprivate(i)
              values[i] += result;
            }
          }
        }
        for (int i = 0; i < 8; i++) sum += values[i];
#pragma omp taskloop grainsize(4)
        for (int i = 0; i < 64; i++) values[i]++;
        for (int i = 0; i < 64; i++) sum += values[i];
      }
    }
    use(sum);
  }
}
