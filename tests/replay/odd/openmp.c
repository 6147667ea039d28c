// OpenMP: the runtime calls the outlined functions back, from threads of its own.
#include <omp.h>
#include <stdio.h>

int main(void) {
  static double values[2000];
  double sum = 0;
  int parts = 0;
#pragma omp parallel num_threads(3)
  {
#pragma omp for schedule(dynamic, 16)
    for (int i = 0; i < 2000; i++) values[i] = i * 0.5;
#pragma omp for reduction(+ : sum)
    for (int i = 0; i < 2000; i++) sum += values[i];
#pragma omp critical
    parts += omp_get_thread_num() + 1;
#pragma omp single
#pragma omp task shared(parts)
    {
#pragma omp atomic
      parts += 10;
    }
  }
#pragma omp parallel sections num_threads(2)
  {
#pragma omp section
    values[0] = sum;
#pragma omp section
    values[1] = sum * 2;
  }
  printf("%.1f %d %.1f\n", sum, parts, values[0] + values[1]);
  return parts == 16 ? 0 : 1;
}
